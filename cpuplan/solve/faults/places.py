"""Parts and devices that statements name and the machine does not have."""

from collections.abc import Iterator

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.text import joined
from cpuplan.base.topology import Topology
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import At
from cpuplan.language.model.sizes import Near
from cpuplan.solve.rules.devices import device_words, matching
from cpuplan.solve.rules.neighbours import WORDS
from cpuplan.solve.rules.places import PLACES, parts_of
from cpuplan.solve.rules.rule import Statements, scopes_of
from cpuplan.solve.sets import SetSpec


def absent_places(statements: Statements, at: At) -> Iterator[Diagnostic]:
    """CP353: NUMA nodes, sockets, dies, caches and core types that the machine does not have."""
    topology, hardware = statements.topology, statements.node_class.hardware
    types = {cpu.core_type for cpu in topology.cpus}
    for spec in statements.sets.values():
        for field, what, word, known in _absent(spec, topology, types):
            yield diagnose(
                "CP353",
                at(f"{spec.field}.{field}"),
                pool=spec.name,
                what=what,
                hardware=hardware,
                word=word,
                known=known or "none",
            )


def _absent(
    spec: SetSpec, topology: Topology, types: set[str]
) -> Iterator[tuple[str, str, str, str]]:
    """(field, the absent parts, the word for one, the parts that the machine has)."""
    for key, attribute, word in PLACES:
        numbers: CpuSet | None = getattr(spec.pool, attribute)
        parts = parts_of(topology, key)
        lacking = CpuSet(number for number in numbers or () if number not in parts)
        if lacking:
            known = CpuSet(number for number in parts if number >= 0)
            yield key, f"{word} {lacking}", word, str(known)
    for name in spec.pool.core_types or ():
        if name not in types:
            yield "coreTypes", f"{name} cores", "core type", joined(sorted(types - {""}))
    for field, level in _levels(spec):
        if level in ("cache", "die") and not scopes_of(topology, level):
            yield field, f"{WORDS[level]}s", WORDS[level], ""


def _levels(spec: SetSpec) -> Iterator[tuple[str, str]]:
    """The fields of a statement that are about parts of a level, with the level."""
    yield "per", spec.pool.per
    if spec.pool.within:
        yield "within", spec.pool.within
    if spec.pool.whole_caches is not None:
        yield "wholeCaches", "cache"
    for relation in ("apart", "together"):
        levels: dict[str, str] = getattr(spec.pool, relation)
        yield from ((f"{relation}.{other}", level) for other, level in levels.items())


def absent_devices(statements: Statements, at: At) -> Iterator[Diagnostic]:
    """CP354: devices that the machine does not have, or whose NUMA node is not known.

    CP312: some of the devices that a size is for have no NUMA node.
    """
    for spec in statements.sets.values():
        for key, near in (("near", spec.pool.near), ("perDevice", spec.pool.per_device)):
            if near is not None:
                yield from _absent_devices(statements, spec, key, near, at)


def _absent_devices(
    statements: Statements, spec: SetSpec, key: str, near: Near, at: At
) -> Iterator[Diagnostic]:
    nodes, devices = statements.topology.numa_nodes, matching(statements.node_class, near)
    lost = [device for device in devices if device.numa_node not in nodes]
    place, hardware = at(f"{spec.field}.{key}"), statements.node_class.hardware
    if len(lost) == len(devices):
        yield diagnose(
            "CP354",
            place,
            key=key,
            pool=spec.name,
            devices=device_words(near),
            hardware=hardware,
            what="has no NUMA node with CPUs for any of them" if devices else "has none",
        )
    elif lost and key == "perDevice":
        names = [device.name or device.address for device in lost]
        yield diagnose("CP312", place, pool=spec.name, devices=joined(names), hardware=hardware)

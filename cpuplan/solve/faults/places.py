"""Parts and devices that statements name and the machine does not have."""

from collections.abc import Iterator

from cpuplan.cpuset import CpuSet
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.model.topology import Topology
from cpuplan.solve.rules.places import PLACES, device_words, matching, parts_of
from cpuplan.solve.rules.rule import Statements
from cpuplan.solve.sets import SetSpec
from cpuplan.source import At
from cpuplan.text import joined


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
    if not topology.uncore_caches:
        for field in _cache_fields(spec):
            yield field, "last-level caches", "last-level cache", ""


def _cache_fields(spec: SetSpec) -> Iterator[str]:
    """The fields of a statement that are about last-level caches."""
    if spec.pool.per == "cache":
        yield "per"
    for relation in ("apart", "together"):
        levels: dict[str, str] = getattr(spec.pool, relation)
        for other, level in levels.items():
            if level == "cache":
                yield f"{relation}.{other}"


def absent_devices(statements: Statements, at: At) -> Iterator[Diagnostic]:
    """CP354: devices that the machine does not have, or whose NUMA node is not known."""
    node_class, nodes = statements.node_class, statements.topology.numa_nodes
    for name, spec in statements.sets.items():
        near = spec.pool.near
        if near is None:
            continue
        devices = matching(node_class, near)
        if any(device.numa_node in nodes for device in devices):
            continue
        what = "has no NUMA node with CPUs for any of them" if devices else "has none"
        yield diagnose(
            "CP354",
            at(f"{spec.field}.near"),
            pool=name,
            devices=device_words(near),
            hardware=node_class.hardware,
            what=what,
        )

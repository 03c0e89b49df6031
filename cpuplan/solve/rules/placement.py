"""Where on the machine a set may be: places, parts, near devices, with or without others."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet, cpus_text, union
from cpuplan.base.text import counted, joined, plural
from cpuplan.base.topology import Topology
from cpuplan.language.model.inventory import Device
from cpuplan.language.model.pools import Near
from cpuplan.plan import NodeClass
from cpuplan.solve.constraints import Apart, InOne, Together, Within
from cpuplan.solve.layout import Scope, SetSpec
from cpuplan.solve.rules.rule import Rule, Statements, named, scopes_of

#: Key of a pool, attribute, and the word for one part.
PLACES = (
    ("numaNodes", "numa_nodes", "NUMA node"),
    ("sockets", "sockets", "socket"),
    ("dies", "dies", "die"),
    ("caches", "caches", "last-level cache"),
)


def parts_of(topology: Topology, key: str) -> dict[int, CpuSet]:
    """The CPUs of each NUMA node, socket, last-level cache, or die (by number, of all sockets)."""
    return {
        "numaNodes": topology.numa_nodes,
        "sockets": topology.sockets,
        "dies": topology.dies,
        "caches": topology.uncore_caches,
    }[key]


def numbered(word: str, numbers: CpuSet) -> str:
    """`NUMA node 1`, `NUMA nodes 0-1`."""
    return f"{plural(word, len(numbers))} {numbers}"


def numbered_places(statements: Statements) -> Iterator[Rule]:
    """A set is only on the NUMA nodes, sockets, dies and caches that its statement names."""
    for spec in statements.sets.values():
        yield from on_numbered(statements, spec)


def on_numbered(statements: Statements, spec: SetSpec) -> Iterator[Rule]:
    """The rules of one set."""
    for key, attribute, word in PLACES:
        numbers: CpuSet | None = getattr(spec.pool, attribute)
        if numbers is not None:
            parts = parts_of(statements.topology, key)
            cpus = union(parts[number] for number in numbers if number in parts)
            text = f"{spec.name} is on {numbered(word, numbers)} only"
            yield statements.rule(spec.name, f"{spec.field}.{key}", text, Within(spec.name, cpus))


def core_types(statements: Statements) -> Iterator[Rule]:
    """A set of some core types has no cores of another type."""
    for spec in statements.sets.values():
        types = spec.pool.core_types
        if types is not None:
            cpus = CpuSet(cpu.cpu for cpu in statements.topology.cpus if cpu.core_type in types)
            text = f"{spec.name} is on {joined(types)} cores only"
            field = f"{spec.field}.coreTypes"
            yield statements.rule(spec.name, field, text, Within(spec.name, cpus))


def never(statements: Statements) -> Iterator[Rule]:
    """A set has none of the CPUs of its list `never`."""
    for spec in statements.sets.values():
        if spec.pool.never is not None:
            cpus = statements.topology.online - spec.pool.never
            text = f"{spec.name} never takes {cpus_text(spec.pool.never)}"
            yield statements.rule(spec.name, f"{spec.field}.never", text, Within(spec.name, cpus))


PART_WORDS = {
    "core": "core",
    "cache": "last-level cache",
    "die": "die",
    "numaNode": "NUMA node",
    "socket": "socket",
}


def apart(statements: Statements) -> Iterator[Rule]:
    """Sets that are apart by core, cache, NUMA node or socket have none of these in common."""
    for name, spec in statements.sets.items():
        for other, level in spec.pool.apart.items():
            text = f"{name} shares no {PART_WORDS[level]} with {other}"
            constraint = Apart(name, other, _scopes(statements, level))
            yield statements.rule(name, f"{spec.field}.apart.{other}", text, constraint)


def together(statements: Statements) -> Iterator[Rule]:
    """A set together with another is only on cores, caches, NUMA nodes or sockets of the other."""
    for name, spec in statements.sets.items():
        for other, level in spec.pool.together.items():
            text = f"{name} is only on a {PART_WORDS[level]} where {other} is"
            constraint = Together(name, (other,), _scopes(statements, level))
            yield statements.rule(name, f"{spec.field}.together.{other}", text, constraint)


def _scopes(statements: Statements, level: str) -> tuple[Scope, ...] | None:
    return None if level == "core" else scopes_of(statements.topology, level)


def near_devices(statements: Statements) -> Iterator[Rule]:
    """A set near devices, or with CPUs for each of them, is on their NUMA nodes."""
    for spec in statements.sets.values():
        yield from on_nodes_of_devices(statements, spec)


def on_nodes_of_devices(statements: Statements, spec: SetSpec) -> Iterator[Rule]:
    """The rules of one set."""
    for key, wanted in (("near", spec.pool.near), ("perDevice", spec.pool.per_device)):
        if wanted is not None:
            nodes = CpuSet(nodes_of(statements, wanted))
            parts = statements.topology.numa_nodes
            cpus = union(parts[node] for node in nodes if node in parts)
            place = numbered("NUMA node", nodes)
            text = f"{spec.name} is near {device_words(wanted)}, on {place}"
            yield statements.rule(spec.name, f"{spec.field}.{key}", text, Within(spec.name, cpus))


def nodes_of(statements: Statements, near: Near) -> Counter[int]:
    """The NUMA nodes of the devices that match, with the number of these devices."""
    devices = matching(statements.node_class, near)
    return Counter(device.numa_node for device in devices if device.numa_node is not None)


def matching(node_class: NodeClass, near: Near) -> list[Device]:
    """The devices of the class that match every field of `near`."""
    return [
        device
        for device in node_class.devices
        if near.device in (None, device.name, device.address)
        and near.device_class in (None, device.device_class)
        and near.driver in (None, device.driver)
    ]


def device_words(near: Near) -> str:
    """`ens1f0`, `devices of class network and driver ice`."""
    if near.device:
        return near.device
    fields = {"class": near.device_class, "driver": near.driver}
    return f"devices of {joined([f'{key} {value}' for key, value in fields.items() if value])}"


class Part(NamedTuple):
    """A part of the machine that a size is about, and how many times the set has it there."""

    scope: Scope
    times: int = 1


def sized_parts(statements: Statements, spec: SetSpec) -> list[Part]:
    """The machine, the parts of `per` that the set may be on, or the NUMA nodes of its devices.

    A set that is only on sockets 2 and 3 has its size `per` socket in these two. Places that leave
    no part at all contradict each other, and exclude no part here. Each device counts, also one on
    a node that the set may not be on: then there is no layout.
    """
    topology = statements.topology
    if spec.pool.per_device:
        numbers = nodes_of(statements, spec.pool.per_device)
        nodes = topology.numa_nodes
        return [
            Part(Scope(f"NUMA node {node}", nodes[node]), times)
            for node, times in sorted(numbers.items())
            if node in nodes
        ]
    return list(map(Part, allowed_scopes(statements, spec, spec.pool.per)))


def allowed_scopes(statements: Statements, spec: SetSpec, level: str) -> Sequence[Scope]:
    """The parts of a level that the set may be on; all if its places leave none."""
    scopes = scopes_of(statements.topology, level)
    allowed = statements.topology.online
    for rule in (*on_numbered(statements, spec), *on_nodes_of_devices(statements, spec)):
        for constraint in rule.constraints:
            if isinstance(constraint, Within):
                allowed &= constraint.cpus
    return [scope for scope in scopes if scope.cpus & allowed] or scopes


def where(statements: Statements, spec: SetSpec, parts: Sequence[Part]) -> str:
    """` of each NUMA node`, ` of each of sockets 2-3`, ` for each of 3 devices of class gpu`."""
    if near := spec.pool.per_device:
        number = sum(part.times for part in parts)
        return f" for {device_words(near)} ({counted(number, 'device')})"
    per = spec.pool.per
    if per == "machine":
        return ""
    if len(parts) == len(scopes_of(statements.topology, per)):
        return f" of each {PART_WORDS[per]}"
    return f" of {named([part.scope.name for part in parts])}"


def within(statements: Statements) -> Iterator[Rule]:
    """A set lies within one NUMA node, socket, die or cache, or its share of each part does."""
    for spec in statements.sets.values():
        level = spec.pool.within
        if level is not None:
            yield _within(statements, spec, level)


def _within(statements: Statements, spec: SetSpec, level: str) -> Rule:
    name = spec.name
    scopes = scopes_of(statements.topology, level)
    parts = sized_parts(statements, spec)
    alone = tuple(InOne(name, _inside(scopes, part.scope.cpus)) for part in parts)
    known = Within(name, union(scope.cpus for scope in scopes))
    text = f"{name} lies within one {PART_WORDS[level]}{where(statements, spec, parts)}"
    return statements.rule(name, f"{spec.field}.within", text, *alone, known)


def _inside(scopes: Sequence[Scope], cpus: CpuSet) -> tuple[Scope, ...]:
    """The scopes, as far as they lie in a part of the machine."""
    return tuple(scope._replace(cpus=scope.cpus & cpus) for scope in scopes if scope.cpus & cpus)

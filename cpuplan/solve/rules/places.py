"""Where on the machine a set may be."""

from collections.abc import Iterator

from cpuplan.cpuset import CpuSet, cpus_text, union
from cpuplan.model.inventory import Device
from cpuplan.model.pools import Near
from cpuplan.model.topology import Topology
from cpuplan.plan import NodeClass
from cpuplan.solve.constraints import Within
from cpuplan.solve.layout import Scope
from cpuplan.solve.rules.rule import Rule, Statements, scopes_of
from cpuplan.solve.said import Said
from cpuplan.text import joined

#: Key of a pool, attribute, and the words for one and for several.
PLACES = (
    ("numaNodes", "numa_nodes", "NUMA node"),
    ("sockets", "sockets", "socket"),
    ("dies", "dies", "die"),
    ("caches", "caches", "last-level cache"),
)


def parts_of(topology: Topology, key: str) -> dict[int, CpuSet]:
    """The CPUs of each NUMA node, socket, die (of all sockets that have one of the number) or
    last-level cache.
    """
    return {
        "numaNodes": topology.numa_nodes,
        "sockets": topology.sockets,
        "dies": topology.dies,
        "caches": topology.uncore_caches,
    }[key]


def numbered_places(statements: Statements) -> Iterator[Rule]:
    """The NUMA nodes, sockets, dies and caches that a statement names are the only ones."""
    for each in statements.sets.values():
        yield from _numbered(statements, each)


def _numbered(statements: Statements, each: Said) -> Iterator[Rule]:
    for key, attribute, word in PLACES:
        numbers: CpuSet | None = getattr(each.pool, attribute)
        if numbers is not None:
            parts = parts_of(statements.topology, key)
            cpus = union(parts[number] for number in numbers if number in parts)
            text = f"{each.name} is on {word}{'s' if len(numbers) > 1 else ''} {numbers} only"
            yield statements.rule(each.name, f"{each.field}.{key}", text, Within(each.name, cpus))


def near_devices(statements: Statements) -> Iterator[Rule]:
    """A set near devices is on their NUMA nodes."""
    for each in statements.sets.values():
        yield from _near(statements, each)


def _near(statements: Statements, each: Said) -> Iterator[Rule]:
    if each.pool.near:
        found = matching(statements.node_class, each.pool.near)
        nodes = CpuSet(device.numa_node for device in found if device.numa_node is not None)
        parts = statements.topology.numa_nodes
        cpus = union(parts[node] for node in nodes if node in parts)
        text = f"{each.name} is near {device_words(each.pool.near)}, on NUMA node{'s' * (len(nodes) > 1)} {nodes}"
        yield statements.rule(each.name, f"{each.field}.near", text, Within(each.name, cpus))


def sized_parts(statements: Statements, each: Said) -> list[Scope]:
    """What a size is meant for: the machine, or each of those sockets, NUMA nodes or caches that
    the set may be on.

    A set that is on sockets 2 and 3 only has its size `per` socket in these two. Places that leave
    nothing at all contradict each other, and take nothing away here.
    """
    scopes = scopes_of(statements.topology, each.pool.per)
    allowed = statements.topology.online
    for rule in (*_numbered(statements, each), *_near(statements, each)):
        for constraint in rule.constraints:
            allowed &= constraint.cpus if isinstance(constraint, Within) else allowed
    return [scope for scope in scopes if scope.cpus & allowed] or scopes


def matching(node_class: NodeClass, near: Near) -> list[Device]:
    """The devices of the class that fit everything that `near` says."""
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
    words = [
        f"{key} {value}"
        for key, value in (("class", near.device_class), ("driver", near.driver))
        if value
    ]
    return f"devices of {joined(words)}"


def core_types(statements: Statements) -> Iterator[Rule]:
    """A set of some core types has no cores of another."""
    for each in statements.sets.values():
        types = each.pool.core_types
        if types is not None:
            cpus = CpuSet(cpu.cpu for cpu in statements.topology.cpus if cpu.core_type in types)
            text = f"{each.name} is on {joined(types)} cores only"
            yield statements.rule(
                each.name, f"{each.field}.coreTypes", text, Within(each.name, cpus)
            )


def never(statements: Statements) -> Iterator[Rule]:
    """A set has none of the CPUs that it is never to have."""
    for each in statements.sets.values():
        if each.pool.never is not None:
            cpus = statements.topology.online - each.pool.never
            text = f"{each.name} never takes {cpus_text(each.pool.never)}"
            yield statements.rule(each.name, f"{each.field}.never", text, Within(each.name, cpus))

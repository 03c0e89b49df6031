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
from cpuplan.solve.sets import SetSpec
from cpuplan.text import joined, plural

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
        yield from _numbered(statements, spec)


def _numbered(statements: Statements, spec: SetSpec) -> Iterator[Rule]:
    for key, attribute, word in PLACES:
        numbers: CpuSet | None = getattr(spec.pool, attribute)
        if numbers is not None:
            parts = parts_of(statements.topology, key)
            cpus = union(parts[number] for number in numbers if number in parts)
            text = f"{spec.name} is on {numbered(word, numbers)} only"
            yield statements.rule(spec.name, f"{spec.field}.{key}", text, Within(spec.name, cpus))


def near_devices(statements: Statements) -> Iterator[Rule]:
    """A set near devices is on their NUMA nodes."""
    for spec in statements.sets.values():
        yield from _near(statements, spec)


def _near(statements: Statements, spec: SetSpec) -> Iterator[Rule]:
    if not spec.pool.near:
        return
    devices = matching(statements.node_class, spec.pool.near)
    nodes = CpuSet(device.numa_node for device in devices if device.numa_node is not None)
    parts = statements.topology.numa_nodes
    cpus = union(parts[node] for node in nodes if node in parts)
    place = numbered("NUMA node", nodes)
    text = f"{spec.name} is near {device_words(spec.pool.near)}, on {place}"
    yield statements.rule(spec.name, f"{spec.field}.near", text, Within(spec.name, cpus))


def sized_parts(statements: Statements, spec: SetSpec) -> list[Scope]:
    """The parts that a size applies to: the machine, or the parts of `per` that the set may be on.

    A set that is only on sockets 2 and 3 has its size `per` socket in these two. Places that leave
    no part at all contradict each other, and exclude no part here.
    """
    scopes = scopes_of(statements.topology, spec.pool.per)
    allowed = statements.topology.online
    for rule in (*_numbered(statements, spec), *_near(statements, spec)):
        for constraint in rule.constraints:
            if isinstance(constraint, Within):
                allowed &= constraint.cpus
    return [scope for scope in scopes if scope.cpus & allowed] or scopes


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

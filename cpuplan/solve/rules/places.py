"""Where on the machine a set may be."""

from collections.abc import Iterator

from cpuplan.base.cpuset import CpuSet, cpus_text, union
from cpuplan.base.text import joined, plural
from cpuplan.base.topology import Topology
from cpuplan.solve.constraints import Within
from cpuplan.solve.rules.rule import Rule, Statements
from cpuplan.solve.sets import SetSpec

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

"""Small plans on machines that are built by hand."""

from collections.abc import Mapping

from cpuplan.backends import configure
from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.base.topology import UNKNOWN, Cpu, NumaNodeFacts, Topology
from cpuplan.diagnostics import Reason
from cpuplan.plan import ConfiguredPlan, NodePlan, Pool
from tests.machines.plans import class_of

GIB = 2**30


def make_plan(
    topology: Topology,
    pools: Mapping[str, str],
    because: Mapping[str, tuple[Reason, ...]] | None = None,
) -> ConfiguredPlan:
    """A plan of class `ran-du-xeon` with these pools, by name and CPU list."""
    spec = {
        "targets": [{"platform": "openshift", "version": "4.20"}],
        "pools": {"reserved": pools.get("reserved", "0")},
    }
    node_class = class_of(topology, "ran-du", spec, hardware="xeon", nodes=("worker-3",))
    made = (
        Pool(name, CpuSet.parse(cpus), (because or {}).get(name, ()))
        for name, cpus in pools.items()
    )
    return configure(NodePlan(node_class, tuple(made)))


def regular(
    sockets: int,
    cores: int,
    threads: int = 1,
    *,
    numa: int = 1,
    caches: int = 1,
    adjacent: bool = False,
    memory: int | None = 256 * GIB,
    offline: CpuSet = EMPTY,
) -> Topology:
    """Sockets with equal cores, NUMA nodes and caches (0: not known), numbered in blocks."""
    count = sockets * cores

    def number(core: int, thread: int) -> int:
        return core * threads + thread if adjacent else core + thread * count

    def first_of(core: int, parts: int) -> int:
        """The first core of the part, of `parts` in a socket, that `core` is in."""
        size = cores // parts
        return core // size * size

    cpus = [
        Cpu(
            cpu=number(core, thread),
            core=number(core, 0),
            socket=core // cores,
            die=0,
            numa_node=core // (cores // numa) if numa else UNKNOWN,
            uncore_cache=number(first_of(core, caches), 0) if caches else UNKNOWN,
            core_id=core % cores,
        )
        for core in range(count)
        for thread in range(threads)
    ]
    return Topology(cpus, [NumaNodeFacts(node, memory) for node in range(sockets * numa)], offline)


def hybrid() -> Topology:
    """Two performance cores with threads, four efficient ones, and a low-power one.

    The last is outside of the cache.
    """

    def make(cpu: int, core: int, cache: int, kind: str) -> Cpu:
        return Cpu(cpu, core, 0, 0, 0, cache, core, kind)

    return Topology(
        [
            *(make(cpu, cpu // 2 * 2, 0, "performance") for cpu in range(4)),
            *(make(cpu, cpu, 0, "efficient") for cpu in range(4, 8)),
            make(8, 8, UNKNOWN, "lowPower"),
        ],
        [NumaNodeFacts(0, 32 * GIB)],
    )


def guest() -> Topology:
    """A virtual machine that makes a socket of each CPU, with a NUMA node that has only memory."""
    cpus = [
        Cpu(cpu, cpu, socket=cpu, die=0, numa_node=0, uncore_cache=cpu, core_id=0)
        for cpu in range(12)
    ]
    return Topology(cpus, [NumaNodeFacts(0, 32 * GIB - 12_345_678), NumaNodeFacts(4, 96 * GIB)])


def bare() -> Topology:
    """Four CPUs of which nothing else is known."""
    return Topology(Cpu(cpu, cpu, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, cpu) for cpu in range(4))

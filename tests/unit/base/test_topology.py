"""The sets that are asked of a machine."""

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.topology import UNKNOWN, Cpu, NumaNodeFacts, Topology

# Two sockets with two cores of two threads; siblings stand apart, and CPU 7 is offline.
MACHINE = Topology(
    [
        Cpu(
            cpu,
            core=cpu % 4,
            socket=cpu % 4 // 2,
            die=UNKNOWN,
            numa_node=cpu % 4 // 2,
            uncore_cache=UNKNOWN,
            core_id=cpu % 2,
        )
        for cpu in range(7)
    ],
    [NumaNodeFacts(0, 1 << 30, (10, 21)), NumaNodeFacts(5, 1 << 30)],
    offline=CpuSet([7]),
)


def text(sets: dict[int, CpuSet]) -> dict[int, str]:
    return {name: str(cpus) for name, cpus in sets.items()}


def test_groups() -> None:
    assert text(MACHINE.cores) == {0: "0,4", 1: "1,5", 2: "2,6", 3: "3"}
    assert text(MACHINE.sockets) == {0: "0-1,4-5", 1: "2-3,6"}
    assert text(MACHINE.numa_nodes) == {0: "0-1,4-5", 1: "2-3,6"}
    assert MACHINE.uncore_caches == {}
    assert MACHINE.threads_per_core == 2


def test_memory_only_nodes_have_facts_and_no_cpus() -> None:
    assert list(MACHINE.numa_facts) == [0, 1, 5]
    assert MACHINE.numa_facts[1].memory is None


def test_cores_that_are_split() -> None:
    assert str(MACHINE.whole_cores(CpuSet([0, 3]))) == "0,3-4"
    assert [str(core) for core in MACHINE.split_cores(CpuSet([0, 1, 3, 5]))] == ["0,4"]
    assert MACHINE.split_cores(MACHINE.online) == []


def test_fingerprint_follows_what_a_layout_depends_on() -> None:
    same = Topology(reversed(MACHINE.cpus), reversed(MACHINE.numa_facts.values()), MACHINE.offline)
    assert same.fingerprint == MACHINE.fingerprint
    assert Topology(MACHINE.cpus, (), MACHINE.offline).fingerprint != MACHINE.fingerprint
    assert (
        Topology(MACHINE.cpus[:-1], MACHINE.numa_facts.values()).fingerprint != MACHINE.fingerprint
    )

"""Which CPUs are chosen, by their number."""

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.diagnostics import Diagnostic
from cpuplan.importers.base import KubeletFiles, Machine, NumaFacts, bare_machine
from cpuplan.profiles.propose.choice import Choice, Wanted, choose


def machine(
    cores: list[str], nodes: dict[int, str], sockets: dict[int, str] | None = None
) -> Machine:
    """A machine by CPU lists of cores, NUMA nodes and sockets; core ids ascend within sockets."""
    bare = bare_machine(CpuSet.parse(core) for core in cores)
    packages = {label: CpuSet.parse(cpus) for label, cpus in (sockets or nodes).items() if cpus}
    ids = {
        cpu: place
        for cpus in packages.values()
        for place, core in enumerate(core for core in bare.siblings if core <= cpus)
        for cpu in core
    }
    facts = (
        NumaFacts(node, CpuSet.parse(cpus) if cpus else CpuSet(), 1 << 30, (), {})
        for node, cpus in nodes.items()
    )
    return bare._replace(
        core_ids=ids,
        sockets={cpu: label for label, cpus in packages.items() for cpu in cpus},
        numa_nodes=tuple(facts),
    )


PAIRS = [f"{core},{core + 8}" for core in range(8)]
TWO_SOCKETS = machine(PAIRS, {0: "0-3,8-11", 1: "4-7,12-15"})
FOUR_NODES = machine(
    [str(cpu) for cpu in range(16)], {node: f"{4 * node}-{4 * node + 3}" for node in range(4)}
)
MEMORY_ONLY = machine(PAIRS, {0: "0-3,8-11", 1: "", 2: "4-7,12-15"})
GAP = machine(PAIRS, {0: "4-7,12-15", 8: "0-3,8-11"})
UNEQUAL = machine([str(cpu) for cpu in range(8)], {0: "0-1", 1: "2-7"})
#: Both sockets in one NUMA node: their core ids repeat.
ONE_NODE = machine(PAIRS, {0: "0-15"}, {0: "0-3,8-11", 1: "4-7,12-15"})
#: The same without SMT.
ONE_NODE_SINGLE = machine([str(cpu) for cpu in range(8)], {0: "0-7"}, {0: "0-3", 1: "4-7"})
#: Core ids repeat within the socket, as they do by cluster on some Arm machines.
CLUSTERS = machine([str(cpu) for cpu in range(8)], {0: "0-7"})._replace(
    core_ids={cpu: cpu % 4 for cpu in range(8)}
)
#: The dump has no folder of NUMA nodes.
NO_NODES = ONE_NODE._replace(kubelet=KubeletFiles(None, True, CpuSet(), CpuSet(), 2, {}, {}))
#: Two cores of two threads, four of one.
HYBRID = machine(["0-1", "2-3", "4", "5", "6", "7"], {0: "0-7"})
#: A thread of the first core is offline.
LAME = machine(["0", "1,5", "2,6", "3,7"], {0: "0-3,5-7"})


def chosen(hardware: Machine, wanted: Wanted) -> Choice:
    choice = choose(hardware, wanted)
    assert isinstance(choice, Choice), choice
    sets = (choice.reserved, choice.isolated, choice.offlined)
    assert sum(map(len, sets)) == len(CpuSet(cpu for cpus in sets for cpu in cpus))
    assert len(choice.reserved) == wanted.reserved
    assert len(choice.offlined) == wanted.offlined
    return choice


@pytest.mark.parametrize(
    ("hardware", "wanted", "reserved"),
    [
        (TWO_SOCKETS, Wanted(4), "0-1,8-9"),
        (TWO_SOCKETS, Wanted(10), "0-4,8-12"),
        (TWO_SOCKETS, Wanted(4, split=True), "0,4,8,12"),
        (TWO_SOCKETS, Wanted(6, split=True), "0-1,4,8-9,12"),
        (TWO_SOCKETS, Wanted(3, split=True, disable_smt=True), "0-1,4"),
        (FOUR_NODES, Wanted(5, split=True), "0-1,4,8,12"),
        (FOUR_NODES, Wanted(1, split=True), "0"),
        (MEMORY_ONLY, Wanted(6, split=True), "0-1,4,8-9,12"),
        (MEMORY_ONLY, Wanted(1, split=True, disable_smt=True), "0"),
        (GAP, Wanted(2), "4,12"),
        (GAP, Wanted(2, disable_smt=True), "4-5"),
        (UNEQUAL, Wanted(6, split=True), "0-5"),
        (UNEQUAL, Wanted(7, split=True), "0-6"),
        (ONE_NODE, Wanted(2), "0,8"),
        (ONE_NODE, Wanted(6), "0-1,4,8-9,12"),
        (ONE_NODE, Wanted(2, disable_smt=True), "0-1"),
        (ONE_NODE_SINGLE, Wanted(3), "0-1,4"),
        (ONE_NODE_SINGLE, Wanted(3, disable_smt=True), "0-1,4"),
        (NO_NODES, Wanted(4), "0-1,8-9"),
        (HYBRID, Wanted(3), "0-1,4"),
        (HYBRID, Wanted(7), "0-6"),
        (LAME, Wanted(2), "1,5"),
        (LAME, Wanted(3), "0-1,5"),
    ],
)
def test_reserved(hardware: Machine, wanted: Wanted, reserved: str) -> None:
    assert str(chosen(hardware, wanted).reserved) == reserved


@pytest.mark.parametrize(
    ("hardware", "wanted", "offlined"),
    [
        (TWO_SOCKETS, Wanted(2, 3), "9-11"),
        (TWO_SOCKETS, Wanted(2, 8), "4-7,12-15"),
        (TWO_SOCKETS, Wanted(2, 10), "4-7,9-10,12-15"),
        (TWO_SOCKETS, Wanted(2, 8, save_power=False), "1,9-15"),
        (TWO_SOCKETS, Wanted(4, 8, split=True), "1-2,9-11,13-15"),
        (TWO_SOCKETS, Wanted(1, 4, disable_smt=True), "4-7"),
        (TWO_SOCKETS, Wanted(1, 2, disable_smt=True), "1-2"),
        (CLUSTERS, Wanted(1, 2), "4-5"),
        (CLUSTERS, Wanted(1, 5), "1,4-7"),
        (TWO_SOCKETS._replace(core_ids={}), Wanted(2, 2), "9-10"),
        (
            TWO_SOCKETS._replace(core_ids={cpu: 9 - cpu % 8 for cpu in range(16)}),
            Wanted(2, 2),
            "10-11",
        ),
    ],
)
def test_offlined(hardware: Machine, wanted: Wanted, offlined: str) -> None:
    assert str(chosen(hardware, wanted).offlined) == offlined


def test_isolated_is_the_rest_of_what_comes_up() -> None:
    assert str(chosen(TWO_SOCKETS, Wanted(4, 8)).isolated) == "2-3,10-11"
    assert str(chosen(TWO_SOCKETS, Wanted(4, disable_smt=True)).isolated) == "4-7"


def test_shares_are_told_by_numa_node() -> None:
    choice = chosen(MEMORY_ONLY, Wanted(6, split=True))
    assert {node: str(cpus) for node, cpus in choice.shares.items()} == {0: "0-1,8-9", 2: "4,12"}


@pytest.mark.parametrize(
    ("hardware", "wanted", "message", "remedy"),
    [
        (TWO_SOCKETS, Wanted(0), "0 CPUs for the system", "reserve at least 1 CPU"),
        (TWO_SOCKETS, Wanted(2, -1), "-1 CPUs to switch off", "ask for 0 or more"),
        (TWO_SOCKETS, Wanted(10, 6), "10 reserved and 6 offlined CPUs of 16 leave none for pods",
         "reserve at most 8 CPUs"),
        (TWO_SOCKETS, Wanted(8, disable_smt=True),
         "8 reserved and 0 offlined CPUs of 8 leave none for pods", "reserve at most 7 CPUs"),
        (TWO_SOCKETS, Wanted(1), "1 reserved CPUs are not whole cores",
         "reserve 2 CPUs: siblings of one core disturb each other"),
        (TWO_SOCKETS, Wanted(5, split=True), "5 reserved CPUs are not whole cores",
         "reserve 4 or 6 CPUs: siblings of one core disturb each other"),
    ],
)  # fmt: skip
def test_numbers_that_cannot_be(
    hardware: Machine, wanted: Wanted, message: str, remedy: str
) -> None:
    refusal = choose(hardware, wanted)
    assert isinstance(refusal, Diagnostic)
    assert (refusal.code, refusal.message, refusal.remedy) == ("CP283", message, remedy)

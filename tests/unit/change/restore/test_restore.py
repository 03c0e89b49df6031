"""Memory and huge pages that a plan took from a machine, and what is said of what it may hide."""

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.topology import Topology
from cpuplan.change.restore import reductions, restore_memory
from cpuplan.change.restore.reductions import Planned
from cpuplan.importers.base import Machine, Marks, NumaFacts, bare_machine
from cpuplan.language.model.inventory import HardwareSpec
from tests.unit.solve.problems import machine as numbered

GIB = 1024**3
M2, G1 = 2048, 1024**2
#: Two NUMA nodes of 64 GiB.
INVENTORY = HardwareSpec.model_validate(
    {
        "topology": {
            "cores": [{"threads": ["0-3"]}],
            "numaNodes": [
                {"id": 0, "cpus": "0-1", "memory": "64Gi"},
                {"id": 1, "cpus": "2-3", "memory": "64Gi"},
            ],
        }
    }
)
NONE = Marks()
HIDING = ["booted with mem=, which may hide memory that it has"]


def machine(
    *memory: float | None, line: str | None = "", marks: Marks = NONE, **pages: dict[int, int]
) -> Machine:
    """Four cores on two NUMA nodes with so many GiB, and huge pages by NUMA node."""
    nodes = tuple(
        NumaFacts(
            number,
            CpuSet((2 * number, 2 * number + 1)),
            None if amount is None else int(amount * GIB),
            (),
            pages.get(f"node{number}", {}),
        )
        for number, amount in enumerate(memory)
    )
    bare = bare_machine(CpuSet((cpu,)) for cpu in range(4))
    return bare._replace(numa_nodes=nodes, boot_arguments=line, marks=marks)


def memory(machine: Machine) -> list[float | None]:
    return [node.memory and node.memory / GIB for node in machine.numa_nodes]


@pytest.mark.parametrize(
    ("seen", "line", "restored"),
    [
        ((32, 0), "mem=32G", (64, 64)),
        ((63.9, 64), "", (64, 64)),  # the kernel's own share moved
        ((61, 64), "", (61, 64)),  # more than that
        ((66.5, 61.5), "", (66.5, 61.5)),  # as much in all, and elsewhere
        ((65.5, 62.5), "", (64, 64)),
        ((60, 64), "crashkernel=4G", (64, 64)),
        ((57, 64), "crashkernel=4G", (57, 64)),
        ((60, 64), "", (60, 64)),
        ((70, 64), "crashkernel=4G", (70, 64)),
        ((62, 64), "crashkernel=1G mem=512G", (64, 64)),
    ],
)
def test_memory_that_boot_arguments_explain(
    seen: tuple[float, ...], line: str, restored: tuple[float, ...]
) -> None:
    """Within a 64th, which the kernel takes for itself, and 4 GiB that mem= counts for devices."""
    known = Planned("icx", INVENTORY)
    before = machine(*seen, line=line)
    after, _ = restore_memory(before, known)
    assert memory(after) == list(restored)


@pytest.mark.parametrize(
    ("total", "is_explained"), [(32.1, False), (32, True), (27, True), (26, False), (0, False)]
)
def test_what_a_limit_leaves(total: float, is_explained: bool) -> None:
    """Neither more than the limit, nor less by more than 4 GiB, a 64th and further arguments."""
    after, remarks = restore_memory(
        machine(total, 0, line="mem=32G crashkernel=512M"), Planned("icx", INVENTORY)
    )
    assert (memory(after) == [64, 64]) is is_explained
    assert remarks == ([] if is_explained or not total else HIDING)


@pytest.mark.parametrize(
    ("seen", "line", "planned", "remarks"),
    [
        ((32, 0), "mem=32G", Planned(), HIDING),
        ((32, 0), "quiet", Planned(), []),
        ((32, 0), None, Planned(arguments=("quiet", "mem=32G")), HIDING),
        ((32, 0), "quiet", Planned(arguments=("mem=32G",)), []),
        ((None, None), "mem=32G", Planned(), []),
    ],
)
def test_without_an_inventory_memory_may_be_hidden(
    seen: tuple[float | None, ...], line: str | None, planned: Planned, remarks: list[str]
) -> None:
    before = machine(*seen, line=line)
    assert restore_memory(before, planned) == (before, remarks)


def test_a_numa_node_that_the_inventory_has_not_leaves_all_as_it_is() -> None:
    before = machine(16, 16, 0, line="mem=32G")
    assert restore_memory(before, Planned("icx", INVENTORY)) == (before, HIDING)


def test_a_numa_node_whose_memory_is_unknown_stays_so() -> None:
    after, _ = restore_memory(machine(32, None, line="mem=32G"), Planned("icx", INVENTORY))
    assert memory(after) == [64, None]


@pytest.mark.parametrize(
    ("planned", "marks", "kept"),
    [
        ({}, NONE, [{M2: 8, G1: 2}, {G1: 2}]),
        ({(0, M2): 8}, NONE, [{G1: 2}, {G1: 2}]),
        ({(0, M2): 9}, NONE, [{G1: 2}, {G1: 2}]),
        ({(0, M2): 7}, NONE, [{M2: 8, G1: 2}, {G1: 2}]),
        ({(1, M2): 8}, NONE, [{M2: 8, G1: 2}, {G1: 2}]),
        ({(None, G1): 4}, NONE, [{M2: 8}, {}]),
        ({(None, G1): 3}, NONE, [{M2: 8, G1: 2}, {G1: 2}]),
        ({(0, G1): 2, (None, G1): 2}, NONE, [{M2: 8}, {}]),
        ({}, Marks(huge_pages={(0, M2): 8}), [{G1: 2}, {G1: 2}]),
        ({(0, M2): 1}, Marks(huge_pages={(0, M2): 8}), [{G1: 2}, {G1: 2}]),
        ({}, Marks(grub="hugepagesz=1G hugepages=4"), [{M2: 8}, {}]),
        ({(None, G1): 1}, Marks(grub="hugepagesz=1G hugepages=4"), [{M2: 8}, {}]),
    ],
)
def test_huge_pages_that_a_plan_asked_for(
    planned: dict[tuple[int | None, int], int], marks: Marks, kept: list[dict[int, int]]
) -> None:
    """At most as many: more are a fact."""
    before = machine(64, 64, marks=marks, node0={M2: 8, G1: 2}, node1={G1: 2})
    after, _ = restore_memory(before, Planned(huge_pages=planned))
    assert [node.huge_pages for node in after.numa_nodes] == kept


FOUR: Topology = numbered(4, 2)


@pytest.mark.parametrize(
    ("line", "off"),
    [
        ("quiet", []),
        ("nosmt", [("nosmt", "4-7")]),
        ("mitigations=auto,nosmt", [("mitigations=auto,nosmt", "4-7")]),
        ("mitigations=auto spectre_v2=nosmt", []),
        ("nosmp", [("nosmp", "1-7")]),
        ("maxcpus=3", [("maxcpus=3", "3-7")]),
        ("maxcpus=0", [("maxcpus=0", "1-7")]),
        ("nr_cpus=3", [("nr_cpus=3", "3-7")]),
        ("possible_cpus=7", [("possible_cpus=7", "7")]),
        ("maxcpus=x nr_cpus=123456", []),
        ("nosmt maxcpus=6", [("nosmt", "4-7"), ("maxcpus=6", "6-7")]),
    ],
)
def test_cpus_that_arguments_keep_from_coming_up(line: str, off: list[tuple[str, str]]) -> None:
    made = [(word, str(cpus)) for word, cpus in reductions.cpus_off(line, FOUR)]
    assert made == off


def test_a_number_of_cpus_counts_those_that_are_there() -> None:
    """maxcpus counts CPUs, offline ones too; nr_cpus bounds their numbers."""
    two = numbered(4, 2, offline=CpuSet((1, 2)))
    for line, off in (("maxcpus=3", "3-7"), ("nr_cpus=3", "3-7"), ("maxcpus=8", "")):
        [(_, cpus)] = reductions.cpus_off(line, two)
        assert str(cpus) == off


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("quiet", ""),
        ("nosmt=force quiet maxcpus=3", "nosmt maxcpus=3"),
        ("nosmp l1tf=full,nosmt nr_cpus=3", "l1tf=full,nosmt nosmp nr_cpus=3"),
    ],
)
def test_words_that_limit_cpus(line: str, words: str) -> None:
    assert reductions.limits_cpus(line) == words

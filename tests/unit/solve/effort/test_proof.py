"""What is not proven of a layout, in words."""

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.plan import Limited, NodePlan, Pool, Unproven
from cpuplan.solve import goals as proof
from cpuplan.solve.goals import Aim, Gap, Moved, Parts, Smallest, SplitCores, Total
from cpuplan.solve.layout import Scope
from tests.unit.solve.problems import locate, machine, node_class

MACHINE = machine(4, 2, numa_nodes=2)
NODES = (
    Scope("NUMA node 0", CpuSet.parse("0-1,4-5")),
    Scope("NUMA node 1", CpuSet.parse("2-3,6-7")),
)
LAYOUT = {"reserved": CpuSet.parse("0,2"), "isolated": CpuSet.parse("1,3-7")}
MOVED = Moved((("reserved", CpuSet.parse("0,4")), ("isolated", CpuSet.parse("1-3,5-7"))))

ROWS: list[tuple[Aim, int | None, str]] = [
    (MOVED, 0, "fewest-moved: 2 CPUs would move, and perhaps 0 would do"),
    (SplitCores(), 0, "fewest-split-cores: 2 cores with threads in different sets, and perhaps 0"),
    (Parts("reserved", NODES), 1, "locality: reserved is on 2 NUMA nodes, and perhaps 1 would do"),
    (Parts("reserved", NODES), None, "reserved is on 2 NUMA nodes, and nothing is known of fewer"),
    (
        Smallest("isolated", NODES),
        -4,
        "the fewest CPUs of isolated has 3, and perhaps 4 is possible",
    ),
    (Total("isolated"), -8, "most-isolated: isolated has 6 CPUs, and perhaps 8 is possible"),
    (Total("isolated"), None, "isolated has 6 CPUs, and nothing is known of more"),
    (Total("reserved", 1), 1, "smallest-range: reserved has 2 CPUs, and perhaps 1 would do"),
]


@pytest.mark.parametrize(("aim", "least", "words"), ROWS)
def test_words(aim: Aim, least: int | None, words: str) -> None:
    node = node_class(MACHINE, {"reserved": {"cores": 1}})
    limited = proof.unproven(MACHINE, LAYOUT, [Gap(aim, least)], 5)
    pools = tuple(Pool(name, cpus, ()) for name, cpus in LAYOUT.items())
    (problem,) = proof.check_proof(NodePlan(node, pools, limited=limited), locate)
    assert words in problem.message


def test_a_proven_layout_has_nothing_to_say() -> None:
    node = node_class(MACHINE, {"reserved": {"cores": 1}})
    assert proof.unproven(MACHINE, LAYOUT, [], 5) is None
    assert not list(proof.check_proof(NodePlan(node, ()), locate))


def test_a_choice_among_equals_is_no_finding() -> None:
    """No layout is better; beside a goal that is not proven it is named."""
    node = node_class(MACHINE, {"reserved": {"cores": 1}})
    equals = Unproven("canonical")
    assert not list(proof.check_proof(NodePlan(node, (), limited=Limited(5, (equals,))), locate))
    goals = (Unproven("most-isolated", "isolated", "", 6, 8), equals)
    (problem,) = proof.check_proof(NodePlan(node, (), limited=Limited(5, goals)), locate)
    assert "canonical: which of the layouts that reach all goals equally well" in problem.message


def test_a_bound_that_is_reached_is_a_proof() -> None:
    """Then only the choice among equals is open."""
    limited = proof.unproven(MACHINE, LAYOUT, [Gap(Total("reserved", 1), 2)], 5)
    assert limited == Limited(5, (Unproven("canonical"),))
    both = [Gap(Total("reserved", 1), 2), Gap(Total("isolated"), -8)]
    limited = proof.unproven(MACHINE, LAYOUT, both, 5)
    assert limited == Limited(5, (Unproven("most-isolated", "isolated", "", 6, 8),))


def test_which_of_two_layouts_is_nearer() -> None:
    node = node_class(MACHINE, {"reserved": {"cores": 1}}, objective=["most-isolated"])
    more = {"reserved": CpuSet([0]), "isolated": CpuSet.parse("1-7")}
    assert proof.is_nearer(node, more, LAYOUT)
    assert not proof.is_nearer(node, LAYOUT, more)
    assert not proof.is_nearer(node, LAYOUT, LAYOUT)


def test_of_many_goals_the_first_are_told() -> None:
    node = node_class(MACHINE, {"reserved": {"cores": 1}})
    goals = tuple(Unproven("smallest-range", f"isolated.t{at}", "", 4, 2) for at in range(9))
    (problem,) = proof.check_proof(NodePlan(node, (), limited=Limited(5, goals)), locate)
    assert "isolated.t2 has 4" in problem.message
    assert "isolated.t3" not in problem.message
    assert problem.message.endswith("; and 6 more in the lock")

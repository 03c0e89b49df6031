"""Changes of several statements: what is proposed helps, all of it is needed, and it has an end."""

from itertools import combinations

import pytest

from cpuplan.plan import NodeClass
from cpuplan.solve import feasibility
from cpuplan.solve.remedies.attempt import Attempt, Change, changed_problem
from cpuplan.solve.remedies.combined import larger, settling, texts_of, together
from cpuplan.solve.rules.rule import Rule
from tests.unit.solve.problems import machine, node_class

REMOVED = "remove isolated.partitions."


def crowded(partitions: int) -> NodeClass:
    """Partitions of two cores each, and four cores for all of them."""
    named = {f"t{number}": {"cores": 2} for number in range(partitions)}
    pools = {"reserved": {"cores": 1}, "isolated": {"rest": True, "partitions": named}}
    return node_class(machine(5, 2), pools)


def conflict(node: NodeClass) -> list[Rule]:
    problem = changed_problem(node)
    return feasibility.oracle(problem, 500).minimal(problem.rules)


def attempt(node: NodeClass, tests: int = 5_000) -> Attempt:
    return Attempt(node, [], [tests])


@pytest.mark.parametrize("partitions", range(3, 9))
def test_what_is_proposed_helps_and_all_of_it_is_needed(partitions: int) -> None:
    node = crowded(partitions)
    changes = list(larger(attempt(node), conflict(node)))
    assert changes
    for change in changes:
        assert attempt(node).fits(change), change.text
        for fewer in combinations(change.parts, len(change.parts) - 1):
            assert not attempt(node).fits(together(fewer)), change.text


@pytest.mark.parametrize(("partitions", "most"), [(3, 1), (4, 2), (6, 4), (7, 4), (8, 4)])
def test_who_must_take_out_more_than_four_writes_the_intent_anew(
    partitions: int, most: int
) -> None:
    node = crowded(partitions)
    counts = [change.text.count(REMOVED) for change in larger(attempt(node), conflict(node))]
    assert max(counts) == most


def test_the_last_of_the_conflict_goes_first() -> None:
    node = crowded(3)
    texts = [change.text for change in larger(attempt(node), conflict(node))]
    assert texts[:3] == [f"{REMOVED}t2", f"{REMOVED}t1", f"{REMOVED}t0"]


def test_one_change_of_several_statements_is_proposed() -> None:
    node = crowded(3)
    (change,) = settling(attempt(node), conflict(node))
    assert change.text == (
        "lower isolated.partitions.t1.cores to 1, and lower isolated.partitions.t2.cores to 1"
    )


def test_nothing_is_tried_when_the_tests_are_over() -> None:
    node = crowded(6)
    over = attempt(node, tests=-1)
    assert list(larger(over, conflict(node))) == []
    few = attempt(node, tests=3)
    list(larger(few, conflict(node)))
    assert few.is_over


def change(text: str, field: str = "") -> Change:
    return Change(text, lambda node: node, field)


def test_a_number_that_changes_again_has_its_last_value_everywhere() -> None:
    first, again = change("lower cores to 3", "a.cores"), change("lower cores to 1", "a.cores")
    other = change("remove b")
    assert texts_of([first, together([other, again])]) == [
        "lower cores to 1",
        "remove b, and lower cores to 1",
    ]
    assert texts_of([together([first, again])]) == ["lower cores to 1"]
    assert texts_of([other, together([other, change("remove c")])]) == [
        "remove b",
        "remove b, and remove c",
    ]

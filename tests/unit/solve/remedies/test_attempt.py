"""Trying changes on classes: as many as tests are left, of the class and of its kin."""

import pytest

from cpuplan.plan import NodeClass
from cpuplan.solve.remedies import attempt
from cpuplan.solve.remedies.attempt import SEVERAL, UNTRIED, Attempt, Change, setting
from tests.unit.solve.problems import machine, node_class


def small(cores: int) -> NodeClass:
    """A machine of four cores, of which the reserved CPUs need so many."""
    return node_class(machine(4, 2), {"reserved": {"cores": cores}, "isolated": {"rest": True}})


def test_the_last_test_that_is_left_still_counts() -> None:
    tried = Attempt(small(1), [], [1])
    assert tried.fits()
    assert (tried.is_over, tried.nothing) == (False, SEVERAL)
    assert not tried.fits()
    assert (tried.is_over, tried.nothing) == (True, UNTRIED)


def test_attempts_share_the_tests_that_are_left() -> None:
    tried = Attempt(small(1), [], [2])
    later = tried.after(None, ["pools.reserved.cores"])
    assert (later.fits(), tried.fits(), later.fits()) == (True, True, False)


def test_a_change_must_fit_every_class_of_the_intent() -> None:
    change = Change("", setting("pools.reserved", cores=2))
    larger, smaller = small(9), node_class(machine(1, 2), {"reserved": {"cores": 9}})
    assert not Attempt(larger, [], [9]).fits()
    assert Attempt(larger, [], [9]).fits(change)
    assert not Attempt(larger, [smaller], [9]).fits(change)
    assert not Attempt(smaller, [larger], [9]).fits(change)
    assert Attempt(larger, [larger], [9]).after(change, ()).fits()


def test_statements_of_kin_are_never_left_out() -> None:
    left_out = ["pools.reserved.cores"]
    assert Attempt(small(9), [], [9]).after(None, left_out).fits()
    assert not Attempt(small(9), [small(9)], [9]).after(None, left_out).fits()


def test_what_is_wrong_fits_nothing() -> None:
    change = Change("", setting("pools.reserved", cores=1, count=1))
    assert not Attempt(small(1), [], [9]).fits(change)


@pytest.mark.parametrize("index", [0, 1])
def test_an_edit_changes_one_of_a_list(index: int) -> None:
    pods = [{"name": name, "cpus": 2, "pods": 1} for name in ("a", "b")]
    node = node_class(machine(4, 2), {"reserved": {"cores": 1}}, workloads=pods)
    edited = attempt.edited(node, f"workloads.{index}", pods=7).spec.workloads
    assert [workload.pods for workload in edited] == [7 if at == index else 1 for at in (0, 1)]


def test_the_pool_that_nobody_wrote_takes_the_rest() -> None:
    node = attempt.edited(small(1), "pools.isolated", min=2)
    without = node_class(machine(4, 2), {"reserved": {"cores": 1}})
    assert attempt.edited(without, "pools.isolated", min=2).spec.pools.isolated == (
        node.spec.pools.isolated
    )
    assert attempt.short("pools.isolated") == "isolated"

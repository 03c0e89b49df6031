"""What a change of the objects of a user costs."""

import pytest

from cpuplan.upstream.mco.apihelpers import NONE, REBOOT
from cpuplan.upstream.mco.common import RenderError
from cpuplan.upstream.mco.update import Change, Node, change
from tests.unit.upstream.mco.objects import Json, ignition, machine_config, pool

CNF = pool("cnf", "worker", "cnf")
BASE = machine_config("00", config=ignition(), kernelArguments=["base"])


def actions(outcome: Change) -> tuple[object, ...]:
    assert outcome.impact is not None
    assert outcome.impact.update is not None
    return outcome.impact.update.actions


def test_a_split_object_is_the_same() -> None:
    joined = machine_config("50", kernelArguments=["a", "b"])
    split = [machine_config(name, kernelArguments=[name]) for name in "ab"]
    outcome = change(CNF, [BASE, joined], [BASE, *split])
    assert outcome.is_same
    assert actions(outcome) == (NONE,)


def test_a_rename_can_reorder() -> None:
    old = [machine_config(name, kernelArguments=[value]) for name, value in ("1a", "2b")]
    new = [machine_config(name, kernelArguments=[value]) for name, value in ("3a", "2b")]
    assert actions(change(CNF, [BASE, *old], [BASE, *new])) == (REBOOT,)


def moved(role: str) -> Json:
    return machine_config("10", role, kernelArguments=["x"])


def test_the_order_is_that_of_the_release() -> None:
    last = machine_config("20", kernelArguments=["y"])
    sides = [BASE, moved("worker"), last], [BASE, moved("cnf"), last]
    assert actions(change(CNF, *sides)) == (REBOOT,)
    assert actions(change(CNF, *sides, node=Node((4, 14)))) == (NONE,)


def test_a_node_moves_to_another_pool() -> None:
    own = machine_config("50", "cnf", fips=True)
    outcome = change(pool(), [BASE, own], pool_after=CNF)
    assert outcome.refusal is None
    assert outcome.impact is not None
    assert outcome.impact.refusal is not None


def test_a_change_is_refused_while_rendering() -> None:
    outcome = change(pool(), [BASE], [BASE, machine_config("50", fips=True)])
    assert outcome.refusal is not None


def test_a_side_that_cannot_be_rendered() -> None:
    with pytest.raises(RenderError):
        change(pool(), [BASE], [BASE, machine_config("50", kernelType="rt")])


def test_a_pool_that_selects_nothing() -> None:
    outcome = change({"spec": {"machineConfigSelector": {}}}, [BASE])
    assert (outcome.before, outcome.impact, outcome.is_same) == (None, None, True)

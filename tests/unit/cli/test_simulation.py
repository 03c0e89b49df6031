"""What a simulation ends with: 1 where something is refused, 6 where that is not proven."""

from types import SimpleNamespace
from typing import Any

import pytest

from cpuplan.cli.simulation import Outcome
from cpuplan.diagnostics import diagnose

ERROR = diagnose("CP701", name="du", cluster="site", problem="it does not start")


def result(*, refuses: bool = False, complete: bool = True) -> Any:
    return SimpleNamespace(refuses=refuses, is_complete=complete)


def order(*, refused: bool = False, proven: bool = True) -> Any:
    return "a class", SimpleNamespace(refused=refused, is_proven=proven)


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (Outcome(result(), (), (), None), 0),
        (Outcome(result(refuses=True), (), (), None), 1),
        (Outcome(result(complete=False), (), (), None), 6),
        (Outcome(result(refuses=True, complete=False), (), (), None), 1),
        (Outcome(result(), (order(),), (), None), 0),
        (Outcome(result(), (order(), order(refused=True)), (), None), 1),
        (Outcome(result(), (order(), order(proven=False)), (), None), 6),
        (Outcome(result(), (order(proven=False), order(refused=True)), (), None), 1),
        # Of every order only the orders are asked for.
        (Outcome(result(refuses=True), (order(),), (), None), 0),
        (Outcome(result(), (), (ERROR,), None), 1),
        # Where nobody asked for all orders, nothing is said to be proven.
        (Outcome(result(), (), (), None, ("nvidia.com/gpu",)), 0),
        (Outcome(result(), (order(),), (), None, ("nvidia.com/gpu",)), 6),
    ],
)
def test_exit_codes(outcome: Outcome, code: int) -> None:
    assert outcome.exit_code == code

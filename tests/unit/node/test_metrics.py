"""What the agent serves: never a fact of a check that no longer counts."""

import pytest

from cpuplan.node import view
from cpuplan.node.view import Checked, Plan, State
from cpuplan.render.answers.prometheus import Counts
from tests.promtool import needs_promtool, promtool

PLAN = Plan("edge", "du", "1f2e")
CHECKED = Checked(
    PLAN, Counts({"held": 7, "differs": 1}, {("CP811", "error"): 1}, is_verified=True), ("CP811 x",)
)
OF_FACTS = "cpuplan_facts{"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that the test moves."""
    now = [1000.0]
    monkeypatch.setattr("cpuplan.node.view.time.monotonic", lambda: now[0])
    return now


def test_a_check_that_counts(clock: list[float]) -> None:
    board = State(60)
    board.put(CHECKED, 0.25)
    clock[0] += 30
    lines = view.text(board.view(), PLAN).splitlines()
    own = 'plan_cluster="edge",plan_class="du"'
    assert f'cpuplan_facts{{{own},verdict="differs"}} 1' in lines
    assert f'cpuplan_findings{{{own},code="CP811",severity="error"}} 1' in lines
    assert f'cpuplan_plan_info{{{own},digest="1f2e"}} 1' in lines
    assert f"cpuplan_check_current{{{own}}} 1" in lines
    assert f"cpuplan_check_age_seconds{{{own}}} 30" in lines
    assert f"cpuplan_check_duration_seconds{{{own}}} 0.25" in lines
    assert 'cpuplan_checks_total{result="done"} 1' in lines


def test_a_file_has_no_age(clock: list[float]) -> None:
    board = State(60)
    board.put(CHECKED, 0.25)
    assert "cpuplan_check_age" not in view.text(board.view(), PLAN, with_age=False)


def test_nothing_is_told_before_the_first_check() -> None:
    said = view.text(State(60).view(), None)
    assert OF_FACTS not in said
    assert "timestamp" not in said
    assert "cpuplan_check_current 0\n" in said


@pytest.mark.parametrize("how", ["failed", "too old", "another plan"])
def test_nothing_is_told_of_a_check_that_does_not_count(how: str, clock: list[float]) -> None:
    board = State(60)
    board.put(CHECKED, 0.25)
    if how == "failed":
        board.fail("no file")
    elif how == "another plan":
        board.forget("changed")
    else:
        clock[0] += 181
    said = view.text(board.view(), PLAN)
    assert OF_FACTS not in said
    assert "cpuplan_findings{" not in said
    assert 'cpuplan_check_current{plan_cluster="edge",plan_class="du"} 0\n' in said
    assert "cpuplan_check_timestamp_seconds" in said


def test_it_counts_again_after_the_next_check(clock: list[float]) -> None:
    board = State(60)
    board.fail("no file")
    board.put(CHECKED, 0.25)
    view = board.view()
    assert (view.problem, view.done, view.failed) == ("", 1, 1)


@needs_promtool
def test_prometheus_takes_the_metrics(clock: list[float]) -> None:
    board = State(60)
    board.put(CHECKED, 0.25)
    assert promtool("check", "metrics", text=view.text(board.view(), PLAN)) == ""
    assert promtool("check", "metrics", text=view.text(State(60).view(), None)) == ""

"""A problem that several classes have is solved once, and only where that is asked for."""

from collections.abc import Callable

import pytest

from cpuplan import pipeline
from cpuplan.base.cpuset import CpuSet
from cpuplan.plan import NodeClass
from cpuplan.solve import budget, goals, model
from cpuplan.solve.rules import problem_of
from tests.projects import REPOSITORY


@pytest.fixture(scope="module")
def node_class() -> NodeClass:
    return pipeline.load(REPOSITORY).classes[0]


@pytest.fixture
def solved(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A note for each problem that is really solved."""
    notes: list[str] = []
    find: Callable[..., model.Best | None] = model._best

    def spy(*arguments: object) -> model.Best | None:
        notes.append("solved")
        return find(*arguments)

    monkeypatch.setattr(model, "_best", spy)
    monkeypatch.setattr(model, "_answers", {})
    return notes


def _layout(node_class: NodeClass, seconds: float = 60) -> tuple[dict[str, CpuSet], float]:
    """The layout, and what is left of the limit."""
    with budget.limited(seconds) as limit:
        best = model.best(problem_of(node_class), goals.aims_of(node_class))
    assert best is not None
    return best.layout, limit.left


def test_an_equal_problem_is_solved_once(node_class: NodeClass, solved: list[str]) -> None:
    with budget.shared_answers():
        first, left = _layout(node_class)
        first_again = dict(first)
        first.clear()  # what one class does with its layout is its own affair
        other = node_class.saying(node_class.spec)
        other.intent = other.name = "other"
        assert _layout(other) == (first_again, left)
    assert len(solved) == 1


def test_another_problem_is_solved(node_class: NodeClass, solved: list[str]) -> None:
    isolated = node_class.spec.model_copy(update={"objective": ["most-isolated"]})
    assert isolated.objective != node_class.spec.objective
    with budget.shared_answers():
        _layout(node_class)
        _layout(node_class.saying(isolated))
        _layout(node_class, seconds=30)
        twin = node_class.saying(node_class.spec)
        twin.topology = pipeline.load(REPOSITORY).classes[0].topology
        _layout(twin)
    assert len(solved) == 4


def test_alone_it_is_solved_each_time(node_class: NodeClass, solved: list[str]) -> None:
    assert _layout(node_class) == _layout(node_class)
    assert len(solved) == 2


def test_few_answers_are_remembered(
    node_class: NodeClass, solved: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "_MOST", 1)
    with budget.shared_answers():
        for seconds in (60, 30, 60):
            _layout(node_class, seconds)
    assert len(solved) == 3
    assert len(model._answers) == 1

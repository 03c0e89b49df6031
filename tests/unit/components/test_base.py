"""What is made once for each plan."""

import gc

from cpuplan.components.base import once
from cpuplan.plan import ConfiguredPlan
from tests.machines.plans import plan


def test_a_function_is_asked_once_for_each_plan() -> None:
    asked: list[tuple[ConfiguredPlan, str]] = []

    @once
    def of(plan: ConfiguredPlan, word: str = "a") -> list[str]:
        asked.append((plan, word))
        return [word]

    first, second = plan(), plan()
    assert of(first) is of(first)
    assert of(first, "b") == of(second, word="b") == ["b"]
    assert asked == [(first, "a"), (first, "b"), (second, "b")]


def test_nothing_is_kept_of_plans_that_are_gone() -> None:
    made: list[str] = []

    @once
    def of(_plan: ConfiguredPlan) -> int:
        made.append("")
        return len(made)

    for _ in range(3):
        of(plan())
        gc.collect()
    assert len(made) == 3

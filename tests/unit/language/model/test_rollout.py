"""Times and numbers of a rollout, as they are written."""

import pytest
from pydantic import ValidationError

from cpuplan.facts.settings.costs import Impact
from cpuplan.language.model.rollout import MaxImpact, Rollout, Window


@pytest.mark.parametrize(
    "schedule",
    ["0 22 * * sat", "*/15 0-6 1,15 jan-mar 1-5", "0 0 * * 0", "59 23 31 12 6", "0 8-18/2 * * MON"],
)
def test_a_schedule_of_cron(schedule: str) -> None:
    assert Window(schedule=schedule, duration="4h").time_zone == "UTC"


@pytest.mark.parametrize(
    "schedule",
    [
        "0 22 * *",
        "0 22 * * * *",
        "60 0 * * *",
        "0 24 * * *",
        "0 0 0 * *",
        "0 0 * 13 *",
        # Argo CD has no second Sunday.
        "0 0 * * 7",
        "0 0 * * fri-mon",
        "0 0 * * sat,",
        "@daily",
        "0  22 * * *",
        "*-5 0 * * *",
        "0 0 * * */0",
    ],
)
def test_no_schedule_of_cron(schedule: str) -> None:
    with pytest.raises(ValidationError):
        Window(schedule=schedule, duration="4h")


@pytest.mark.parametrize("value", [1, 12, "1%", "10%", "100%"])
def test_so_many_nodes_at_a_time(value: int | str) -> None:
    assert Rollout(max_unavailable=value).max_unavailable == value


@pytest.mark.parametrize("value", [0, -1, True, "0%", "101%", "10", "", 1.5])
def test_no_number_of_nodes(value: object) -> None:
    with pytest.raises(ValidationError):
        Rollout.model_validate({"maxUnavailable": value})


def test_impacts_have_the_words_of_a_plan() -> None:
    assert MaxImpact.__args__ == tuple(impact.word for impact in Impact)  # type: ignore[attr-defined]

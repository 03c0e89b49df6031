"""JSON of servers: of the types that are counted on."""

from typing import Any

import pytest

from cpuplan.base.served import (
    AMOUNT,
    FLAG,
    TEXT,
    TEXTS,
    WHOLE,
    Entries,
    Items,
    Shape,
    misfit,
    path_of,
)

SHAPE: Shape = {
    "name": TEXT,
    "labels": TEXTS,
    "count": WHOLE,
    "on": FLAG,
    "amounts": Entries(AMOUNT),
    "items": Items({"name": TEXT}),
}


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ([], " is a list, and no mapping"),
        ({"name": 1}, "name is the number 1, and no text"),
        ({"labels": {"a": None, "b": {}}}, "labels.b is a mapping, and no text"),
        ({"count": True}, "count is true, and no whole number"),
        ({"count": 2**64}, "count is a number out of range, and no whole number"),
        ({"count": 1.5}, "count is the number 1.5, and no whole number"),
        ({"on": 0}, "on is the number 0, and no true or false"),
        ({"amounts": {"cpu": False}}, "amounts.cpu is false, and no text or a whole number"),
        ({"items": {}}, "items is a mapping, and no list"),
        ({"items": [{}, None]}, "items[1] is null"),
        ({"items": [{"name": "a"}, {"name": []}]}, "items[1].name is a list, and no text"),
    ],
)
def test_what_does_not_fit(value: Any, told: str) -> None:
    wrong = misfit(value, SHAPE)
    assert wrong
    assert f"{path_of(wrong[0])} is {wrong[1]}" == told


@pytest.mark.parametrize(
    "value",
    [
        None,
        {},
        {"name": None, "items": None, "labels": None},
        {"other": [None, {"a": 1.5}], "amounts": {"cpu": 1, "memory": "1Gi"}},
    ],
)
def test_what_fits(value: Any) -> None:
    assert misfit(value, SHAPE) is None

"""JSON of servers: bounded, and of the types that are counted on."""

from typing import Any

import pytest

from cpuplan.base.served.json import (
    AMOUNT,
    FLAG,
    TEXT,
    TEXTS,
    WHOLE,
    Entries,
    ForeignError,
    Items,
    Limits,
    Shape,
    load,
    measure,
    misfit,
    path_of,
)

LIMITS = Limits(bytes=10_000, values=1_000, depth=10)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b" " * 10_001, "has more than 10,000 bytes"),
        (b"[" + b"1," * 2_000 + b"1]", "has more than 1,000 values"),
        (b"[" * 900, "is nested deeper than 10 levels|is no JSON"),
        (b"", "is no JSON: Expecting value"),
        (b"\xff", "is no JSON"),
        (b"9" * 5_000, "is no JSON"),
        (b"NaN", "is no JSON"),
        (b"-Infinity", "is no JSON"),
        ("{'a': 1}", "is no JSON"),
    ],
)
def test_what_is_not_read(text: bytes | str, problem: str) -> None:
    with pytest.raises(ForeignError, match=problem):
        load(text, LIMITS)


def test_deep_text_is_refused_at_any_depth() -> None:
    for depth in (1_000, 5_000, 400_000):
        with pytest.raises(ForeignError):
            load(b"[" * depth, Limits(10**7, 10**7, 10))


def test_what_is_measured() -> None:
    assert measure({"a": [1, 2, {"b": None}]}, LIMITS) == 8
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ForeignError, match="nested deeper than 10 levels"):
        measure(deep, LIMITS)
    while isinstance(deep, list):  # or the interpreter would free it by recursion
        deep = deep.pop()
    with pytest.raises(ForeignError, match="more than 1,000 values"):
        measure(list(range(1_001)), LIMITS)
    for text in (["\ud800"], {"\udfff": 1}):
        with pytest.raises(ForeignError, match="no Unicode"):
            measure(text, LIMITS)


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
    found = misfit(value, SHAPE)
    assert found
    assert f"{path_of(found[0])} is {found[1]}" == told


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

"""JSON that others wrote: bounded, and of the form that is asked for."""

from typing import Any

import pytest

from cpuplan.base.fits import Form
from cpuplan.base.foreign import DEPTH, ForeignError, Limits, load, measure, read_json

FORM = Form(
    {
        "type": "object",
        "required": ["names"],
        "properties": {
            "names": {"type": "array", "items": {"type": "string"}},
            "size": {"anyOf": [{"type": "integer", "maximum": 9}, {"type": "null"}]},
        },
    }
)


def test_what_fits_is_read() -> None:
    text = '{"names": ["a", "\\u00e9"], "size": null, "more": 1.5}'
    assert read_json(text, FORM) == {"names": ["a", "é"], "size": None, "more": 1.5}
    assert read_json(text.encode(), FORM) == read_json(text)
    assert read_json("[" * DEPTH + "]" * DEPTH)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "it is no JSON: Expecting value"),
        ("{", "it is no JSON: Expecting property name enclosed in double quotes"),
        ("\ufeff{}", "it is no JSON: Unexpected UTF-8 BOM (decode using utf-8-sig)"),
        ("NaN", "it has NaN, which is no value of JSON"),
        ("-Infinity", "it has -Infinity, which is no value of JSON"),
        ("1e999", "it has a number that is too large"),
        ("9" * 5000, "it has a number of 5,000 digits"),
        ('["\\ud800"]', "it has a text with half a character (\\ud800 to \\udfff)"),
        ("[" * 65 + "]" * 65, "it is nested deeper than 64 levels"),
        ("[" * 100_000, "it is nested deeper than 64 levels"),
        ('{"a":' * 100_000, "it is nested deeper than 64 levels"),
    ],
)
def test_what_is_no_value_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ForeignError) as raised:
        read_json(text)
    assert str(raised.value) == problem


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[]", "it is not a mapping"),
        ("{}", "it has no names"),
        ('{"names": "a"}', "names is not a list"),
        ('{"names": ["a", 1]}', "names.1 is not text"),
        ('{"names": [], "size": "1"}', "size is not a whole number or null"),
        ('{"names": [], "size": true}', "size is not a whole number or null"),
    ],
)
def test_the_first_part_that_does_not_fit_is_named(text: str, problem: str) -> None:
    with pytest.raises(ForeignError) as raised:
        read_json(text, FORM)
    assert str(raised.value) == problem


def test_places_are_told() -> None:
    with pytest.raises(ForeignError) as raised:
        read_json(b'{"a":\n "\xff"}')
    assert (raised.value.line, raised.value.column) == (2, 3)
    with pytest.raises(ForeignError) as raised:
        read_json('{"a":\n x}')
    assert (raised.value.line, raised.value.column) == (2, 2)


LIMITS = Limits(bytes=10_000, values=1_000, depth=10)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b" " * 10_001, "it has more than 10,000 bytes"),
        (b"[" + b"1," * 2_000 + b"1]", "it has more than 1,000 values"),
        (b"[" * 900, "it is nested deeper than 10 levels|it is no JSON"),
        (b"", "it is no JSON: Expecting value"),
        (b"\xff", "it is no JSON: byte 0xff is not UTF-8"),
        (b"9" * 5_000, "it has a number of 5,000 digits"),
        (b"NaN", "it has NaN, which is no value of JSON"),
        (b"-Infinity", "it has -Infinity, which is no value of JSON"),
        ("{'a': 1}", "it is no JSON"),
    ],
)
def test_what_is_beyond_limits_or_no_json_is_not_read(text: bytes | str, problem: str) -> None:
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
        with pytest.raises(ForeignError, match="half a character"):
            measure(text, LIMITS)


@pytest.mark.parametrize("inner", ["", "1"])
def test_the_depth_is_that_of_lists_and_mappings(inner: str) -> None:
    for depth in (DEPTH, 10):
        limits = Limits(bytes=1_000, values=1_000, depth=depth)
        measure(load("[" * depth + inner + "]" * depth, limits), limits)
        deeper = load("[" * (depth + 1) + inner + "]" * (depth + 1), limits)
        with pytest.raises(
            ForeignError, match=f"it is nested deeper than {depth} levels"
        ) as raised:
            measure(deeper, limits)
        assert raised.value.predicate == f"is nested deeper than {depth} levels"

"""JSON that others wrote: bounded, and of the form that is asked for."""

import pytest

from cpuplan.base.fits import Form
from cpuplan.base.foreign import DEPTH, ForeignError, read_json

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
        ("NaN", "NaN is no value of JSON"),
        ("-Infinity", "-Infinity is no value of JSON"),
        ("1e999", "a number is too large"),
        ("9" * 5000, "a number has 5,000 digits"),
        ('["\\ud800"]', "a text has half a character (\\ud800 to \\udfff)"),
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

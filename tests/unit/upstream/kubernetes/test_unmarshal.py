"""JSON into Go values, with the errors of Go."""

import pytest

from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.json import STRING, map_of, slice_of
from cpuplan.upstream.kubernetes.unmarshal import BOOL, FLOAT64, INT32, struct, unmarshal

_INNER = struct("pkg.Inner", node=INT32, on=BOOL)
_OUTER = struct("pkg.Outer", name=STRING, rows=slice_of(_INNER), more=map_of(FLOAT64))


def test_values() -> None:
    text = '{"NAME": "a", "rows": [{"node": -3}, null], "more": {"x": 1e2, "y": null}, "z": 1}'
    assert unmarshal(text, _OUTER) == {
        "name": "a",
        "rows": [{"node": -3}, {}],
        "more": {"x": 100.0, "y": 0},
    }


def test_null() -> None:
    assert unmarshal("null", _OUTER) == {}
    assert unmarshal("null", slice_of(STRING)) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "unexpected end of JSON input"),
        ("{'a': 1}", "invalid character '\\'' looking for beginning of object key string"),
        ("[]", "array into Go value of type pkg.Outer"),
        (
            '{"rows": [{}, {"node": 1.5}], "name": 1}',
            "number 1.5 into Go struct field Outer.rows.1.node of type int32",
        ),
        (
            '{"rows": [{"node": 2147483648}]}',
            "number 2147483648 into Go struct field Outer.rows.0.node of type int32",
        ),
        (
            '{"more": {"a.b/c": "1"}}',
            "string into Go struct field Outer.more.a.b~1c of type float64",
        ),
        (
            '{"more": {"x": 1e999}}',
            "number 1e999 into Go struct field Outer.more.x of type float64",
        ),
    ],
)
def test_refusals(text: str, problem: str) -> None:
    with pytest.raises(KubeletError) as raised:
        unmarshal(text, _OUTER)
    assert str(raised.value).removeprefix("json: cannot unmarshal ") == problem


def test_slices_have_no_name() -> None:
    with pytest.raises(KubeletError) as raised:
        unmarshal('[{"node": ""}]', slice_of(_INNER))
    assert "Go struct field .0.node of type int32" in str(raised.value)


def test_numbers_of_thousands_of_digits() -> None:
    with pytest.raises(KubeletError, match=r"cannot unmarshal number 9+ into"):
        unmarshal('{"rows": [{"node": ' + "9" * 5000 + "}]}", _OUTER)

"""What was written is read back, and nothing else is read at all."""

import json
import types
import typing
from collections.abc import Mapping, Sequence
from enum import Enum
from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpuplan.backends.parts import Parts
from cpuplan.base.codec import Codec, CodecError, frame, unframe
from cpuplan.base.cpuset import MAX_CPU, CpuSet
from cpuplan.cli.roots import Answered
from cpuplan.diagnostics import Diagnostic, Reason
from cpuplan.diagnostics.source import Position
from cpuplan.pipeline import batch
from cpuplan.plan import Limited, Pool
from cpuplan.plan.setting import Setting
from cpuplan.simulate import admission
from cpuplan.write import record
from tests.fuzz.mutation import disturbed

#: Everything that is read from caches, or comes back from workers.
KINDS = (
    batch._Made,
    Parts,
    record._Kept,
    tuple[Answered, ...],
    admission.NodeOutcome,
    admission.Answer,
)
_TEXTS = st.text(max_size=8)
_NUMBERS = st.integers(-(1 << 70), 1 << 70)
_FLOATS = st.floats(allow_nan=False, allow_infinity=False)
_CPUS = st.sets(st.integers(0, MAX_CPU), max_size=4).map(CpuSet)
_VALUES = st.recursive(
    st.booleans() | _NUMBERS | _FLOATS | _TEXTS | _CPUS,
    lambda inner: (
        st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(_TEXTS | st.sampled_from(["cpus", "map"]), inner, max_size=3)
    ),
    max_leaves=6,
)
_JSON = st.recursive(
    st.none() | st.booleans() | _NUMBERS | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=6,
)
_LEAVES: dict[Any, st.SearchStrategy[Any]] = {
    str: _TEXTS,
    int: _NUMBERS,
    bool: st.booleans(),
    float: _FLOATS | _NUMBERS,
    bytes: _TEXTS.map(str.encode),
    CpuSet: _CPUS,
    Any: _JSON,
    types.NoneType: st.none(),
}


def values_of(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a type, by its annotations."""
    if kind in _LEAVES:
        return _LEAVES[kind]
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return _VALUES if CpuSet in arguments else st.one_of(*map(values_of, arguments))
    if origin is tuple and arguments[-1] is not Ellipsis:
        return st.tuples(*map(values_of, arguments))
    if origin in (tuple, Sequence):
        return st.lists(values_of(arguments[0]), max_size=2).map(tuple)
    if origin in (dict, Mapping):
        return st.dictionaries(*map(values_of, arguments), max_size=2)
    if issubclass(kind, Enum):
        return st.sampled_from(list(kind))
    hints = typing.get_type_hints(kind)
    return st.tuples(*(values_of(hints[name]) for name in kind._fields)).map(kind._make)


@pytest.mark.parametrize("kind", KINDS)
def test_every_value_comes_back(kind: Any) -> None:
    codec: Codec[Any] = Codec(kind)

    @settings(max_examples=40)
    @given(values_of(kind))
    def check(value: Any) -> None:
        decoded = codec.decode(codec.encode(value))
        assert decoded == value
        assert repr(decoded) == repr(value)  # of the same types, to the last field

    check()


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_is_changed_is_refused_or_a_value(kind: Any) -> None:
    codec: Codec[Any] = Codec(kind)

    @settings(max_examples=60)
    @given(values_of(kind), st.randoms(use_true_random=False))
    def check(value: Any, random: Random) -> None:
        data = json.dumps(disturbed(random, json.loads(codec.encode(value)), rate=0.2)).encode()
        try:
            decoded = codec.decode(data)
        except CodecError:
            return
        assert codec.decode(codec.encode(decoded)) == decoded

    check()


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.binary(max_size=40))
def test_any_bytes_are_refused(kind: Any, data: bytes) -> None:
    with pytest.raises(CodecError):
        Codec(kind).decode(data + b"\xff")


_POSITION = ["a.yaml", 1, 2, 3]


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (Position, _POSITION[:3]),
        (Position, [*_POSITION, 0]),
        (Position, {"path": "a"}),
        (Position, "a.yaml:1"),
        (Position, None),
        (Position, ["a.yaml", True, 2, 3]),
        (Position, ["a.yaml", 1.0, 2, 3]),
        (Position, ["a.yaml", "1", 2, 3]),
        (Position, [None, 1, 2, 3]),
        (Position, ["a\ud800.yaml", 1, 2, 3]),
        (Position, ["a.yaml", 1 << 9000, 2, 3]),
        (Reason, [["text"], ""]),
        (Pool, ["shared", "g", []]),
        (Pool, ["shared", "-1", []]),
        (Pool, ["shared", "+1", []]),
        (Pool, ["shared", "0x1", []]),
        (Pool, ["shared", "", []]),
        (Pool, ["shared", "1" * 2049, []]),
        (Pool, ["shared", 1, []]),
        (Limited, [1e999, []]),
        (Limited, [True, []]),
        (Setting, ["kernel", "key", None, [], None]),
        (Setting, ["kernel", "key", {}, [], None]),
        (Setting, ["kernel", "key", {"cpus": "1", "map": {}}, [], None]),
        (Setting, ["kernel", "key", {"call": "os.system"}, [], None]),
        (Setting, ["kernel", "key", {"map": []}, [], None]),
        (Setting, ["kernel", "key", {"map": {"a": None}}, [], None]),
        (Setting, ["kernel", "key", 1, [], ["", "a holiday", []]]),
        (bytes, "\udcff"),
        (dict[str, bytes], [["a", "b"]]),
        (dict[int, int], {"1": 1}),
        (dict[int, int], [[1, 2, 3]]),
        (str | int, True),
    ],
)
def test_what_is_not_exactly_of_its_type(kind: Any, data: Any) -> None:
    with pytest.raises(CodecError):
        Codec(kind).decode(json.dumps(data).encode())


@pytest.mark.parametrize(
    "text", ["", "NaN", "-Infinity", "[" * 100_000, "9" * 5000, "1 1", '{"map":' * 100_000]
)
def test_what_is_no_json(text: str) -> None:
    for kind in (float, Any):
        with pytest.raises(CodecError):
            Codec(kind).decode(text.encode())


def test_names_that_are_no_utf_8_come_back_where_they_may_be() -> None:
    codec: Codec[str] = Codec(str, any_text=True)
    assert codec.decode(codec.encode("a\udcff")) == "a\udcff"
    with pytest.raises(CodecError):
        Codec(str).decode(codec.encode("a\udcff"))


def test_bytes_that_are_no_text_are_not_written() -> None:
    with pytest.raises(CodecError):
        Codec[bytes](bytes).encode(b"\xff")


def test_a_type_without_a_form_is_a_mistake_of_ours() -> None:
    class Other(NamedTuple):
        value: complex

    for kind in (complex, Other, frozenset[str], int | float, list):
        with pytest.raises(TypeError):
            Codec[Any](kind).encode(None)


def test_checks_see_every_value_of_their_type() -> None:
    codec: Codec[tuple[Diagnostic, ...]] = Codec(
        tuple[Diagnostic, ...], {Position: lambda position: position.line > 0}
    )
    good = Diagnostic("CP401", "", "", Position("a", 1, 1))
    assert codec.decode(codec.encode((good,))) == (good,)
    with pytest.raises(CodecError):
        codec.decode(codec.encode((good._replace(position=Position("a", 0, 1)),)))


@given(st.lists(st.binary(max_size=9), max_size=5))
def test_pieces_come_back(pieces: list[bytes]) -> None:
    data = frame(pieces)
    assert list(unframe(data)) == pieces
    if data:
        with pytest.raises(CodecError):
            list(unframe(data[:-1] if pieces[-1] else data + b"\0\0\0\1"))

"""Values as JSON and back, by the annotations of their types: data, and never code.

What is read may have been written by anybody. Only the types that the annotations name are made,
each field must have exactly its type, and numbers are bounded; everything else is a CodecError. A
type of a kind that is not known here is a TypeError when its codec is made: a mistake of ours.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import chain
from math import isfinite
from types import NoneType, UnionType
from typing import Any, Generic, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from cpuplan.base.cpuset import MAX_CPU, CpuSet, WrittenCpuSet, as_written

Kind = TypeVar("Kind")
#: Says whether a value that has the right types can be right.
Check = Callable[[Any], bool]

#: Sets of CPUs are whole numbers, too, with a bit for each.
_MAX_BITS = MAX_CPU + 1
_MAX_DIGITS = -(-_MAX_BITS // 4)
#: Of a list that names each CPU, some with a zero before.
_MAX_TEXT = 1 << 16
_HEX = frozenset("0123456789abcdef")
#: What a set of CPUs, one with its own list, and a mapping, of a setting are in JSON.
_CPUS, _WRITTEN, _MAP = "cpus", "written", "map"


class CodecError(ValueError):
    """Bytes that are not what `encode` makes, or a value that cannot be encoded."""


class _Form(NamedTuple):
    """How values of a type become JSON, where they are not as they are, and how they are read."""

    encode: Callable[[Any], Any] | None
    decode: Callable[[Any], Any]


class Codec(Generic[Kind]):
    """Writes and reads values of a type.

    `checks` are asked about each value of some types among it. `any_text` leaves surrogates in
    texts: names of files that are not UTF-8 have them.
    """

    def __init__(
        self, kind: Any, checks: Mapping[type, Check] | None = None, *, any_text: bool = False
    ) -> None:
        self._kind = kind
        self._checks = checks or {}
        self._text = _decode_any_text if any_text else _decode_text
        self._made: dict[Any, _Form] = {}

    def encode(self, value: Kind) -> bytes:
        """The bytes of a value. Raises CodecError for one with a text that is not UTF-8 bytes."""
        form = self._form_of(self._kind)
        try:
            plain = form.encode(value) if form.encode else value
            return json.dumps(plain, separators=(",", ":"), allow_nan=False).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise CodecError(f"{type(value).__name__}: {error}") from error

    def decode(self, data: bytes) -> Kind:
        """The value of such bytes. Raises CodecError for all others."""
        form = self._form_of(self._kind)
        try:
            plain = json.loads(data.decode(), parse_constant=_refuse_constant)
            value: Kind = form.decode(plain)
        except CodecError:
            raise
        except (ValueError, RecursionError) as error:
            raise CodecError(f"{type(error).__name__}: {error}") from error
        return value

    def _form_of(self, kind: Any) -> _Form:
        known = self._made.get(kind)
        if known is None:
            known = self._made[kind] = self._make(kind)
        return known

    def _make(self, kind: Any) -> _Form:
        if get_origin(kind) is not None or isinstance(kind, UnionType):
            return self._make_generic(kind)
        if kind is Any:
            return _Form(None, _decode_plain)
        if kind is str:
            return _Form(None, self._text)
        if kind in _LEAVES:
            return _LEAVES[kind]
        if isinstance(kind, type) and issubclass(kind, Enum):
            return _form_of_enum(kind)
        if isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields"):
            return self._make_named(kind)
        raise TypeError(f"no form for {kind}")

    def _make_generic(self, kind: Any) -> _Form:
        origin, arguments = get_origin(kind), get_args(kind)
        if origin in (Union, UnionType):
            return self._make_union(arguments)
        if origin is tuple and arguments[-1:] != (Ellipsis,):
            forms = [self._form_of(argument) for argument in arguments]
            return _Form(_encoder_of_row(forms), _decoder_of_row(forms, tuple))
        if origin in (tuple, Sequence, list):
            return _form_of_many(self._form_of(arguments[0]), list if origin is list else tuple)
        if origin in (dict, Mapping):
            return _form_of_mapping(*map(self._form_of, arguments), is_by_text=arguments[0] is str)
        raise TypeError(f"no form for {kind}")

    def _make_union(self, kinds: Sequence[Any]) -> _Form:
        if CpuSet in kinds:  # that of settings, which holds itself
            return _Form(_encode_value, self._decode_value)
        others = [kind for kind in kinds if kind is not NoneType]
        if len(others) == 1:
            return _form_or_none(self._form_of(others[0]))
        if all(other in (str, int) for other in others) and len(others) == len(kinds):
            return _Form(None, self._decode_name)
        raise TypeError(f"no form for a union of {kinds}")

    def _make_named(self, kind: Any) -> _Form:
        """Of a named tuple: a row with all its fields."""
        hints = get_type_hints(kind)
        forms = [self._form_of(hints[name]) for name in kind._fields]
        return _Form(
            _encoder_of_row(forms), _decoder_of_row(forms, kind._make, self._checks.get(kind))
        )

    def _decode_name(self, data: Any) -> str | int:
        return self._text(data) if type(data) is str else _decode_int(data)

    def _decode_value(self, data: Any) -> Any:
        """The value of a setting."""
        if type(data) is str:
            return self._text(data)
        if type(data) is list:
            return tuple(map(self._decode_value, data))
        if type(data) is not dict:
            return data if type(data) is bool else _decode_number(data)
        ((tag, inner),) = data.items() if len(data) == 1 else [("", None)]
        if tag == _CPUS:
            return _decode_cpus(inner)
        if tag == _WRITTEN:
            return _decode_written(self._text(inner))
        if tag == _MAP and type(inner) is dict:
            return {self._text(key): self._decode_value(item) for key, item in inner.items()}
        raise CodecError(f"a mapping of {len(data)} keys is no value")


def frame(pieces: Iterable[bytes]) -> bytes:
    """Several pieces of bytes as one, each after its length."""
    return b"".join(chain.from_iterable((len(piece).to_bytes(_LENGTH), piece) for piece in pieces))


def unframe(data: bytes) -> Iterator[bytes]:
    """The pieces of `frame`. Raises CodecError for other bytes."""
    start = 0
    while start < len(data):
        begin = start + _LENGTH
        start = begin + int.from_bytes(data[start:begin])
        if start > len(data):
            raise CodecError(f"{start} of {len(data)} bytes")
        yield data[begin:start]


#: Bytes of the length of a piece.
_LENGTH = 4


def _refuse_constant(name: str) -> None:
    raise CodecError(f"{name} is no number")


def _decode_any_text(data: Any) -> str:
    if type(data) is not str:
        raise CodecError(f"{type(data).__name__} is no text")
    return data


def _decode_text(data: Any) -> str:
    if type(data) is not str:
        raise CodecError(f"{type(data).__name__} is no text")
    if not data.isascii():
        data.encode()  # surrogates are a ValueError
    return data


def _decode_bool(data: Any) -> bool:
    if type(data) is not bool:
        raise CodecError(f"{type(data).__name__} is neither true nor false")
    return data


def _decode_int(data: Any) -> int:
    if type(data) is not int or data.bit_length() > _MAX_BITS:
        raise CodecError(f"{type(data).__name__} is no whole number that occurs")
    return data


def _decode_number(data: Any) -> int | float:
    if type(data) is float and isfinite(data):
        return data
    return _decode_int(data)


def _decode_none(data: Any) -> None:
    if data is not None:
        raise CodecError(f"{type(data).__name__} is not nothing")


def _encode_bytes(value: bytes) -> str:
    return value.decode()


def _decode_bytes(data: Any) -> bytes:
    return _decode_text(data).encode()


def _encode_cpus(value: CpuSet) -> str:
    return f"{value.bits:x}"


def _decode_cpus(data: Any) -> CpuSet:
    if type(data) is not str or not 0 < len(data) <= _MAX_DIGITS or not _HEX.issuperset(data):
        raise CodecError("no set of CPUs")
    return CpuSet.from_bits(int(data, 16))


_LEAVES: dict[Any, _Form] = {
    bool: _Form(None, _decode_bool),
    int: _Form(None, _decode_int),
    float: _Form(None, _decode_number),
    bytes: _Form(_encode_bytes, _decode_bytes),
    CpuSet: _Form(_encode_cpus, _decode_cpus),
    NoneType: _Form(None, _decode_none),
}


def _decode_written(text: str) -> CpuSet:
    if len(text) > _MAX_TEXT:
        raise CodecError("no set of CPUs")
    return as_written(text)  # a CpuSetError is a ValueError


def _encode_value(value: Any) -> Any:
    if isinstance(value, WrittenCpuSet):
        return {_WRITTEN: value.text}
    if isinstance(value, CpuSet):
        return {_CPUS: _encode_cpus(value)}
    if isinstance(value, dict):
        return {_MAP: {key: _encode_value(item) for key, item in value.items()}}
    return list(map(_encode_value, value)) if isinstance(value, tuple) else value


def _decode_plain(data: Any) -> Any:
    """Data of a document, whatever it is: JSON has no other types."""
    return data


def _form_of_enum(kind: type[Enum]) -> _Form:
    members = {member.value: member for member in kind}

    def decode(data: Any) -> Enum:
        member = members.get(data) if type(data) is str else None
        if member is None:
            raise CodecError(f"no {kind.__name__}")
        return member

    return _Form(lambda member: member.value, decode)


def _form_or_none(form: _Form) -> _Form:
    encode, decode = form

    def encode_some(value: Any) -> Any:
        return None if value is None or encode is None else encode(value)

    def decode_some(data: Any) -> Any:
        return None if data is None else decode(data)

    return _Form(encode_some if encode else None, decode_some)


def _form_of_many(form: _Form, make: Callable[[Iterable[Any]], Any]) -> _Form:
    encode, decode = form

    def encode_all(values: Iterable[Any]) -> list[Any]:
        return list(map(encode, values)) if encode else list(values)

    def decode_all(data: Any) -> Any:
        if type(data) is not list:
            raise CodecError(f"{type(data).__name__} is no list")
        return make(map(decode, data))

    return _Form(encode_all if encode else None, decode_all)


def _form_of_mapping(keys: _Form, values: _Form, *, is_by_text: bool) -> _Form:
    """Of a mapping: an object, or a list of pairs where its keys are no texts."""
    row = [keys, values]
    pairs = _form_of_many(_Form(_encoder_of_row(row), _decoder_of_row(row, tuple)), dict)

    def encode(mapping: Mapping[str, Any]) -> dict[str, Any]:
        of_item = values.encode
        return {key: of_item(item) if of_item else item for key, item in mapping.items()}

    def encode_pairs(mapping: Mapping[Any, Any]) -> list[Any]:
        items = list(mapping.items())
        return pairs.encode(items) if pairs.encode else items

    def decode(data: Any) -> dict[str, Any]:
        if type(data) is not dict:
            raise CodecError(f"{type(data).__name__} is no mapping")
        return {keys.decode(key): values.decode(item) for key, item in data.items()}

    return _Form(encode, decode) if is_by_text else _Form(encode_pairs, pairs.decode)


def _encoder_of_row(forms: Sequence[_Form]) -> Callable[[Sequence[Any]], list[Any]] | None:
    """Encodes the fields that are not as they are in JSON; None where all are."""
    special = [(index, form.encode) for index, form in enumerate(forms) if form.encode]

    def encode(values: Sequence[Any]) -> list[Any]:
        row = list(values)
        for index, of_field in special:
            row[index] = of_field(row[index])
        return row

    return encode if special else None


def _decoder_of_row(
    forms: Sequence[_Form], make: Callable[[Iterable[Any]], Any], check: Check | None = None
) -> Callable[[Any], Any]:
    decoders = [form.decode for form in forms]

    def decode(data: Any) -> Any:
        if type(data) is not list or len(data) != len(decoders):
            raise CodecError(f"{type(data).__name__} is no row of {len(decoders)}")
        pairs = zip(decoders, data, strict=True)
        value = make([decode_field(field) for decode_field, field in pairs])
        if check is not None and not check(value):
            raise CodecError(f"{type(value).__name__} cannot be right")
        return value

    return decode

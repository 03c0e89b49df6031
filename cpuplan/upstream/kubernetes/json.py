"""Reading JSON into declared types with the errors of Go's encoding/json.

Upstream: golang/go src/encoding/json/decode.go @ 5755c011de9c75a05825b0c08ce61c77c5207f1d
Upstream: golang/go src/encoding/json/scanner.go @ eadba7c73bd0c3914f741e31e551d0d3edd78519
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.strconv import quote_rune


class Type(NamedTuple):
    """A Go type: its name in errors and the kind of JSON it takes.

    A struct has `fields`, whose keys are found whatever their case; a map or a slice has `items`.
    `read` is UnmarshalJSON of a type that has one.
    """

    go_type: str
    kind: str
    fields: Mapping[str, "Type"] = {}
    items: "Type | None" = None
    read: Callable[[Any], Any] | None = None


STRING = Type("string", "string")
INT, UINT64 = Type("int", "number"), Type("uint64", "number")


def map_of(items: Type, key: str = "string") -> Type:
    return Type(f"map[{key}]{items.go_type}", "object", items=items)


def slice_of(items: Type) -> Type:
    return Type(f"[]{items.go_type}", "array", items=items)


_SIGNED = (-(1 << 63), (1 << 63) - 1)
_UNSIGNED = (0, (1 << 64) - 1)
_UNSIGNED_TYPES = ("uint64", "checksum.Checksum")
#: Of a whole number: Python refuses to read 4,300 of them, and 64 bits have 20.
_MOST_DIGITS = 1000


def loads(text: str, shape: Type) -> dict[str, Any]:
    """json.Unmarshal into a new struct; KubeletError with Go's text for the first error."""
    try:
        value = json.loads(text, parse_int=_number, parse_constant=refuse_constant)
    except json.JSONDecodeError as error:
        raise KubeletError(syntax_error(text, error)) from None
    except RecursionError:
        raise KubeletError("exceeded max depth") from None
    if value is None:
        return {}
    name = shape.go_type.rpartition(".")[2]
    if kind_of(value) != "object":
        raise KubeletError(
            f"json: cannot unmarshal {kind_of(value)} into Go value of type {shape.go_type}"
        )
    decoded: dict[str, Any] = _decode(value, shape, name, ())
    return decoded


def dump(value: Any) -> str:
    """json.Marshal of a value whose keys are in order."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def _number(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise KubeletError(f"json: cannot unmarshal number {text} into Go value")
    return int(text)


def refuse_constant(text: str) -> None:
    """NaN and Infinity, which Python's reader takes."""
    raise KubeletError(f"invalid character {text[0]!r} looking for beginning of value")


def kind_of(value: object) -> str:
    """What Go calls a JSON value."""
    if isinstance(value, bool):
        return "bool"
    kinds: dict[type, str] = {dict: "object", list: "array", str: "string"}
    return kinds.get(type(value), "number")


def _decode(value: Any, shape: Type, struct: str, path: tuple[str, ...]) -> Any:
    kind = kind_of(value)
    is_held = kind != "number" or _is_held(value, shape.go_type)
    if kind != shape.kind or not is_held:
        given = kind if is_held else f"number {json.dumps(value)}"
        field = f"struct field {struct}.{'.'.join(path)}"
        where = f"Go {'value' if struct.startswith('map[') else field} of type {shape.go_type}"
        raise KubeletError(f"json: cannot unmarshal {given} into {where}")
    if shape.fields:
        decoded = {}
        known = {name.lower(): name for name in shape.fields}
        for key, item in value.items():
            name = known.get(key.lower())
            if name is not None and item is not None:
                decoded[name] = _decode(item, shape.fields[name], struct, (*path, name))
        return decoded
    if shape.items is None:
        return value
    if kind == "array":
        return [_decode(item, shape.items, struct, path) for item in value]
    return {
        key: _decode(item, shape.items, struct, (*path, key))
        for key, item in value.items()
        if item is not None
    }


def _is_held(number: float, go_type: str) -> bool:
    """Whether a number is whole and within the 64 bits of its type."""
    lowest, highest = _UNSIGNED if go_type in _UNSIGNED_TYPES else _SIGNED
    return isinstance(number, int) and lowest <= number <= highest


def syntax_error(text: str, error: json.JSONDecodeError) -> str:
    """Go's words for text that ends too early; for others where Python found the mistake."""
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
        return "unexpected end of JSON input"
    contexts = {
        "Expecting value": "looking for beginning of value",
        "Expecting property name enclosed in double quotes": "looking for beginning of object "
        "key string",
        "Expecting ':' delimiter": "after object key",
        "Expecting ',' delimiter": "after object key:value pair",
        "Extra data": "after top-level value",
    }
    context = contexts.get(error.msg, "in string literal")
    return f"invalid character {quote_rune(text[error.pos])} {context}"

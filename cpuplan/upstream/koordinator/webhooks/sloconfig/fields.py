"""Structs of the configuration: their JSON, and the rules of their fields (validator/v10)."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from cpuplan.upstream.kubelet.go.text import float_text
from cpuplan.upstream.kubelet.go.unmarshal import BOOL, FLOAT64, INT32, INT64, STRING, Type, map_of

Values = Mapping[str, Any]


class Field(NamedTuple):
    """A field: its names in Go and JSON, its type, and rules such as `min=0,ltfield=Other`.

    The JSON name is empty for an embedded struct.
    """

    go: str
    json: str
    type: "Type | Struct"
    rules: str = ""
    is_list: bool = False


class Struct(NamedTuple):
    """A struct by its name in errors."""

    go_type: str
    fields: tuple[Field, ...]

    def as_type(self) -> Type:
        """Its JSON, with the fields of embedded structs beside its own."""
        return Type(self.go_type, "object", dict(self._json_fields()))

    def _json_fields(self) -> Iterator[tuple[str, Type]]:
        for field in self.fields:
            inner = field.type.as_type() if isinstance(field.type, Struct) else field.type
            if not field.json:
                yield from (inner.fields or {}).items()
            elif field.is_list:
                yield field.json, Type(f"[]{inner.go_type}", "array", items=inner)
            else:
                yield field.json, inner


def integer(go: str, json: str, rules: str = "") -> Field:
    return Field(go, json, INT64, rules)


def integer32(go: str, json: str, rules: str = "") -> Field:
    return Field(go, json, INT32, rules)


def number(go: str, json: str, rules: str = "") -> Field:
    return Field(go, json, FLOAT64, rules)


def flag(go: str, json: str) -> Field:
    return Field(go, json, BOOL)


def word(go: str, json: str, go_type: str) -> Field:
    """A string of a type of its own: any value passes."""
    return Field(go, json, STRING._replace(go_type=go_type))


def flags(go: str, json: str) -> Field:
    return Field(go, json, map_of(BOOL))


def embedded(struct: Struct) -> Field:
    return Field(struct.go_type.rpartition(".")[2], "", struct)


def problems(struct: Struct, values: Values) -> dict[str, str]:
    """What the validator says against a decoded struct, by the path of the field."""
    return dict(_problems(struct, values, struct.go_type.rpartition(".")[2]))


def _problems(struct: Struct, values: Values, path: str) -> Iterator[tuple[str, str]]:
    by_go = {field.go: values.get(field.json) for field in struct.fields if field.json}
    for field in struct.fields:
        where = f"{path}.{field.go}"
        given: Any = values if not field.json else values.get(field.json)
        if given is None:
            continue
        if isinstance(field.type, Struct):
            rows = enumerate(given) if field.is_list else ()
            for index, row in rows:
                yield from _problems(field.type, row, f"{where}[{index}]")
            if not field.is_list:
                yield from _problems(field.type, given, where)
        elif text := _problem(field, given, by_go):
            yield where, text


_SENTENCES: dict[str, tuple[Callable[[float, float], bool], str]] = {
    "min": (lambda value, limit: value >= limit, "must be {} or greater"),
    "max": (lambda value, limit: value <= limit, "must be {} or less"),
    "gt": (lambda value, limit: value > limit, "must be greater than {}"),
    "gtfield": (lambda value, limit: value > limit, "must be greater than {}"),
    "ltfield": (lambda value, limit: value < limit, "must be less than {}"),
}


def _problem(field: Field, value: float, others: Mapping[str, Any]) -> str:
    """The first rule that a value breaks; a rule about a field that is absent is broken too."""
    for rule in field.rules.split(",") if field.rules else ():
        name, _, parameter = rule.partition("=")
        holds, sentence = _SENTENCES[name]
        limit = others[parameter] if name.endswith("field") else float(parameter)
        shown = parameter if name.endswith("field") else _grouped(float(parameter))
        if limit is None or not holds(value, limit):
            return f"{field.go} {sentence.format(shown)}"
    return ""


def _grouped(limit: float) -> str:
    """`7,999`."""
    return f"{int(limit):,}" if limit == int(limit) else float_text(limit)

"""Whether a value is valid by a JSON Schema, for the keywords that the schemas of outputs use.

A schema becomes a function, each part of it when a value first has that part. The library
`jsonschema` takes 40 ms to import and far longer for each file; it explains what is not valid here,
and decides where this module cannot. `fastjsonschema` takes 15 ms to import and 80 ms to compile
the schemas; compiled beforehand, its code has half a megabyte.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sized
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

Schema: TypeAlias = Mapping[str, Any]
#: Whether a value is valid for certain.
Check: TypeAlias = Callable[[Any], bool]


class Form:
    """A schema, and its check, which is made when it is first asked."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    @cached_property
    def fits(self) -> Check:
        """Whether a value is valid."""
        return compiled(self.schema)


class Misfit(NamedTuple):
    """A part of a value that is not valid, by the way to it, and why: `is not text`."""

    at: tuple[str | int, ...]
    problem: str

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.at)) or 'it'} {self.problem}"


#: Of each JSON type. 1.0 is an integer to JSON Schema; that is left to the library.
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}
_WORDS = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "null": "null",
}


def compiled(schema: Schema) -> Check:
    """The check of a schema; it is False for every value where a keyword is not known here."""
    given = {key: value for key, value in schema.items() if key not in _ANNOTATIONS}
    if not given.keys() <= _KEYWORDS.keys():
        return lambda _: False
    checks = tuple(_KEYWORDS[keyword](argument, schema) for keyword, argument in given.items())
    if len(checks) == 1:
        return checks[0]

    def fits(value: Any) -> bool:
        for check in checks:  # noqa: SIM110 - all() takes twice as long
            if not check(value):
                return False
        return True

    return fits


def misfit(value: Any, schema: Schema, at: tuple[str | int, ...] = ()) -> Misfit | None:
    """The first part of a value that is not valid by a schema, and why; None where all is.

    For people who must mend a file, and without the library, which not every node has.
    """
    if compiled(schema)(value):
        return None
    if "anyOf" in schema or not _type(schema.get("type", [*_TYPES]), schema)(value):
        return Misfit(at, f"is not {_expected(schema)}")
    missing = _first_missing(value, schema)
    if missing:
        return Misfit(at, f"has no {missing}")
    parts: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, list):
        parts = enumerate(value)
    for key, part in parts:
        inner = misfit(part, _schema_of(schema, key), (*at, key))
        if inner:
            return inner
    return Misfit(at, "has a value that is out of its bounds")


def _expected(schema: Schema) -> str:
    """The types that a value may have, in words."""
    names: list[str] = []
    for choice in schema.get("anyOf", [schema]):
        given = choice.get("type", [])
        names += [given] if isinstance(given, str) else given
    return " or ".join(_WORDS[name] for name in names) or "one of what is allowed here"


def _first_missing(value: Any, schema: Schema) -> str | None:
    wanted = schema.get("required", ()) if isinstance(value, dict) else ()
    return next((key for key in wanted if key not in value), None)


def _schema_of(schema: Schema, key: str | int) -> Schema:
    """The schema of a part of a value."""
    if isinstance(key, int):
        inner = schema.get("items", {})
    else:
        inner = schema.get("properties", {}).get(key, schema.get("additionalProperties", {}))
    return inner if isinstance(inner, Mapping) else {}


def _type(argument: Any, _schema: Schema) -> Check:
    # A bool is an int only to Python.
    names = [argument] if isinstance(argument, str) else argument
    types = frozenset(kind for name in names for kind in _TYPES.get(name, ()))
    return lambda value: type(value) in types


def _properties(argument: Mapping[str, Schema], _schema: Schema) -> Check:
    checks: dict[str, Check] = {}

    def fits(value: Any) -> bool:
        if not isinstance(value, dict):
            return True
        for key, item in value.items():
            if key not in checks:
                if key not in argument:
                    continue
                checks[key] = compiled(argument[key])
            if not checks[key](item):
                return False
        return True

    return fits


def _additional_properties(argument: bool | Schema, schema: Schema) -> Check:
    if argument is True:
        return lambda _: True
    properties = schema.get("properties", {}).keys()
    if argument is False:
        return lambda value: not isinstance(value, dict) or value.keys() <= properties
    fits = compiled(argument)
    return lambda value: (
        not isinstance(value, dict) or all(fits(value[key]) for key in value.keys() - properties)
    )


def _property_names(argument: Schema, _schema: Schema) -> Check:
    fits = compiled(argument)
    return lambda value: not isinstance(value, dict) or all(map(fits, value))


def _required(argument: list[str], _schema: Schema) -> Check:
    keys = frozenset(argument)
    return lambda value: not isinstance(value, dict) or keys <= value.keys()


def _items(argument: Schema, _schema: Schema) -> Check:
    fits = compiled(argument)
    return lambda value: not isinstance(value, list) or all(map(fits, value))


def _any_of(argument: list[Schema], _schema: Schema) -> Check:
    choices = tuple(map(compiled, argument))
    return lambda value: any(fits(value) for fits in choices)


def _enum(argument: list[Any], _schema: Schema) -> Check:
    # 1 is not True here.
    allowed = frozenset((type(item), item) for item in argument)
    return lambda value: not isinstance(value, dict | list) and (type(value), value) in allowed


def _pattern(argument: str, _schema: Schema) -> Check:
    search = re.compile(argument).search
    return lambda value: not isinstance(value, str) or search(value) is not None


def _minimum(argument: float, _schema: Schema) -> Check:
    return lambda value: not isinstance(value, int | float) or value >= argument


def _maximum(argument: float, _schema: Schema) -> Check:
    return lambda value: not isinstance(value, int | float) or value <= argument


def _shortest(kind: type[Sized]) -> Callable[[int, Schema], Check]:
    return lambda argument, _: lambda value: not isinstance(value, kind) or len(value) >= argument


def _longest(kind: type[Sized]) -> Callable[[int, Schema], Check]:
    return lambda argument, _: lambda value: not isinstance(value, kind) or len(value) <= argument


_ANNOTATIONS = frozenset({"$schema", "title", "description"})
_KEYWORDS: dict[str, Callable[[Any, Schema], Check]] = {
    "type": _type,
    "properties": _properties,
    "additionalProperties": _additional_properties,
    "propertyNames": _property_names,
    "required": _required,
    "items": _items,
    "anyOf": _any_of,
    "enum": _enum,
    "pattern": _pattern,
    "minimum": _minimum,
    "maximum": _maximum,
    "minLength": _shortest(str),
    "maxLength": _longest(str),
    "minItems": _shortest(list),
    "minProperties": _shortest(dict),
}

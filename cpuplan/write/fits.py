"""Whether a value is valid by a JSON Schema, for the keywords that the schemas of outputs use.

The library `jsonschema` takes 40 ms to import and ten times as long for each file. It explains what
is not valid here, and decides where this module cannot. `fastjsonschema` takes 15 ms to import and
80 ms to compile the schemas, to save 0.3 ms for each class of nodes; compiled beforehand, its code
has half a megabyte.
"""

import re
from collections.abc import Callable, Mapping, Sized
from typing import Any, TypeAlias

Schema: TypeAlias = Mapping[str, Any]

#: Of each JSON type. 1.0 is an integer to JSON Schema; that is left to the library.
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}


def fits(value: Any, schema: Schema) -> bool:
    """Whether a value is valid for certain; False also for a keyword that is not known here."""
    for keyword, argument in schema.items():
        holds = _KEYWORDS.get(keyword)
        if holds is None:
            if keyword not in _ANNOTATIONS:
                return False
        elif not holds(value, argument, schema):
            return False
    return True


def _type(value: Any, argument: Any, _schema: Schema) -> bool:
    # A bool is an int only to Python.
    if isinstance(argument, str):
        return type(value) in _TYPES.get(argument, ())
    return any(type(value) in _TYPES.get(name, ()) for name in argument)


def _properties(value: Any, argument: Mapping[str, Schema], _schema: Schema) -> bool:
    if not isinstance(value, dict):
        return True
    for key, item in value.items():
        if key in argument and not fits(item, argument[key]):
            return False
    return True


def _additional_properties(value: Any, argument: bool | Schema, schema: Schema) -> bool:
    if argument is True or not isinstance(value, dict):
        return True
    properties = schema.get("properties", {}).keys()
    if argument is False:
        return bool(value.keys() <= properties)
    return all(fits(value[key], argument) for key in value.keys() - properties)


def _property_names(value: Any, argument: Schema, _schema: Schema) -> bool:
    return not isinstance(value, dict) or all(fits(key, argument) for key in value)


def _required(value: Any, argument: list[str], _schema: Schema) -> bool:
    return not isinstance(value, dict) or all(key in value for key in argument)


def _items(value: Any, argument: Schema, _schema: Schema) -> bool:
    return not isinstance(value, list) or all(fits(item, argument) for item in value)


def _any_of(value: Any, argument: list[Schema], _schema: Schema) -> bool:
    return any(fits(value, choice) for choice in argument)


def _enum(value: Any, argument: list[Any], _schema: Schema) -> bool:
    if isinstance(value, dict | list):
        return False
    return any(type(value) is type(allowed) and value == allowed for allowed in argument)


def _pattern(value: Any, argument: str, _schema: Schema) -> bool:
    return not isinstance(value, str) or re.search(argument, value) is not None


def _minimum(value: Any, argument: float, _schema: Schema) -> bool:
    return not isinstance(value, int | float) or value >= argument


def _maximum(value: Any, argument: float, _schema: Schema) -> bool:
    return not isinstance(value, int | float) or value <= argument


def _shortest(kind: type[Sized]) -> Callable[[Any, int, Schema], bool]:
    return lambda value, argument, _: not isinstance(value, kind) or len(value) >= argument


def _longest(kind: type[Sized]) -> Callable[[Any, int, Schema], bool]:
    return lambda value, argument, _: not isinstance(value, kind) or len(value) <= argument


_ANNOTATIONS = frozenset({"$schema", "title", "description"})
_KEYWORDS: dict[str, Callable[[Any, Any, Schema], bool]] = {
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

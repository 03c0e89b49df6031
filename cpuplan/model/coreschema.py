"""Classes with annotations as the core schemas that pydantic's core checks values by.

The forms are those that the documents use: text, numbers, truth values, literals, None, mappings,
tuples of any length, models, and what `fields` has for `Annotated`. Described in pydantic_core's
`core_schema` module.
"""

from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from cpuplan.model.fields import Before, FieldInfo, JsonForm, ReadBy

Schema = dict[str, Any]

_PLAIN = {str: "str", int: "int", bool: "bool", Any: "any", object: "any"}
#: Models do not change a value's type (`"3"` is no number), refuse unknown keys, and know their
#: fields by both names.
_CONFIG = {
    "strict": True,
    "extra_fields_behavior": "forbid",
    "validate_by_name": True,
    "validate_by_alias": True,
}


def of_model(model: Any) -> Schema:
    """The schema of a model; those that it is made of stand beside it once each, as definitions."""
    definitions: dict[str, Schema] = {}
    top = _model(model, definitions)
    return {"type": "definitions", "schema": top, "definitions": list(definitions.values())}


def forms(model: Any) -> dict[str, str]:
    """The patterns of a model's texts, keys of mappings too, in words."""
    found: dict[str, str] = {}
    todo: list[Any] = [of_model(model)]
    for schema in todo:
        if isinstance(schema, dict):
            words = (
                schema.get("metadata", {}).get("pydantic_js_updates", {}).get("patternErrorMessage")
            )
            if words and "pattern" in schema:
                found[schema["pattern"]] = words
        todo += (
            schema.values()
            if isinstance(schema, dict)
            else schema
            if isinstance(schema, list)
            else ()
        )
    return found


def _model(model: Any, definitions: dict[str, Schema]) -> Schema:
    """A reference to the definition of a model, which is made where it is not there yet."""
    # pydantic makes the names of JSON Schema's definitions from such references.
    reference = f"{model.__module__}.{model.__qualname__}:{id(model)}"
    if reference not in definitions:
        # its place: a definition stands before those that it is made of
        definitions[reference] = {}
        fields = {name: _field(model, name, definitions) for name in model.model_fields}
        schema: Schema = {
            "type": "model",
            "cls": model,
            "schema": {"type": "model-fields", "fields": fields, "model_name": model.__name__},
            "config": {**_CONFIG, "title": model.__name__},
        }
        if hasattr(model, "verify"):
            called = {"type": "no-info", "function": _verified}
            schema = {"type": "function-after", "function": called, "schema": schema}
        definitions[reference] = {**schema, "ref": reference}
    return {"type": "definition-ref", "schema_ref": reference}


def _verified(model: Any) -> Any:
    model.verify()
    return model


def _field(model: Any, name: str, definitions: dict[str, Schema]) -> Schema:
    field: FieldInfo = model.model_fields[name]
    schema = _limited(_value(model.annotations[name], definitions), field.limits)
    if field.default_factory:
        schema = {"type": "default", "schema": schema, "default_factory": field.default_factory}
    elif not field.is_required:
        schema = {"type": "default", "schema": schema, "default": field.default}
    return {
        "type": "model-field",
        "schema": schema,
        "validation_alias": field.alias,
        "serialization_alias": field.alias,
        "metadata": {"pydantic_js_updates": dict(field.shown)},
    }


def _value(form: Any, definitions: dict[str, Schema]) -> Schema:
    """The schema of an annotation."""
    if kind := _PLAIN.get(form):
        return {"type": kind}
    origin, items = get_origin(form), get_args(form)
    if origin is Annotated:
        return _annotated(items[0], items[1:], definitions)
    if origin is Literal:
        return {"type": "literal", "expected": list(items)}
    if origin in (Union, UnionType):
        return _union(items, definitions)
    if origin is tuple:
        return {
            "type": "tuple",
            "items_schema": [_value(items[0], definitions)],
            "variadic_item_index": 0,
        }
    if origin is dict:
        keys, values = (_value(item, definitions) for item in items)
        return {"type": "dict", "keys_schema": keys, "values_schema": values}
    if hasattr(form, "model_fields"):
        return _model(form, definitions)
    raise TypeError(f"documents have no values of the type {form!r}")


def _union(forms: tuple[Any, ...], definitions: dict[str, Schema]) -> Schema:
    choices = [_value(form, definitions) for form in forms if form is not NoneType]
    schema = choices[0] if len(choices) == 1 else {"type": "union", "choices": choices}
    return {"type": "nullable", "schema": schema} if NoneType in forms else schema


def _annotated(form: Any, marks: tuple[Any, ...], definitions: dict[str, Schema]) -> Schema:
    """A value with what is said of it; limits count for what is there after everything `Before`."""
    read_by = next((mark for mark in marks if isinstance(mark, ReadBy)), None)
    schema = _plain(read_by) if read_by else _value(form, definitions)
    for mark in marks:
        if isinstance(mark, FieldInfo):
            schema = _limited(schema, mark.limits)
            schema = _shown(schema, {"pydantic_js_updates": dict(mark.shown)} if mark.shown else {})
    for mark in marks:
        if isinstance(mark, Before):
            called = {"type": "no-info", "function": mark.function}
            schema = {"type": "function-before", "function": called, "schema": schema}
        elif isinstance(mark, JsonForm):
            schema = _shown(schema, {"pydantic_js_functions": [_form(mark.json_schema)]})
    return schema


def _plain(mark: ReadBy) -> Schema:
    called = {"type": "no-info", "function": mark.function}
    return {"type": "function-plain", "function": called, "serialization": {"type": "to-string"}}


def _form(json_schema: Mapping[str, Any]) -> Any:
    return lambda _schema, _handler: dict(json_schema)


def _limited(schema: Schema, limits: Mapping[str, Any]) -> Schema:
    if schema["type"] == "nullable":
        return {**schema, "schema": _limited(schema["schema"], limits)}
    return {**schema, **limits}


def _shown(schema: Schema, metadata: Mapping[str, Any]) -> Schema:
    return (
        {**schema, "metadata": {**schema.get("metadata", {}), **metadata}} if metadata else schema
    )

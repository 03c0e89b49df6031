"""What the schema of a document knows of the value at a place: its keys, its examples."""

from typing import Any

from cpuplan.diagnostics.source import Field
from cpuplan.language.model import jsonschema
from cpuplan.language.model.base import Model


def known_keys(model: type[Model], location: Field) -> list[str]:
    """The keys of the mapping at `location`."""
    return list(schema_at(model, location).get("properties", ()))


def schema_at(model: type[Model], location: Field) -> dict[str, Any]:
    """The JSON Schema of the value at `location`: what an editor would know there."""
    whole = jsonschema.of_model(model)
    schema: dict[str, Any] = whole
    for part in location:
        schema = resolve(schema, whole)
        if isinstance(part, int):
            schema = schema.get("items", {})
        else:
            schema = (
                schema.get("properties", {}).get(part) or schema.get("additionalProperties") or {}
            )
        if not isinstance(schema, dict):
            return {}
    return resolve(schema, whole)


def resolve(schema: dict[str, Any], whole: dict[str, Any]) -> dict[str, Any]:
    """Follow references, and take the mapping (else the first) of several forms."""
    while True:
        if "$ref" in schema:
            schema = whole["$defs"][schema["$ref"].rsplit("/", 1)[1]]
        elif "anyOf" in schema:
            forms = [resolve(form, whole) for form in schema["anyOf"]]
            schema = next((form for form in forms if "properties" in form), forms[0])
        else:
            return schema

"""The JSON Schemas of the input documents, made from their models."""

from collections.abc import Mapping
from typing import Any

from cpuplan import API_VERSION
from cpuplan.base import naming
from cpuplan.language.model import jsonschema
from cpuplan.language.model.document import name_form
from cpuplan.language.read.documents import KINDS

#: Draft 7 is the newest that the YAML language server declares to support.
DIALECT = "http://json-schema.org/draft-07/schema#"


def schema(kind: str) -> dict[str, Any]:
    """The schema of a whole document of `kind`: the envelope, and the spec as its model says."""
    spec = _draft7(jsonschema.of_model(KINDS[kind]))
    definitions = spec.pop("definitions", {})
    for mapping in (spec, *definitions.values()):
        _describe(mapping, definitions)
    texts = {"type": "object", "additionalProperties": {"type": "string"}}
    about = spec.pop("description", "")
    return {
        "$schema": DIALECT,
        "$id": f"https://cpuplan.io/schemas/v1alpha1/{kind.lower()}.schema.json",
        "title": kind,
        "description": about,
        "type": "object",
        "additionalProperties": False,
        "required": ["apiVersion", "kind", "metadata", "spec"],
        "properties": {
            "apiVersion": {"const": API_VERSION, "description": "version of the document format"},
            "kind": {"const": kind, "description": "kind of the document"},
            "metadata": {
                "description": "how other documents and messages refer to this one",
                "type": "object",
                "additionalProperties": False,
                "required": ["name"],
                "properties": {
                    "name": {
                        **name_form(naming.LONGEST_NAME),
                        "description": "unique among the documents of this kind in a project",
                    },
                    "labels": {**texts, "description": "for your own use"},
                    "annotations": {**texts, "description": "for your own use"},
                },
            },
            "spec": {"description": about, **spec},
        },
        "definitions": definitions,
    }


def _describe(schema: dict[str, Any], definitions: Mapping[str, dict[str, Any]]) -> None:
    """Give fields that hold a model the model's description, unless they have one themselves."""
    for form in (schema, *schema.get("anyOf", ())):
        for field in form.get("properties", {}).values():
            if about := _about(field, definitions):
                field.setdefault("description", about)


def _about(field: dict[str, Any], definitions: Mapping[str, dict[str, Any]]) -> str:
    """The description of the model that a field holds, in its short forms too."""
    if "$ref" in field:
        return _about(definitions[field["$ref"].rsplit("/", 1)[1]], definitions)
    forms = field.get("anyOf", ())
    return str(
        field.get("description")
        or next(filter(None, (_about(form, definitions) for form in forms)), "")
    )


def _draft7(value: Any) -> Any:
    """pydantic's 2020-12 in the words of draft 7, without its titles, which only repeat the key."""
    if isinstance(value, list):
        return [_draft7(item) for item in value]
    if not isinstance(value, dict):
        return value
    made = {}
    for key, item in value.items():
        if key == "title" and isinstance(item, str):
            continue
        if key == "description" and isinstance(item, str):
            made[key] = " ".join(item.split())  # a docstring's line ends are those of its source
        elif key == "$ref":
            made[key] = item.replace("#/$defs/", "#/definitions/")
        else:
            made["definitions" if key == "$defs" else key] = _draft7(item)
    return made

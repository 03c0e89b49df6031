"""The JSON Schemas of the input documents, made from their models."""

from typing import Any

from cpuplan import API_VERSION
from cpuplan.document import HOST_PATTERN
from cpuplan.load.documents import KINDS
from cpuplan.model import jsonschema

#: Draft 7 is the newest that the YAML language server declares to support.
DIALECT = "http://json-schema.org/draft-07/schema#"


def schema(kind: str) -> dict[str, Any]:
    """The schema of a whole document of `kind`: the envelope, and the spec as its model says."""
    spec = _draft7(jsonschema.of_model(KINDS[kind]))
    definitions = spec.pop("definitions", {})
    labels = {"type": "object", "additionalProperties": {"type": "string"}}
    return {
        "$schema": DIALECT,
        "$id": f"https://cpuplan.io/schemas/v1alpha1/{kind.lower()}.schema.json",
        "title": kind,
        "description": spec.pop("description", ""),
        "type": "object",
        "additionalProperties": False,
        "required": ["apiVersion", "kind", "metadata", "spec"],
        "properties": {
            "apiVersion": {"const": API_VERSION},
            "kind": {"const": kind},
            "metadata": {
                "type": "object",
                "additionalProperties": False,
                "required": ["name"],
                "properties": {
                    "name": {"type": "string", "pattern": HOST_PATTERN},
                    "labels": labels,
                    "annotations": labels,
                },
            },
            "spec": spec,
        },
        "definitions": definitions,
    }


def _draft7(value: Any) -> Any:
    """pydantic's 2020-12 in the words of draft 7; its titles, which only repeat the key, are left out."""
    if isinstance(value, list):
        return [_draft7(item) for item in value]
    if not isinstance(value, dict):
        return value
    made = {}
    for key, item in value.items():
        if key == "title" and isinstance(item, str):
            continue
        if key == "$ref":
            made[key] = item.replace("#/$defs/", "#/definitions/")
        else:
            made["definitions" if key == "$defs" else key] = _draft7(item)
    return made

"""docs/reference.md: every field of every document, from the JSON Schemas."""

from collections.abc import Iterator, Mapping
from typing import Any

Schema = dict[str, Any]

_HEAD = """# Every field of every document

Generated from the models by `python -m tests.generate`. A document has
`apiVersion: cpuplan.io/v1alpha1`, `kind`, `metadata.name` and `spec`. A file can contain several
documents, separated by `---`. Files can be anywhere in `inventories/` and `intents/`.
"""


def page(schemas: Mapping[str, Schema]) -> str:
    """A table for each mapping, in the order in which a reader meets them."""
    parts = [_HEAD]
    for kind, schema in schemas.items():
        spec = schema["properties"]["spec"]
        parts.append(f"## {kind}\n\n{schema['description']}\n")
        parts += _tables("spec", spec, schema["definitions"])
    return "\n".join(parts)


def _tables(title: str, schema: Schema, definitions: Schema) -> Iterator[str]:
    required = set(schema.get("required", ()))
    rows = [f"### {title}\n", "| field | type | default | meaning |", "|---|---|---|---|"]
    nested: list[tuple[str, Schema]] = []
    for name, field in schema.get("properties", {}).items():
        inner = _mapping_of(field, definitions)
        if inner and inner.get("properties"):
            nested.append((f"{title}.{name}", inner))
        default = "required" if name in required else _default(field.get("default"))
        rows.append(
            f"| `{name}` | {_type(field, definitions)} | {default} | {_meaning(field, inner)} |"
        )
    yield "\n".join(rows) + "\n"
    for name, inner in nested:
        yield from _tables(name, inner, definitions)


def _meaning(field: Schema, inner: Schema | None) -> str:
    text = field.get("description") or (inner or {}).get("description", "")
    return " ".join(str(text).split()).replace("|", "\\|")


def _default(value: object) -> str:
    if value is None or value in ({}, [], ()):
        return ""
    if isinstance(value, bool):
        return "`true`" if value else "`false`"
    if isinstance(value, dict):
        return ", ".join(f"`{key}: {item}`" for key, item in value.items() if item is not None)
    return f"`{value}`"


def _type(field: Schema, definitions: Schema) -> str:
    if "$ref" in field:
        return _type(definitions[field["$ref"].rsplit("/", 1)[1]], definitions)
    if "anyOf" in field:
        names = [_type(form, definitions) for form in field["anyOf"] if form.get("type") != "null"]
        return " or ".join(dict.fromkeys(names))
    if "enum" in field:
        return ", ".join(f"`{choice}`" for choice in field["enum"])
    if "const" in field:
        value = field["const"]
        return f"`{str(value).lower() if isinstance(value, bool) else value}`"
    if field.get("type") == "array":
        return f"list of {_type(field.get('items', {}), definitions)}"
    if field.get("type") == "string" and field.get("examples"):
        return f"text such as `{field['examples'][0]}`"
    names_of = {
        "string": "text",
        "integer": "number",
        "object": "mapping",
        "boolean": "`true`, `false`",
    }
    return names_of.get(str(field.get("type")), "CPU list" if "pattern" in field else "text")


def _mapping_of(field: Schema, definitions: Schema) -> Schema | None:
    """The mapping that a field holds, directly or as the items of a list."""
    if "$ref" in field:
        return _mapping_of(definitions[field["$ref"].rsplit("/", 1)[1]], definitions)
    for form in field.get("anyOf", ()):
        if mapping := _mapping_of(form, definitions):
            return mapping
    if field.get("type") == "array":
        return _mapping_of(field.get("items", {}), definitions)
    return field if field.get("properties") else None

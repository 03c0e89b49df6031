"""The canonical form of a user's file: keys in the order of the models, comments kept (ruamel's round trip)."""

from io import StringIO
from typing import Any

from cpuplan.load.documents import KINDS
from cpuplan.load.schema import schema

_MODELINE = "# yaml-language-server: $schema=../schemas/{kind}.schema.json"


def canonical(text: str) -> str:
    """`text` with its keys in order, two blanks of indentation, and the editor's modeline first. Keeps every value."""
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 10_000
    yaml.indent(mapping=2, sequence=2, offset=0)
    documents = list(yaml.load_all(text))
    for document in documents:
        kind = document.get("kind") if isinstance(document, dict) else None
        if kind in KINDS:
            whole = schema(kind)
            _sort(document, whole, whole)
    written = StringIO()
    yaml.dump_all(documents, written)
    result = written.getvalue()
    kind = str(documents[0].get("kind", "")) if documents and isinstance(documents[0], dict) else ""
    if kind in KINDS and "yaml-language-server:" not in text:
        result = _MODELINE.format(kind=kind.lower()) + "\n" + result
    return result


def _sort(value: Any, rules: dict[str, Any], whole: dict[str, Any]) -> None:
    rules = _resolve(rules, whole)
    if isinstance(value, list):
        for item in value:
            _sort(item, rules.get("items", {}), whole)
    elif hasattr(value, "move_to_end"):
        order = {key: index for index, key in enumerate(rules.get("properties", {}))}
        wanted = sorted(value, key=lambda key: order.get(key, len(order)))
        if list(value) != wanted:
            for key in wanted:
                # Comments hang on the key, so moving the entry moves them too.
                value.move_to_end(key)
        for key, item in value.items():
            _sort(item, rules.get("properties", {}).get(key, {}), whole)


def _resolve(rules: dict[str, Any], whole: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in rules:
        return _resolve(whole["definitions"][rules["$ref"].rsplit("/", 1)[1]], whole)
    if "anyOf" in rules:
        forms = [_resolve(form, whole) for form in rules["anyOf"]]
        return next((form for form in forms if "properties" in form or "items" in form), {})
    return rules

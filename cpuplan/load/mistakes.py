"""What pydantic found wrong, in cpuplan's words: only imported when something is."""

from typing import Any

from pydantic_core import ErrorDetails, ValidationError

from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.load.names import FOLLOWS_FROM, did_you_mean
from cpuplan.model import Model
from cpuplan.source import Field, Source

#: pydantic's error type -> what the value must be.
_EXPECTED = {
    "int_type": "a whole number",
    "string_type": "text (quote it if it looks like a number)",
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "tuple_type": "a list",
    "list_type": "a list",
    "cpu_list_type": "a CPU list such as 0-3,8",
    "none_required": "left out",
}


def diagnostics_of(error: ValidationError, model: type[Model], source: Source, field: Field) -> list[Diagnostic]:
    """One diagnostic for each of pydantic's errors, at the place of the value or key that caused it."""
    details = error.errors(include_url=False)
    return [_diagnostic(detail, model, source, field) for detail in details if not _is_short_of_good_items(detail)]


def _is_short_of_good_items(detail: ErrorDetails) -> bool:
    """Whether a list is long enough, and only its items are wrong: pydantic's core counts those that are right."""
    return detail["type"] == "too_short" and len(detail["input"]) >= detail["ctx"]["min_length"]


def _diagnostic(detail: ErrorDetails, model: type[Model], source: Source, top: Field) -> Diagnostic:
    location = tuple(part for part in detail["loc"] if part != "[key]")
    field = (*top, *location)
    shown = ".".join(map(str, field))
    context: dict[str, Any] = detail.get("ctx", {})
    value = detail["input"]
    match detail["type"]:
        case "extra_forbidden":
            parent = ".".join(map(str, field[:-1]))
            known = _known_keys(model, location[:-1])
            hint = _under(model, top, str(location[-1])) or did_you_mean(str(location[-1]), known)
            return diagnose("CP201", source.key_at(field), key=location[-1], where=parent, hint=hint)
        case "missing":
            return diagnose("CP202", source.key_at(field), field=shown)
        case "cpu_list":
            return diagnose("CP208", source.value_at(field), field=shown, value=value, **context)
        case "name":
            place = source.key_at(field) if detail["loc"][-1] == "[key]" else source.value_at(field)
            return diagnose("CP207", place, name=value, **context)
        case "pool_size" | "pool_per" | "pool_range" | "pool_bounds" | "rule_switch" | "near_nothing":
            return _layout_mistake(detail["type"], source, field, context)
        case "literal_error" | "enum":
            hint = did_you_mean(str(value), _choices(context))
            return diagnose(
                "CP203",
                source.value_at(field),
                field=shown,
                value=_said(value),
                expected=context["expected"],
                hint=hint,
            )
        case kind:
            expected = _EXPECTED.get(kind) or _bounds(detail, model, location)
            hint = _quotes(kind, value) or f"write {expected}"
            return diagnose(
                "CP203", source.value_at(field), field=shown, value=_said(value), expected=expected, hint=hint
            )


def _layout_mistake(kind: str, source: Source, field: Field, context: dict[str, Any]) -> Diagnostic:
    """What the validators of `pools` found."""
    pool = field[-1]
    match kind:
        case "pool_size":
            return diagnose("CP209", source.key_at(field), pool=pool, given=context["given"])
        case "pool_per":
            return diagnose("CP210", source.value_at((*field, "per")), pool=pool, size=context["size"])
        case "pool_range":
            size = context["size"]
            problem, hint = f"min and max have no meaning beside {size}", f"take out {size}, or these two"
            return diagnose("CP218", source.key_at(field), pool=pool, problem=problem, hint=hint)
        case "pool_bounds":
            problem = f"min is {context['least']}, and max is {context['most']}"
            return diagnose("CP218", source.value_at((*field, "max")), pool=pool, problem=problem, hint="raise max")
        case "rule_switch":
            return diagnose("CP219", source.value_at(field))
        case _:
            return diagnose("CP202", source.value_at(field), field=".".join(map(str, (*field, "class"))))


def _said(value: object) -> str:
    """A value in YAML's words; texts in quotes."""
    match value:
        case None:
            return "empty"
        case bool():
            return str(value).lower()
        case dict():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case _:
            return repr(value)


def _quotes(kind: str, value: object) -> str | None:
    """The remedy where the value is right but for its quotes."""
    if kind == "bool_type" and value in ("true", "false"):
        return f"take the quotes away: {value}"
    if kind == "cpu_list_type" and isinstance(value, int) and not isinstance(value, bool):
        return f'put it in quotes: "{value}"'
    return None


def _under(model: type[Model], top: Field, key: str) -> str | None:
    """The remedy for a key that is known elsewhere in the document, in one or two places."""
    if key.lower() in FOLLOWS_FROM:
        return None
    from cpuplan.model import jsonschema

    whole = jsonschema.of_model(model)
    found: list[str] = []
    todo: list[tuple[Field, dict[str, Any]]] = [(top, whole)]
    for path, schema in todo:
        known = _resolve(schema, whole).get("properties", {})
        if key in known:
            found.append(".".join(map(str, path)))
        if len(path) <= len(top) + 1:
            todo += [((*path, name), each) for name, each in known.items()]
    return f"write it under {' or '.join(found)}" if len(found) in (1, 2) else None


def _choices(context: dict[str, Any]) -> list[str]:
    import re

    return re.findall(r"'([^']*)'", str(context["expected"]))


def _bounds(detail: ErrorDetails, model: type[Model], location: Field) -> str:
    """The rule in words for numbers out of range and text that fits no pattern."""
    context = detail.get("ctx", {})
    match detail["type"]:
        case "greater_than_equal":
            return f"at least {context['ge']}"
        case "less_than_equal":
            return f"at most {context['le']}"
        case "string_pattern_mismatch":
            examples = _schema_at(model, location).get("examples")
            return f"text such as {examples[0]}" if examples else f"text of the form {context['pattern']}"
        case "too_short":
            return "a list with at least one item"
        case _:
            return detail["msg"][0].lower() + detail["msg"][1:]


def _known_keys(model: type[Model], location: Field) -> list[str]:
    return list(_schema_at(model, location).get("properties", ()))


def _schema_at(model: type[Model], location: Field) -> dict[str, Any]:
    """The JSON Schema of the value at `location`: what an editor would know there."""
    from cpuplan.model import jsonschema

    whole = jsonschema.of_model(model)
    schema: dict[str, Any] = whole
    for part in location:
        schema = _resolve(schema, whole)
        if isinstance(part, int):
            schema = schema.get("items", {})
        else:
            schema = schema.get("properties", {}).get(part) or schema.get("additionalProperties") or {}
        if not isinstance(schema, dict):
            return {}
    return _resolve(schema, whole)


def _resolve(schema: dict[str, Any], whole: dict[str, Any]) -> dict[str, Any]:
    """Follow references, and take the mapping (else the first) of several forms."""
    while True:
        if "$ref" in schema:
            schema = whole["$defs"][schema["$ref"].rsplit("/", 1)[1]]
        elif "anyOf" in schema:
            forms = [_resolve(form, whole) for form in schema["anyOf"]]
            schema = next((form for form in forms if "properties" in form), forms[0])
        else:
            return schema

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
    "string_type": "text",
    "string_too_short": "text that is not empty",
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "tuple_type": "a list",
    "list_type": "a list",
    "too_short": "a list with at least one item",
    "cpu_list_type": "a CPU list such as 0-3,8",
    "none_required": "left out",
}
#: Mappings that may be written shorter -> what they are written as.
_SHORT_FORMS = {
    "Pool": "a CPU list such as 0-3,8, rest, or a mapping such as {cores: 2}",
    "Isolated": "a CPU list such as 0-3,8, rest, or a mapping such as {cores: 2}",
    "Near": "the name of a device, or a mapping with device, class or driver",
}


#: Patterns in words, by model.
_FORMS: dict[type[Model], dict[str, str]] = {}


def diagnostics_of(error: ValidationError, model: type[Model], source: Source, field: Field) -> list[Diagnostic]:
    """One diagnostic for each of pydantic's errors, at the place of the value or key that caused it."""
    details = error.errors(include_url=False)
    return [_diagnostic(detail, model, source, field) for detail in details if not _is_short_of_good_items(detail)]


def _is_short_of_good_items(detail: ErrorDetails) -> bool:
    """Whether a list is long enough, and only its items are wrong: pydantic's core counts those that are right."""
    return detail["type"] == "too_short" and len(detail["input"]) >= detail["ctx"]["min_length"]


def _diagnostic(detail: ErrorDetails, model: type[Model], source: Source, top: Field) -> Diagnostic:
    location = _location(detail)
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
            expected = context["expected"].replace("True", "true")
            hint = (
                did_you_mean(str(value), _choices(context))
                if _choices(context)
                else f"write {expected}, or take it out"
            )
            return diagnose(
                "CP203", source.value_at(field), field=shown, value=_said(value), expected=expected, hint=hint
            )
        case _:
            return _wrong_value(detail, model, source, field)


def _wrong_value(detail: ErrorDetails, model: type[Model], source: Source, field: Field) -> Diagnostic:
    """The value, the rule, and what to write instead."""
    expected, value = _rule(detail, model), detail["input"]
    shown, place = ".".join(map(str, field)), source.value_at(field)
    if detail["loc"][-1:] == ("[key]",):
        shown, place = f"a key of {'.'.join(map(str, field[:-1]))}", source.key_at(field)
    hint = _instead(detail) or f"write {expected}{_such_as(detail, model)}"
    return diagnose("CP203", place, field=shown, value=_said(value), expected=expected, hint=hint)


def _location(detail: ErrorDetails) -> Field:
    """The way to the value, below the model's mapping."""
    return tuple(part for part in detail["loc"] if part != "[key]")


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


def _instead(detail: ErrorDetails) -> str | None:
    """The remedy where the value tells what was meant: `write "1.33"` for v1.33."""
    from cpuplan.load import mends

    value, context = detail["input"], detail.get("ctx", {})
    is_plain = isinstance(value, str | int)
    match detail["type"]:
        case "bool_type" | "int_type" if isinstance(value, str) and _is_scalar(detail["type"], value):
            return f"take the quotes away: {value}"
        case "string_type" if is_plain:
            return f'put it in quotes: "{_said(value)}"'
        case "string_type" if isinstance(value, list | tuple) and len(value) == 1 and isinstance(value[0], str):
            return f"write it without brackets: {value[0]}"
        case "cpu_list_type" if isinstance(value, int) and not isinstance(value, bool):
            return f'put it in quotes: "{value}"'
        case "cpu_list_type" | "model_type" | "model_attributes_type":
            may_be = detail["type"] == "cpu_list_type" or context.get("class_name") in ("Pool", "Isolated")
            cpus = mends.cpu_list(value) if may_be else None
            return f'write "{cpus}"' if cpus else None
        case "tuple_type" if is_plain:
            return f"write it as a list: [{_said(value)}]"
        case "string_pattern_mismatch":
            return _other_text(value, context["pattern"], in_list=isinstance(detail["loc"][-1], int))
    return None


def _such_as(detail: ErrorDetails, model: type[Model]) -> str:
    """An example, or some keys, where the rule has none."""
    known = _schema_at(model, _location(detail))
    if detail["type"] == "string_type" and (examples := known.get("examples")):
        return f" such as {examples[0]}"
    if detail["type"] == "model_type" and detail.get("ctx", {}).get("class_name") not in _SHORT_FORMS:
        keys = list(known.get("properties", ()))
        return f" with keys such as {' and '.join(keys[:2])}" if keys else ""
    return ""


def _is_scalar(kind: str, text: str) -> bool:
    return text in ("true", "false") if kind == "bool_type" else text.removeprefix("-").isdecimal()


def _other_text(value: str, pattern: str, *, in_list: bool) -> str | None:
    from cpuplan.load import mends

    if in_list and (words := mends.words(value, pattern)):
        return f"write an item for each: {', '.join(words)}"
    if text := mends.of_text(value, pattern):
        return f'write "{text}"'
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


def _rule(detail: ErrorDetails, model: type[Model]) -> str:
    """What the value must be, in words."""
    kind, context = detail["type"], detail.get("ctx", {})
    match kind:
        case "greater_than_equal":
            return f"at least {context['ge']}"
        case "less_than_equal":
            return f"at most {context['le']}"
        case "model_type" | "model_attributes_type":
            return _SHORT_FORMS.get(context.get("class_name", ""), "a mapping")
        case "string_pattern_mismatch":
            return _forms(model).get(context["pattern"], "text of another form")
        case _:
            return _EXPECTED.get(kind) or detail["msg"][0].lower() + detail["msg"][1:]


def _forms(model: type[Model]) -> dict[str, str]:
    if model not in _FORMS:
        from cpuplan.model import coreschema

        _FORMS[model] = coreschema.forms(model)
    return _FORMS[model]


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

"""What is wrong with a value, in words: the rule that it breaks, and what to write instead."""

from typing import Any

from pydantic_core import ErrorDetails

from cpuplan.base.text import did_you_mean
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Field, Source
from cpuplan.language.model.base import PATTERNS, Model
from cpuplan.language.read import mends
from cpuplan.language.read.shapes import schema_at

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
    "Reserved": "a CPU list such as 0-3,8, rest, or a mapping such as {cores: 2}",
    "Isolated": "a CPU list such as 0-3,8, rest, or a mapping such as {cores: 2}",
    "Partition": "a CPU list such as 0-3,8, rest, or a mapping such as {cores: 2}",
    "Near": "the name of a device, or a mapping with device, class or driver",
}


#: More choices are named once, in the remedy.
_MANY = 8


def wrong_value(
    detail: ErrorDetails, model: type[Model], source: Source, field: Field
) -> Diagnostic:
    """The value, the rule, and what to write instead."""
    expected, value = _rule(detail, model), detail["input"]
    shown, place = ".".join(map(str, field)), source.value_at(field)
    if detail["loc"][-1:] == ("[key]",):
        shown, place = f"a key of {'.'.join(map(str, field[:-1]))}", source.key_at(field)
    hint = _instead(detail) or f"write {expected}{_such_as(detail, model)}"
    return diagnose("CP203", place, field=shown, value=_said(value), expected=expected, hint=hint)


def wrong_choice(detail: ErrorDetails, source: Source, field: Field) -> Diagnostic:
    """The value, what there is to choose from, and the choice that was perhaps meant."""
    value, expected = detail["input"], detail["ctx"]["expected"].replace("True", "true")
    choices = _choices(detail["ctx"])
    hint = did_you_mean(str(value), choices) if choices else f"write {expected}, or remove it"
    if len(choices) > _MANY:
        expected = f"one of {len(choices)} names"
    shown = ".".join(map(str, field))
    return diagnose(
        "CP203",
        source.value_at(field),
        field=shown,
        value=_said(value),
        expected=expected,
        hint=hint,
    )


def location_of(detail: ErrorDetails) -> Field:
    """The way to the value, below the model's mapping."""
    return tuple(part for part in detail["loc"] if part != "[key]")


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
    """The remedy if the value shows what was meant: `write "1.33"` for v1.33."""
    value, context = detail["input"], detail.get("ctx", {})
    is_plain = isinstance(value, str | int)
    match detail["type"]:
        case "bool_type" | "int_type" if isinstance(value, str) and _is_scalar(
            detail["type"], value
        ):
            return f"remove the quotes: {value}"
        case "string_type" if is_plain:
            return f'quote it: "{_said(value)}"'
        case "string_type" if (
            isinstance(value, list | tuple) and len(value) == 1 and isinstance(value[0], str)
        ):
            return f"write it without brackets: {value[0]}"
        case "cpu_list_type" if isinstance(value, int) and not isinstance(value, bool):
            return f'quote it: "{value}"'
        case "cpu_list_type" | "model_type" | "model_attributes_type":
            may_be = detail["type"] == "cpu_list_type" or context.get("class_name") in (
                "Pool",
                "Isolated",
                "Partition",
                "Reserved",
            )
            cpus = mends.cpu_list(value) if may_be else None
            return f'write "{cpus}"' if cpus else None
        case "tuple_type" if is_plain:
            return f"write it as a list: [{_said(value)}]"
        case "string_pattern_mismatch":
            return _other_text(
                value, context["pattern"], in_list=isinstance(detail["loc"][-1], int)
            )
    return None


def _such_as(detail: ErrorDetails, model: type[Model]) -> str:
    """An example, or some keys, where the rule has none."""
    known = schema_at(model, location_of(detail))
    if detail["type"] == "string_type" and (examples := known.get("examples")):
        return f" such as {examples[0]}"
    if (
        detail["type"] == "model_type"
        and detail.get("ctx", {}).get("class_name") not in _SHORT_FORMS
    ):
        keys = list(known.get("properties", ()))
        return f" with keys such as {' and '.join(keys[:2])}" if keys else ""
    return ""


def _is_scalar(kind: str, text: str) -> bool:
    return text in ("true", "false") if kind == "bool_type" else text.removeprefix("-").isdecimal()


def _other_text(value: str, pattern: str, *, in_list: bool) -> str | None:
    if in_list and (words := mends.words(value, pattern)):
        return f"write an item for each: {', '.join(words)}"
    if text := mends.of_text(value, pattern):
        return f'write "{text}"'
    return None


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
            return PATTERNS[context["pattern"]]
        case _:
            return _EXPECTED.get(kind) or detail["msg"][0].lower() + detail["msg"][1:]

"""What pydantic refused, in cpuplan's words, with a proposal: imported only when it did."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from cpuplan.base.cpuset import CpuSet, CpuSetError, union
from cpuplan.base.text import did_you_mean
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Field, Source
from cpuplan.language.model.base import PATTERNS, Model
from cpuplan.language.read.keys import Unknown, schema_at, unknown


def _unit(match: re.Match[str]) -> str:
    """`gb` as G, `MIB` as Mi, `kb` as k."""
    letter = match[1].upper()
    return f"{letter}i" if match[2] else letter.replace("K", "k")


#: Changes that keep what a text says whatever it is for.
_HARMLESS: tuple[Callable[[str], str], ...] = (
    str.strip,
    lambda text: text.strip("'\"").strip(),
    lambda text: re.sub(r"\s*=\s*", "=", text.strip()),  # audit = 0
)
#: Changes of a text, made one by one and in twos until the field takes the result.
_CHANGES: tuple[Callable[[str], str], ...] = (
    *_HARMLESS,
    str.lower,
    lambda text: re.sub(r"^[vV](?=[0-9])", "", text),  # v1.33
    lambda text: ".".join(text.split(".")[:2]),  # 1.33.4
    lambda text: re.sub(r"(?i)(?<=[0-9])\s*([kmgtpe])(i?)b?\Z", _unit, text),  # 16 GB
    lambda text: re.sub(r"(?<=[kKMG])i\Z", "", text),  # 2Mi
    lambda text: f"{text}s",  # 5
    lambda text: f"0x{text}",  # 8086
    lambda text: f"0000:{text}",  # 17:00.0
    lambda text: f"https://{text}",  # git.example.com/cpus
    lambda text: re.sub(r"\s*([,-])\s*|\s+", lambda match: match[1] or ",", text.strip()),  # 0-3, 8
    lambda text: text.rstrip("/").rpartition("/")[2],  # ../x
    lambda text: re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-"),  # my_cluster
)


def suggested_text(value: str, pattern: str) -> str | None:
    """The value with as few changes as make it fit the pattern; None if nothing helps."""
    if not value.strip():
        return None
    fits = _fits(pattern)
    # what takes nearly any word says nothing of what was meant
    changes = _HARMLESS if fits("A9.z") else _CHANGES
    texts = {value: None}
    for _ in range(2):
        texts |= dict.fromkeys(change(text) for text in texts for change in changes)
        if mended := next((text for text in texts if text and text != value and fits(text)), None):
            return mended
    return None


def fitting_words(value: str, pattern: str) -> list[str]:
    """The words of a text that has several, if each of them would fit the pattern by itself."""
    words_of_text = re.sub(r"\s*=\s*", "=", value).split()
    return (
        words_of_text if len(words_of_text) > 1 and all(map(_fits(pattern), words_of_text)) else []
    )


def _fits(pattern: str) -> Callable[[str], object]:
    return re.compile(pattern.removesuffix("$") + r"\Z").match


def suggested_cpu_list(value: Any) -> str | None:
    """The text for a list of numbers and ranges: `[4, 5]` is 4-5."""
    items = value if isinstance(value, list | tuple) else ()
    if not items or any(
        isinstance(item, bool) or not isinstance(item, int | str) for item in items
    ):
        return None
    try:
        return str(union(CpuSet.parse_kernel(str(item).replace(" ", "")) for item in items))
    except CpuSetError:
        return None


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
            cpus = suggested_cpu_list(value) if may_be else None
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
    if in_list and (words := fitting_words(value, pattern)):
        return f"write an item for each: {', '.join(words)}"
    if text := suggested_text(value, pattern):
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


def diagnostics_of(
    error: ValidationError,
    model: type[Model],
    source: Source,
    field: Field,
    elsewhere: Iterable[str] = (),
) -> list[Diagnostic]:
    """One diagnostic for each of pydantic's errors, at the value or key that caused it.

    What is only missing because its key is misspelt, or stands in another mapping or `elsewhere`,
    is not reported again.
    """
    details = [
        detail for detail in error.errors(include_url=False) if not _is_short_of_good_items(detail)
    ]
    keys: dict[Field, Unknown] = {}
    for location in (
        location_of(detail) for detail in details if detail["type"] == "extra_forbidden"
    ):
        keys[location] = unknown(model, field, location)
    meant: set[Field] = {(key,) for key in elsewhere}
    meant.update(*(key.meant for key in keys.values()))
    return [
        _diagnostic(detail, model, source, field, keys)
        for detail in details
        if detail["type"] != "missing" or location_of(detail) not in meant
    ]


def _is_short_of_good_items(detail: ErrorDetails) -> bool:
    """Whether a list is long enough, as pydantic-core counts the valid items only."""
    return detail["type"] == "too_short" and len(detail["input"]) >= detail["ctx"]["min_length"]


def _diagnostic(
    detail: ErrorDetails,
    model: type[Model],
    source: Source,
    top: Field,
    keys: Mapping[Field, Unknown],
) -> Diagnostic:
    location = location_of(detail)
    field = (*top, *location)
    shown = ".".join(map(str, field))
    context: dict[str, Any] = detail.get("ctx", {})
    value = detail["input"]
    match detail["type"]:
        case "extra_forbidden":
            parent = ".".join(map(str, field[:-1]))
            return diagnose(
                "CP201",
                source.key_at(field),
                key=location[-1],
                where=parent,
                hint=keys[location].hint,
            )
        case "missing":
            return diagnose("CP202", source.key_at(field), field=shown)
        case "cpu_list":
            return diagnose("CP208", source.value_at(field), field=shown, value=value, **context)
        case "name":
            place = source.key_at(field) if detail["loc"][-1] == "[key]" else source.value_at(field)
            return diagnose("CP207", place, name=value, **context)
        case (
            "pool_size"
            | "pool_per"
            | "pool_useless"
            | "pool_steps"
            | "pool_range"
            | "pool_bounds"
            | "rule_switch"
            | "near_nothing"
        ):
            return _layout_mistake(detail["type"], source, field, context)
        case "workload_size":
            return diagnose("CP318", source.value_at(field))
        case "literal_error" | "enum":
            return wrong_choice(detail, source, field)
        case _:
            return wrong_value(detail, model, source, field)


def _layout_mistake(kind: str, source: Source, field: Field, context: dict[str, Any]) -> Diagnostic:
    """What the validators of `pools` found."""
    pool = field[-1]
    match kind:
        case "pool_size":
            return diagnose("CP209", source.key_at(field), pool=pool, given=context["given"])
        case "pool_per":
            key = context["key"]
            return diagnose(
                "CP210", source.value_at((*field, key)), pool=pool, key=key, size=context["size"]
            )
        case "pool_useless":
            key = context["key"]
            return diagnose(
                "CP316", source.key_at((*field, key)), pool=pool, key=key, other=context["other"]
            )
        case "pool_steps":
            index = context["number"] - 1
            return diagnose("CP317", source.value_at((*field, index)), pool=field[-2], **context)
        case "pool_range":
            size = context["size"]
            problem, hint = (
                f"min and max have no effect with {size}",
                f"remove {size}, or min and max",
            )
            return diagnose("CP218", source.key_at(field), pool=pool, problem=problem, hint=hint)
        case "pool_bounds":
            problem = f"min is {context['least']}, and max is {context['most']}"
            return diagnose(
                "CP218",
                source.value_at((*field, "max")),
                pool=pool,
                problem=problem,
                hint="raise max",
            )
        case "rule_switch":
            return diagnose("CP219", source.value_at(field))
        case _:
            return diagnose(
                "CP202", source.value_at(field), field=".".join(map(str, (*field, "class")))
            )

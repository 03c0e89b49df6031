"""What pydantic found wrong, in cpuplan's words: only imported when something is."""

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Field, Source
from cpuplan.language.model.base import Model
from cpuplan.language.read import values
from cpuplan.language.read.keys import Unknown, unknown


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
        values.location_of(detail) for detail in details if detail["type"] == "extra_forbidden"
    ):
        keys[location] = unknown(model, field, location)
    meant: set[Field] = {(key,) for key in elsewhere}
    meant.update(*(key.meant for key in keys.values()))
    return [
        _diagnostic(detail, model, source, field, keys)
        for detail in details
        if detail["type"] != "missing" or values.location_of(detail) not in meant
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
    location = values.location_of(detail)
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
            return values.wrong_choice(detail, source, field)
        case _:
            return values.wrong_value(detail, model, source, field)


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

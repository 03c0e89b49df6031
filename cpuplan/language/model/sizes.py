"""Sizes of pools: devices that a size is for, and steps (pydantic)."""

from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    WithJsonSchema,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from cpuplan.language.model.base import Model, matching, problem
from cpuplan.language.model.document import Line, Listed

#: The sizes of a pool: the attribute of each key.
SIZES = {
    "cpus": "cpus",
    "count": "count",
    "cores": "cores",
    "wholeCaches": "whole_caches",
    "percent": "percent",
    "steps": "steps",
    "rest": "rest",
}
_PERCENTAGE = r"^(100|[0-9]{1,2}(\.[0-9]{1,4})?)$"
#: The sizes that are shares of a number of CPUs.
SHARES = ("percent", "steps")


def _near_shorthand(value: object) -> object:
    """`near: ens1f0` names a device."""
    return {"device": value} if isinstance(value, str) else value


class Near(Model):
    """Devices that match all of these fields."""

    device: Line | None = Field(default=None, description="a network interface, or a PCI address")
    device_class: Literal["network", "gpu", "accelerator", "storage", "other"] | None = Field(
        default=None, alias="class", description="devices of this class"
    )
    driver: Line | None = Field(
        default=None, description="devices of this kernel driver", examples=["ice"]
    )

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        """Find what contradicts itself."""
        if not self.model_fields_set:
            raise problem("near_nothing", "names no device")
        return self

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Editors must know the short form too."""
        mapping = handler.resolve_ref_schema(handler(core_schema))
        return {"anyOf": [mapping, {"type": "string", "description": "a device's name or address"}]}


DeviceSelector = Annotated[Near, BeforeValidator(_near_shorthand)]


def _number_as_text(value: object) -> object:
    """`6` says the same as `"6"`; fractions are text, since YAML would make them inexact."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Percentage = Annotated[
    str,
    matching(
        _PERCENTAGE,
        'a percentage from 0 to 100, such as 6 or "0.25"',
        "0.25",
    ),
    BeforeValidator(_number_as_text),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": _PERCENTAGE},
                {"type": "integer", "minimum": 0, "maximum": 100},
            ],
            "examples": ["0.25"],
        }
    ),
]


class Step(Model):
    """A share of the next CPUs."""

    cpus: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="of this many further CPUs; default: of all that are left"
    )
    percent: Percentage = Field(description="this share of them")


def _ends_once(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Only the last step may be about all CPUs that are left."""
    for number, step in enumerate(steps[:-1], 1):
        if step.cpus is None:
            raise problem("pool_steps", "{number}", {"number": number})
    return steps


Steps = Annotated[tuple[Step, ...], Field(min_length=1), Listed, AfterValidator(_ends_once)]

"""The JSON Schemas of models: made where they are asked for."""

from functools import cache
from typing import Any

from cpuplan.language.model.base import Model


@cache
def of_model(model: type[Model]) -> dict[str, Any]:
    """The schema as pydantic makes it: draft 2020-12, definitions in `$defs`. Do not change it."""
    return model.model_json_schema()

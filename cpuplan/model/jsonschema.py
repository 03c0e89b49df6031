"""The JSON Schemas of models: only imported where they are asked for."""

import inspect
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from cpuplan.model import coreschema
from cpuplan.model.base import Model


class _Generator(GenerateJsonSchema):
    """pydantic's own, which knows of models what pydantic's classes have."""

    def model_schema(self, schema: Any) -> dict[str, Any]:
        """The mapping of a model, and its short forms."""
        model: type[Model] = schema["cls"]
        mapping = self.generate_inner(schema["schema"])
        about = {
            "description": _flowing(inspect.cleandoc(model.__doc__ or "")),
            "additionalProperties": False,
        }
        return model.short_forms({**mapping, **about})


_SCHEMAS: dict[type[Model], dict[str, Any]] = {}


def of_model(model: type[Model]) -> dict[str, Any]:
    """The schema as pydantic makes them: draft 2020-12, definitions in `$defs`. It is kept: do not
    change it.
    """
    if model not in _SCHEMAS:
        _SCHEMAS[model] = _Generator().generate(coreschema.of_model(model))
    return _SCHEMAS[model]


def _flowing(text: str) -> str:
    """Paragraphs without their line ends, which only the source's width asked for."""
    return "\n\n".join(" ".join(part.split("\n")) for part in text.split("\n\n"))

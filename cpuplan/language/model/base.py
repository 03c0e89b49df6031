"""The class that mappings of the input documents are made from."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError


class Model(BaseModel):
    """A mapping of a document: camelCase in YAML, unknown keys refused, never changed once read."""

    # `strict`: `"3"` is not a number. `defer_build`: a command pays only for the models that it
    # reads.
    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        defer_build=True,
    )


#: The patterns of all models' texts, in words.
PATTERNS: dict[str, str] = {}


@cache
def attributes(model: type[Model]) -> dict[str, str]:
    """The names of a model's fields by their keys, as YAML has them. Do not change it."""
    return {field.alias or name: name for name, field in model.model_fields.items()}


def has_key(mapping: Model, key: str) -> bool:
    """Whether a mapping has a key itself, and not a default for it."""
    return attributes(type(mapping))[key] in mapping.model_fields_set


def matching(pattern: str, words: str, *examples: str) -> Any:
    """The field of a text with a pattern, which messages and editors say in words."""
    PATTERNS[pattern] = words
    return Field(
        pattern=pattern,
        examples=list(examples) or None,
        json_schema_extra={"patternErrorMessage": words},
    )


def problem(kind: str, text: str, context: Mapping[str, Any] | None = None) -> Exception:
    """What a check raises; `read.mistakes` knows it by its kind."""
    return PydanticCustomError(kind, text, dict(context or {}))

"""What is said of a field beside its type."""

from collections.abc import Callable, Mapping
from typing import Any

#: Stands for the default of a field that must be written.
REQUIRED: Any = object()


class FieldInfo:
    """A field's default and name; `limits` and `shown` by the names that pydantic's core and JSON
    Schema have.
    """

    # No tuple, as types with one in `Annotated` must be hashable.
    __slots__ = ("alias", "default", "default_factory", "limits", "shown")

    def __init__(
        self,
        default: Any = REQUIRED,
        default_factory: Callable[[], Any] | None = None,
        alias: str = "",
        limits: Mapping[str, Any] | None = None,
        shown: Mapping[str, Any] | None = None,
    ) -> None:
        self.default = default
        self.default_factory = default_factory
        self.alias = alias
        self.limits = limits or {}
        self.shown = shown or {}

    @property
    def is_required(self) -> bool:
        """Whether it must be written."""
        return self.default is REQUIRED and self.default_factory is None

    def left_out(self) -> Any:
        """Its value where it is left out."""
        return self.default_factory() if self.default_factory else self.default


def Field(  # noqa: N802, PLR0913 - the name by which declarations like these are read everywhere
    default: Any = REQUIRED,
    *,
    default_factory: Callable[[], Any] | None = None,
    alias: str = "",
    pattern: str | None = None,
    form: str | None = None,
    ge: int | None = None,
    le: int | None = None,
    min_length: int | None = None,
    description: str | None = None,
    examples: list[str] | None = None,
) -> Any:
    """A field's default, name and limits: as its value in the class, or in `Annotated` for a type
    that has limits.

    `form` is the pattern in words, with an example: what messages say, and editors too
    (`patternErrorMessage`).
    """
    limits = {"pattern": pattern, "ge": ge, "le": le, "min_length": min_length}
    shown = {"description": description, "examples": examples, "patternErrorMessage": form}
    return FieldInfo(default, default_factory, alias, _given(limits), _given(shown))


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


class Before:
    """In `Annotated`: changes what is written, such as a short form, before it is checked."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function


class JsonForm:
    """In `Annotated`: what editors are told instead of what is checked."""

    __slots__ = ("json_schema",)

    def __init__(self, json_schema: Mapping[str, Any]) -> None:
        self.json_schema = json_schema


class ReadBy(JsonForm):
    """In `Annotated`: reads what is written all by itself; raises what `problem` makes."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[[Any], Any], json_schema: Mapping[str, Any]) -> None:
        super().__init__(json_schema)
        self.function = function


def problem(kind: str, text: str, context: Mapping[str, Any] | None = None) -> Exception:
    """What a check raises; `read.mistakes` knows it by its kind."""
    from pydantic_core import PydanticCustomError

    return PydanticCustomError(kind, text, dict(context or {}))

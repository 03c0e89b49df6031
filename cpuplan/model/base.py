"""The class that mappings of the input documents are made from."""

from collections.abc import Mapping
from inspect import get_annotations
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, dataclass_transform

from cpuplan.model.fields import REQUIRED, Field, FieldInfo

if TYPE_CHECKING:
    from pydantic_core import SchemaSerializer, SchemaValidator


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(Field,))
class Model:
    """A mapping of a document: camelCase in YAML, unknown keys refused, never changed once read.

    A class may have a method `verify() -> None`, which checks what no field can be checked for by
    itself, and raises what `fields.problem` makes. The other methods are named as those of
    pydantic's own models are.
    """

    # Where pydantic's core puts what it has read.
    __slots__ = (
        "__dict__",
        "__pydantic_extra__",
        "__pydantic_fields_set__",
        "__pydantic_private__",
    )

    #: By name, those of the classes above it too.
    model_fields: ClassVar[Mapping[str, FieldInfo]] = {}
    annotations: ClassVar[Mapping[str, Any]] = {}

    def __init_subclass__(cls) -> None:
        """Take the fields out of the class, where defaults would hide what is missing."""
        own = get_annotations(cls)
        cls.annotations = {**cls.annotations, **own}
        cls.model_fields = {**cls.model_fields, **{name: _take_field(cls, name) for name in own}}

    def __init__(self, /, **values: Any) -> None:
        _validator(type(self)).validate_python(values, self_instance=self)

    def __setattr__(self, name: str, _value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__}.{name} does not change")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *self.__dict__.values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items())})"

    @property
    def model_fields_set(self) -> set[str]:
        """The fields that are written, and no defaults."""
        written: set[str] = self.__pydantic_fields_set__  # type: ignore[attr-defined]  # set by pydantic's core
        return written

    @classmethod
    def short_forms(cls, schema: dict[str, Any]) -> dict[str, Any]:
        """The JSON Schema of a class that may be written shorter, from that of its mapping."""
        return schema

    @classmethod
    def model_validate(cls, value: object) -> Self:
        """The model of a mapping; raises pydantic_core.ValidationError with everything that is
        wrong.
        """
        model: Self = _validator(cls).validate_python(value)
        return model

    @classmethod
    def model_construct(cls, **values: Any) -> Self:
        """A model of values that are known to be right."""
        fields = cls.model_fields.items()
        return cls._assembled(
            {name: values[name] if name in values else field.left_out() for name, field in fields},
            set(values),
        )

    def model_copy(self, *, update: Mapping[str, Any]) -> Self:
        """The same with other values of some fields, which are known to be right."""
        return self._assembled({**self.__dict__, **update}, self.model_fields_set | set(update))

    @classmethod
    def _assembled(cls, values: dict[str, Any], written: set[str]) -> Self:
        model = cls.__new__(cls)
        object.__setattr__(model, "__dict__", values)
        object.__setattr__(model, "__pydantic_fields_set__", written)
        return model

    def model_dump(self, *, by_alias: bool = False, exclude_none: bool = False) -> dict[str, Any]:
        """As a mapping."""
        serializer = _serializer(type(self))
        dumped: dict[str, Any] = serializer.to_python(
            self, by_alias=by_alias, exclude_none=exclude_none
        )
        return dumped

    def model_dump_json(
        self, *, by_alias: bool = False, exclude_none: bool = False, exclude_unset: bool = False
    ) -> str:
        """As JSON text."""
        serializer = _serializer(type(self))
        return serializer.to_json(
            self, by_alias=by_alias, exclude_none=exclude_none, exclude_unset=exclude_unset
        ).decode()


def _take_field(cls: type[Model], name: str) -> FieldInfo:
    """The field of an annotation of a class, named as in YAML."""
    said = cls.__dict__.get(name, REQUIRED)
    if name in cls.__dict__:
        delattr(cls, name)
    field = said if isinstance(said, FieldInfo) else FieldInfo(said)
    field.alias = field.alias or _camel_case(name)
    return field


def _camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


#: Made when they are first needed, so that a command pays only for what it reads.
_VALIDATORS: "dict[type, SchemaValidator]" = {}
_SERIALIZERS: "dict[type, SchemaSerializer]" = {}


def _validator(model: type) -> "SchemaValidator":
    if model not in _VALIDATORS:
        from pydantic_core import SchemaValidator

        from cpuplan.model import coreschema

        _VALIDATORS[model] = SchemaValidator(coreschema.of_model(model))
    return _VALIDATORS[model]


def _serializer(model: type) -> "SchemaSerializer":
    if model not in _SERIALIZERS:
        from pydantic_core import SchemaSerializer

        from cpuplan.model import coreschema

        _SERIALIZERS[model] = SchemaSerializer(coreschema.of_model(model))
    return _SERIALIZERS[model]

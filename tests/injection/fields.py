"""The texts in the models of all documents, found by walking the models: also new ones."""

from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import PlainValidator

from cpuplan.language.model.base import Model
from cpuplan.language.read.documents import KINDS

_NO_TEXTS = (bool, int, float, type(None))


def texts() -> Iterator[tuple[str, Any]]:
    """Each field that may hold a text, as `Intent.spec.net.devices[].interfaceName`, and its type.

    Keys of mappings are fields of their own (`{}`).
    """
    for kind, model in KINDS.items():
        yield from _of_model(f"{kind}.spec", model, ())


def _of_model(path: str, model: type[Model], above: tuple[type[Model], ...]) -> Iterator[Any]:
    if model in above:
        return
    for name, field in model.model_fields.items():
        given: Any = field.annotation
        if field.metadata:
            given = Annotated[(given, *field.metadata)]
        yield from _of_type(f"{path}.{field.alias or name}", given, (*above, model))


def _of_type(path: str, given: Any, above: tuple[type[Model], ...]) -> Iterator[tuple[str, Any]]:
    origin, inner = get_origin(given), get_args(given)
    if origin is Annotated:
        if _is_leaf(inner[0]) or any(isinstance(each, PlainValidator) for each in inner[1:]):
            yield path, given
        else:
            yield from _of_type(path, inner[0], above)
    elif origin in (Union, UnionType):
        for member in inner:
            yield from _of_type(path, member, above)
    elif origin is tuple:
        yield from _of_type(f"{path}[]", inner[0], above)
    elif origin is dict:
        yield from _of_type(f"{path}{{}}", inner[0], above)
        yield from _of_type(f"{path}{{}}.value", inner[1], above)
    elif isinstance(given, type) and issubclass(given, Model):
        yield from _of_model(path, given, above)
    elif origin is not Literal and given not in _NO_TEXTS:
        yield path, given


def _is_leaf(given: Any) -> bool:
    """Whether a type is neither a number, nor made of others."""
    if given in _NO_TEXTS or get_origin(given) is not None:
        return False
    return not (isinstance(given, type) and issubclass(given, Model))

"""Changes of an intent: in words, and as edits of a class."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from cpuplan.language.model.base import Model, attributes
from cpuplan.language.model.pools import Isolated
from cpuplan.plan import NodeClass

Edit = Callable[[NodeClass], NodeClass]


class Change(NamedTuple):
    """A change in words, and the edit that gives a class the changed intent."""

    text: str
    edit: Edit
    field: str = ""  # of the number that it changes
    parts: tuple["Change", ...] = ()  # of a change of several statements


def setting(field: str, **update: Any) -> Edit:
    """The edit that gives the mapping at `field` other values."""
    return lambda node_class: edited(node_class, field, **update)


def all_of(node_class: NodeClass, edits: Iterable[Edit]) -> NodeClass:
    """Several edits, one after the other."""
    for edit in edits:
        node_class = edit(node_class)
    return node_class


def edited(node_class: NodeClass, field: str, **update: Any) -> NodeClass:
    """The class whose intent has other values in the mapping at `field`, a path as in YAML."""
    return node_class.saying(_edit(node_class.spec, field.split("."), update))


def _edit(value: Any, path: Sequence[str], update: dict[str, Any]) -> Any:
    if value is None:
        value = Isolated(rest=True)  # the one pool that exists without a statement
    if not path:
        return value.model_copy(update=update)
    key, *rest = path
    if isinstance(value, dict):
        return value | {key: _edit(value[key], rest, update)}
    if isinstance(value, tuple):
        index = int(key)
        return (*value[:index], _edit(value[index], rest, update), *value[index + 1 :])
    model: type[Model] = type(value)
    name = attributes(model)[key]
    return value.model_copy(update={name: _edit(getattr(value, name), rest, update)})


def short(field: str) -> str:
    """`pools.shared` as people write it: `shared`."""
    return field.removeprefix("pools.")

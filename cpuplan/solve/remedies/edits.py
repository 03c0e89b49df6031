"""Changes of an intent: in words, and done."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from cpuplan.model.pools import Isolated
from cpuplan.plan import NodeClass


class Change(NamedTuple):
    """A change in words, and what it makes of a class: one with the changed intent."""

    text: str
    edit: Callable[[NodeClass], NodeClass]


def setting(field: str, **update: Any) -> Callable[[NodeClass], NodeClass]:
    """The edit that gives the mapping at `field` other values."""
    return lambda node_class: edited(node_class, field, **update)


def all_of(node_class: NodeClass, edits: Iterable[Callable[[NodeClass], NodeClass]]) -> NodeClass:
    """Several edits, one after the other."""
    for edit in edits:
        node_class = edit(node_class)
    return node_class


def edited(node_class: NodeClass, field: str, **update: Any) -> NodeClass:
    """The class whose intent has other values in the mapping at `field`, a path as in YAML."""
    return node_class.saying(_edit(node_class.spec, field.split("."), update))


def _edit(value: Any, path: Sequence[str], update: dict[str, Any]) -> Any:
    if value is None:
        value = Isolated(rest=True)  # the one pool that is there without a word
    if not path:
        return value.model_copy(update=update)
    key, *rest = path
    if isinstance(value, dict):
        return value | {key: _edit(value[key], rest, update)}
    if isinstance(value, tuple):
        return tuple(
            _edit(item, rest, update) if str(at) == key else item for at, item in enumerate(value)
        )
    name = re.sub(r"[A-Z]", lambda capital: "_" + capital[0].lower(), key)
    return value.model_copy(update={name: _edit(getattr(value, name), rest, update)})


def short(field: str) -> str:
    """`pools.shared` as people say it: `shared`."""
    return field.removeprefix("pools.")

"""What components share: their protocol, what is made once for each plan, and shipped texts."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar
from weakref import WeakKeyDictionary

from cpuplan.base.program import resource
from cpuplan.plan import ConfiguredPlan, NodePlan
from cpuplan.plan.setting import Setting, Value

_Rest = ParamSpec("_Rest")
_Made = TypeVar("_Made")


class Component(Protocol):
    """A module of this package: a plan to settings, settings to a file's text, and the text back.

    `parse(render(settings))` gives {key: value} of the same settings.
    """

    NAME: str

    def settings(self, plan: NodePlan) -> Iterator[Setting]: ...

    def render(self, settings: Sequence[Setting]) -> str: ...

    def parse(self, text: str) -> Mapping[str, Value]: ...


def once(
    make: Callable[Concatenate[ConfiguredPlan, _Rest], _Made],
) -> Callable[Concatenate[ConfiguredPlan, _Rest], _Made]:
    """A function that is asked once for each plan, whose settings never change, while that lives.

    A cache of fixed size would forget the first of many classes before the next stage asks.
    """
    known: WeakKeyDictionary[ConfiguredPlan, dict[object, _Made]] = WeakKeyDictionary()

    @wraps(make)
    def ask(plan: ConfiguredPlan, /, *rest: _Rest.args, **named: _Rest.kwargs) -> _Made:
        made, key = known.setdefault(plan, {}), (rest, *named.items())
        if key not in made:
            made[key] = make(plan, *rest, **named)
        return made[key]

    return ask


#: Without quotes, `$`, `%`, backslashes, line ends, and all that ends a word of a shell.
_INERT = re.compile(r"[A-Za-z0-9_.,:/=@+ -]*")


def template(name: str, **values: object) -> str:
    """The text of `templates/<name>` with its gaps filled."""
    return _compiled(name)(values)


def _inert(value: object) -> str:
    """A value for a gap, if it is one line without what units, shells or profiles read.

    Units run as root. The models take no other values; this is the second lock on the door.
    """
    text = str(value)
    if not _INERT.fullmatch(text):
        raise ValueError(f"{text!r} does not belong into a unit or script")
    return text


@cache
def _compiled(name: str) -> Callable[[dict[str, object]], str]:
    """A shipped text as a function of its values; only names that end in .j2 need Jinja."""
    text = resource("templates", name).read_text(encoding="utf-8")
    if not name.endswith(".j2"):
        return lambda _values: text
    from jinja2 import Environment, StrictUndefined

    environment = Environment(  # noqa: S701 - no HTML
        undefined=StrictUndefined, finalize=_inert, keep_trailing_newline=True, trim_blocks=True
    )
    return environment.from_string(text).render

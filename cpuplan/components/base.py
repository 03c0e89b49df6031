"""What components share: their protocol, what is made once for each plan, and shipped texts."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar
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


#: What is filled in: `{{ cpus }}`, or of a mapping one value, `{{ environment.NUMA_NODE }}`.
_GAP = re.compile(r"\{\{ ([a-z]+)(?:\.([A-Z_]+))? \}\}")


def template(name: str, **values: object) -> str:
    """The text of `templates/<name>`; of those that end in .j2 with its gaps filled.

    A line with a gap for a whole mapping stands once for each of its values, as NAME=VALUE. Raises
    KeyError for a gap without a value, and ValueError for a value that does not belong there.
    """
    text = _text(name)
    if not name.endswith(".j2"):
        return text
    filled = "".join(_filled(line, values) for line in text.splitlines(keepends=True))
    if "{" in filled:
        raise ValueError(f"templates/{name} has a gap that is not written as {{{{ name }}}}")
    return filled


def _filled(line: str, values: Mapping[str, Any]) -> str:
    gap = _GAP.search(line)
    given = values[gap[1]] if gap and not gap[2] else None
    if gap and isinstance(given, Mapping):
        pairs = [f"{_inert(key)}={_inert(value)}" for key, value in given.items()]
        return "".join(line.replace(gap[0], pair) for pair in pairs)
    return _GAP.sub(lambda gap: _inert(_value(gap, values)), line)


def _value(gap: re.Match[str], values: Mapping[str, Any]) -> object:
    value: object = values[gap[1]][gap[2]] if gap[2] else values[gap[1]]
    return value


def _inert(value: object) -> str:
    """A value for a gap, if it is one line without what units, shells or profiles read.

    Units run as root. The models take no other values; this is the second lock on the door.
    """
    text = str(value)
    if not _INERT.fullmatch(text):
        raise ValueError(f"{text!r} does not belong into a unit or script")
    return text


@cache
def _text(name: str) -> str:
    return resource("templates", name).read_text(encoding="utf-8")

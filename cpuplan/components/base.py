"""What every component is, and what is made once for each plan."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar
from weakref import WeakKeyDictionary

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

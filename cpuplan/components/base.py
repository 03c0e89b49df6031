"""What every component is."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from cpuplan.plan import NodePlan
from cpuplan.setting import Effect, Setting, Value


class Component(Protocol):
    """A module of this package: a plan to settings, settings to a file's text, and the text back.

    `parse(render(settings))` gives {key: value} of the same settings.
    """

    NAME: str
    #: Of its settings that have none themselves.
    EFFECT: Effect | None

    def settings(self, plan: NodePlan) -> Iterator[Setting]: ...

    def render(self, settings: Sequence[Setting]) -> str: ...

    def parse(self, text: str) -> Mapping[str, Value]: ...

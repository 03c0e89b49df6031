"""What every component is."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from cpuplan.plan import NodePlan
from cpuplan.setting import Setting, Value


class Component(Protocol):
    """A module of this package: turns a plan into settings, settings into a file's text, and the
    text back.

    `parse(render(settings))` gives {key: value} of the same settings.
    """

    NAME: str

    def settings(self, plan: NodePlan) -> Iterator[Setting]: ...

    def render(self, settings: Sequence[Setting]) -> str: ...

    def parse(self, text: str) -> Mapping[str, Value]: ...

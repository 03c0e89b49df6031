"""What is checked: a node's root file system against its plan and settings."""

from collections.abc import Iterable
from typing import NamedTuple

from cpuplan.check.root import Root
from cpuplan.diagnostics import Label, Reason
from cpuplan.plan import ConfiguredPlan
from cpuplan.setting import Setting
from cpuplan.source import Locate, Position


class Subject(NamedTuple):
    """Everything that a step of the check reads."""

    root: Root
    plan: ConfiguredPlan
    locate: Locate

    def place(self, path: str) -> Position:
        """The beginning of a file of the node."""
        return Position(self.root.shown(path), 1, 1)

    def labels(self, reasons: Iterable[Reason]) -> list[Label]:
        """The first statement that a setting comes from, as a place of a diagnostic."""
        for reason in reasons:
            position = self.locate(reason.origin)
            if position:
                return [Label(position, reason.text)]
        return []

    def all_labels(self, settings: Iterable[Setting]) -> list[Label]:
        """The statements that several settings come from, each once."""
        labels = (label for setting in settings for label in self.labels(setting.reasons))
        return list(dict.fromkeys(labels))

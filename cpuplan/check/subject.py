"""What is checked: a node's root file system against its plan and settings."""

from collections.abc import Iterable
from typing import NamedTuple

from cpuplan.check.root import Root
from cpuplan.diagnostics import Label, Reason
from cpuplan.plan import ConfiguredPlan
from cpuplan.setting import Setting
from cpuplan.source import Locate


class Subject(NamedTuple):
    """Everything that a step of the check reads."""

    root: Root
    plan: ConfiguredPlan
    locate: Locate

    def labels(self, reasons: tuple[Reason, ...]) -> list[Label]:
        """The first statement that a setting comes from, as a place of a diagnostic."""
        found = ((self.locate(reason.origin), reason.text) for reason in reasons)
        return [Label(position, text) for position, text in found if position][:1]

    def all_labels(self, settings: Iterable[Setting]) -> list[Label]:
        """The statements that several settings come from, each once."""
        return list(
            dict.fromkeys(label for setting in settings for label in self.labels(setting.reasons))
        )

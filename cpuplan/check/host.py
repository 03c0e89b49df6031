"""The steps of a check, in order: each compares one file or group of files with the settings that it should hold."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from cpuplan.check.root import Root
from cpuplan.components import all_settings
from cpuplan.components.setting import Setting
from cpuplan.diagnostics import Diagnostic, Label, Reason
from cpuplan.plan import NodePlan
from cpuplan.source import Position


class Subject(NamedTuple):
    """What is checked: a node's root file system against its plan and settings."""

    root: Root
    plan: NodePlan
    settings: list[Setting]
    locate: Callable[[str], Position | None]

    def labels(self, reasons: tuple[Reason, ...]) -> list[Label]:
        """The statements that a setting comes from, as places of a diagnostic."""
        found = ((self.locate(reason.origin), reason.text) for reason in reasons)
        return [Label(position, text) for position, text in found if position][:1]


Step = Callable[[Subject], Iterator[Diagnostic]]


def check(root: Root, plan: NodePlan, locate: Callable[[str], Position | None]) -> list[Diagnostic]:
    """Everything in which the node differs from its plan (CP8xx)."""
    from cpuplan.check import boot, crio, kubelet, machine

    steps: tuple[Step, ...] = (
        machine.cpus,
        boot.arguments,
        boot.effects,
        kubelet.configuration,
        crio.configuration,
        crio.mixed_cpus,
    )
    subject = Subject(root, plan, all_settings(plan), locate)
    return [finding for step in steps for finding in step(subject)]

"""The steps of a check, in order: each compares one file or group of files with the settings that it should hold."""

from collections.abc import Callable, Iterator

from cpuplan.check import boot, crio, kubelet, machine
from cpuplan.check.root import Root
from cpuplan.check.subject import Subject
from cpuplan.components import all_settings
from cpuplan.diagnostics import Diagnostic
from cpuplan.plan import NodePlan
from cpuplan.source import Position

Step = Callable[[Subject], Iterator[Diagnostic]]

STEPS: tuple[Step, ...] = (
    machine.cpus,
    boot.arguments,
    boot.effects,
    kubelet.configuration,
    crio.configuration,
    crio.mixed_cpus,
)


def check(root: Root, plan: NodePlan, locate: Callable[[str], Position | None]) -> list[Diagnostic]:
    """Everything in which the node differs from its plan (CP8xx); of a folder that is no root, only that (CP801)."""
    subject = Subject(root, plan, all_settings(plan), locate)
    if not root.names("sys") and root.read(boot.CMDLINE) is None:
        return list(machine.cpus(subject))
    return [finding for step in STEPS for finding in step(subject)]

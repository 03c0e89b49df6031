"""The steps of a check: each compares one file or group of files with its settings."""

from collections.abc import Callable, Iterator

from cpuplan.check import boot, containerd, crio, irqs, kubelet, machine, running, slices, tree
from cpuplan.check.root import Root
from cpuplan.check.subject import Subject
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.plan import ConfiguredPlan
from cpuplan.source import Locate

Step = Callable[[Subject], Iterator[Diagnostic]]

STEPS: tuple[Step, ...] = (
    machine.cpus,
    boot.arguments,
    boot.effects,
    kubelet.configuration,
    crio.configuration,
    crio.traps,
    containerd.configuration,
    containerd.traps,
    crio.mixed_cpus,
    slices.limits,
    slices.partition,
    tree.files,
    running.sysctls,
    running.steering,
    running.profile,
    running.services,
    running.kubelet_folder,
    irqs.placed,
    irqs.balancer,
)


def check(root: Root, plan: ConfiguredPlan, locate: Locate) -> list[Diagnostic]:
    """All differences between a node and its plan (CP8xx); for a folder that is no root, CP801."""
    subject = Subject(root, plan, locate)
    steps = STEPS
    if not root.names("sys") and root.read(boot.CMDLINE) is None and not root.refused:
        steps = (machine.cpus,)
    findings = [finding for step in steps for finding in _run(step, subject)]
    return list(dict.fromkeys(findings))


def _run(step: Step, subject: Subject) -> Iterator[Diagnostic]:
    """The findings of one step, and all that it could not read: that never passes a check."""
    subject.root.refused.clear()
    yield from step(subject)
    for path, problem in sorted(subject.root.refused.items()):
        yield diagnose("CP805", path=path, problem=problem)

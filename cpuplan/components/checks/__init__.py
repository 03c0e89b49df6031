"""What is wrong with a plan before anything is written, by the component that would read it."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from cpuplan.base.modules import Modules
from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.source import Locate
from cpuplan.plan import ConfiguredPlan


class Check(Protocol):
    """A module that knows what is wrong with a plan."""

    def check(self, plan: ConfiguredPlan, locate: Locate) -> Iterable[Diagnostic]:
        """What is wrong; `locate` finds the lines of statements."""


#: By subject, in the order in which they are asked.
CHECKS: Mapping[str, Check] = Modules(
    {
        "caches": "cpuplan.components.checks.machine",
        "kubelet": "cpuplan.components.checks.kubelet",
        "kubelet's view": "cpuplan.components.checks.kubelet",
        "slices": "cpuplan.components.slices",
        "partitions": "cpuplan.components.slices",
        "mixed CPUs": "cpuplan.components.mixedcpus",
        "admission": "cpuplan.components.admission",
        "huge pages": "cpuplan.components.hugepages",
        "kernel": "cpuplan.components.checks.kernel",
        "boot": "cpuplan.components.checks.kernel",
        "NodeResourceTopology": "cpuplan.components.checks.nrt",
        "NRI": "cpuplan.components.checks.nri",
        "DRA": "cpuplan.components.checks.dra",
        "Koordinator": "cpuplan.components.checks.koordinator",
        "containerd": "cpuplan.components.checks.runtimes",
        "runtimes": "cpuplan.components.checks.runtimes",
        "Open vSwitch": "cpuplan.components.openshift.ovsdpdk",
        "host": "cpuplan.components.checks.machine",
        "defaults": "cpuplan.components.checks.releases",
    }
)


def check(plan: ConfiguredPlan, locate: Locate) -> list[Diagnostic]:
    """What a target's release lacks, and settings that contradict the machine or each other."""
    from cpuplan.components.checks import releases

    if unknown := releases.check(plan, locate):
        return unknown
    problems = list(releases.lacking(plan, locate))
    for subject in CHECKS.values():
        problems += subject.check(plan, locate)
    return problems

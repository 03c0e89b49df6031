"""What is wrong with a plan before anything is written, by the component that would read it."""

from cpuplan.components import admission, hugepages, mixedcpus
from cpuplan.components.checks import (
    booted,
    caches,
    containerd,
    defaults,
    dra,
    host,
    kernel,
    koordinator,
    kubelet,
    kubelet_view,
    nri,
    nrt,
    partitions,
    releases,
    runtimes,
    slices,
)
from cpuplan.components.openshift import ovsdpdk
from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.source import Locate
from cpuplan.plan import ConfiguredPlan

#: Each takes a plan and the function that finds the lines of its statements.
CHECKS = (
    releases.lacking,
    caches.check,
    kubelet.check,
    kubelet_view.check,
    slices.check,
    partitions.check,
    mixedcpus.check,
    admission.check,
    hugepages.check,
    kernel.check,
    booted.check,
    nrt.check,
    nri.check,
    dra.check,
    koordinator.check,
    containerd.check,
    runtimes.check,
    ovsdpdk.check,
    host.check,
    defaults.check,
)


def check(plan: ConfiguredPlan, locate: Locate) -> list[Diagnostic]:
    """What a target's release lacks, and settings that contradict the machine or each other."""
    if unknown := releases.check(plan, locate):
        return unknown
    return [diagnostic for check_one in CHECKS for diagnostic in check_one(plan, locate)]

"""What is wrong with a plan before anything is written, by the component that would read it."""

from cpuplan.components import admission, hugepages, mixedcpus, slices
from cpuplan.components.checks import (
    dra,
    kernel,
    koordinator,
    kubelet,
    machine,
    nri,
    nrt,
    releases,
    runtimes,
)
from cpuplan.components.openshift import ovsdpdk
from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.source import Locate
from cpuplan.plan import ConfiguredPlan

#: Each takes a plan and the function that finds the lines of its statements.
CHECKS = (
    releases.lacking,
    machine.check_caches,
    kubelet.check,
    kubelet.check_view,
    slices.check,
    slices.check_partitions,
    mixedcpus.check,
    admission.check,
    hugepages.check,
    kernel.check,
    kernel.check_effects,
    nrt.check,
    nri.check,
    dra.check,
    koordinator.check,
    runtimes.check_containerd,
    runtimes.check_drop_ins,
    ovsdpdk.check,
    machine.check_system,
    releases.check_defaults,
)


def check(plan: ConfiguredPlan, locate: Locate) -> list[Diagnostic]:
    """What a target's release lacks, and settings that contradict the machine or each other."""
    if unknown := releases.check(plan, locate):
        return unknown
    return [diagnostic for check_one in CHECKS for diagnostic in check_one(plan, locate)]

"""Plan to settings, settings to text and back: one module for each thing on a node that must be
told something.
"""

from cpuplan.components import (
    admission,
    crio,
    default_checks,
    hugepages,
    kernel,
    kernel_checks,
    kubelet,
    kubelet_checks,
    kubelet_view,
    mixedcpus,
    nrt,
    releases,
    runtimeclass,
    units,
)
from cpuplan.components.base import Component
from cpuplan.components.openshift import ovsdpdk, pinning, rps, tuned
from cpuplan.diagnostics import Diagnostic
from cpuplan.plan import ConfiguredPlan
from cpuplan.source import Locate

#: All components, in the order in which they are printed.
COMPONENTS: dict[str, Component] = {
    kubelet.NAME: kubelet,
    mixedcpus.NAME: mixedcpus,
    crio.NAME: crio,
    pinning.NAME: pinning,
    runtimeclass.NAME: runtimeclass,
    kernel.NAME: kernel,
    tuned.NAME: tuned,
    ovsdpdk.NAME: ovsdpdk,
    rps.NAME: rps,
    units.NAME: units,
    nrt.NAME: nrt,
}
#: What is looked at before anything is written; each takes a plan and finds the lines of its
#: statements.
CHECKS = (
    releases.lacking,
    kubelet_checks.check,
    kubelet_view.check,
    mixedcpus.check,
    admission.check,
    hugepages.check,
    kernel_checks.check,
    nrt.check,
    ovsdpdk.check,
    default_checks.check,
)


def check(plan: ConfiguredPlan, locate: Locate) -> list[Diagnostic]:
    """What a target's release lacks, and settings that contradict the machine or each other."""
    if unknown := releases.check(plan, locate):
        return unknown
    return [diagnostic for check_one in CHECKS for diagnostic in check_one(plan, locate)]

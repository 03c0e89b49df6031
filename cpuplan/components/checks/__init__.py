"""What is wrong with a plan before anything is written, by the component that would read it."""

from collections.abc import Iterable
from importlib import import_module
from typing import Protocol

from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.source import Locate
from cpuplan.plan import ConfiguredPlan


class Check(Protocol):
    """What knows what is wrong with a plan; `locate` finds the lines of statements."""

    def __call__(self, plan: ConfiguredPlan, locate: Locate) -> Iterable[Diagnostic]: ...


#: A module and its function, in the order in which they are asked; a module loads when it is.
CHECKS: tuple[tuple[str, str], ...] = (
    ("cpuplan.components.checks.releases", "check_provenance"),
    ("cpuplan.components.checks.releases", "check_features"),
    ("cpuplan.components.checks.machine", "check_caches"),
    ("cpuplan.components.checks.kubelet", "check"),
    ("cpuplan.components.checks.kubelet", "check_view"),
    ("cpuplan.components.slices", "check"),
    ("cpuplan.components.slices", "check_partitions"),
    ("cpuplan.components.mixedcpus", "check"),
    ("cpuplan.components.checks.annotations", "check"),
    ("cpuplan.components.admission_rules", "check"),
    ("cpuplan.components.hugepages", "check"),
    ("cpuplan.components.checks.kernel", "check"),
    ("cpuplan.components.checks.kernel", "check_effects"),
    ("cpuplan.components.checks.nrt", "check"),
    ("cpuplan.components.checks.nri", "check"),
    ("cpuplan.components.checks.base", "check_unread_dra"),
    ("cpuplan.components.checks.dra", "check"),
    ("cpuplan.components.checks.base", "check_unread_koordinator"),
    ("cpuplan.components.checks.koordinator", "check"),
    ("cpuplan.components.checks.runtimes", "check_containerd"),
    ("cpuplan.components.checks.runtimes", "check_drop_ins"),
    ("cpuplan.components.checks.hooks", "check"),
    ("cpuplan.components.openshift.ovsdpdk", "check"),
    ("cpuplan.components.checks.machine", "check_system"),
    ("cpuplan.components.checks.releases", "check_defaults"),
)


#: Modules that are asked about targets with this mechanism only, and not loaded for others.
_OF_MECHANISMS = {
    "cpuplan.components.checks.dra": "dra",
    "cpuplan.components.checks.koordinator": "koordinator",
}


def check(plan: ConfiguredPlan, locate: Locate) -> list[Diagnostic]:
    """What a target's release lacks, and settings that contradict the machine or each other."""
    from cpuplan.components.checks import releases

    if unknown := releases.check(plan, locate):
        return unknown
    problems: list[Diagnostic] = []
    mechanism = plan.node_class.target.mechanism
    for module, name in CHECKS:
        if _OF_MECHANISMS.get(module, mechanism) != mechanism:
            continue
        ask: Check = getattr(import_module(module), name)
        problems += ask(plan, locate)
    return problems

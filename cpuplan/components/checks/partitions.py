"""Isolation by partitions where nothing can make them, or where there is nothing to isolate."""

from collections.abc import Iterator

from cpuplan.components import cgroups, crio, isolation
from cpuplan.components.openshift import ovsdpdk
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.plan import NodePlan


def check(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP539."""
    if isolation.by_partitions(plan):
        position = locate(plan.node_class.place("isolation.by"))
        for reason in _reasons(plan):
            yield diagnose("CP539", position, reason=reason)


def _reasons(plan: NodePlan) -> Iterator[str]:
    """Why partitions isolate nothing."""
    spec = plan.spec
    if plan.node_class.target.is_profile:
        yield "a PerformanceProfile cannot express it"
    elif cgroups.is_v1(plan):
        yield "the nodes have control groups version 1"
    elif ovsdpdk.cpus(plan):
        yield "Open vSwitch has a cgroup of its own for the pool isolcpus"
    elif not plan.pool("isolcpus").cpus and not spec.isolation.domain:
        yield "there is no pool isolcpus, and isolation.domain is false"
    if spec.isolation.domain and not crio.has_hooks(plan):
        yield "pods get partitions from CRI-O's hooks, for which runtime.handler must be named"

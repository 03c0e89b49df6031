"""QoS sets that nothing can keep, and CPUs that are kept from pods and still used by some."""

from collections.abc import Iterator

from cpuplan.base.cpuset import CpuSet, cpus_text, union
from cpuplan.components import cgroups, kubelet, slices
from cpuplan.components.openshift import ovsdpdk
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate, Position
from cpuplan.facts.settings.kubelet import CPU_MANAGER_OPTIONS
from cpuplan.plan import NodePlan

#: The pods of each QoS set that have a slice.
_PODS = {"bestEffort": "BestEffort", "other": "Burstable"}


def check(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP526 and CP580 to CP585; nothing where balloons keep the sets (CP590), or Koordinator keeps
    none (CP630).
    """
    if plan.node_class.target.has_other_mechanism:
        return
    yield from _check_hidden(plan, locate)
    if not (plan.pool("bestEffort").cpus or plan.pool("other").cpus):
        return
    unable = list(_check_mechanism(plan, _first(plan, locate), locate))
    yield from unable
    if not unable:
        yield from _check_guaranteed(plan, locate)
        yield from _check_exclusive(plan, locate)
        yield from _check_unused(plan, locate)


def _first(plan: NodePlan, locate: Locate) -> Position | None:
    name = next(name for name in _PODS if plan.pool(name).cpus)
    return _at(plan, name, locate)


def _at(plan: NodePlan, name: str, locate: Locate) -> Position | None:
    return locate(plan.node_class.place(f"qos.{name}"))


def _check_hidden(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CPUs of isolcpus that some pods still use; those of Open vSwitch are CP557."""
    isolcpus = plan.pool("isolcpus").cpus - ovsdpdk.cpus(plan)
    exposed = isolcpus & slices.used_by_guaranteed(plan)
    if exposed:
        field = f"kubelet.{CPU_MANAGER_OPTIONS.head}"
        are = "is" if len(exposed) == 1 else "are"
        position = locate(plan.node_class.place(field))
        yield diagnose("CP526", position, cpus=cpus_text(exposed), are=are)


def _check_mechanism(
    plan: NodePlan, position: Position | None, locate: Locate
) -> Iterator[Diagnostic]:
    """Targets on which slices cannot limit pods."""
    if plan.node_class.target.is_profile:
        yield diagnose("CP582", position)
    elif cgroups.is_v1(plan):
        yield diagnose("CP580", position, cluster=plan.node_class.cluster)
    for field, value in slices.without_slices(plan):
        place = locate(plan.node_class.place(f"kubelet.configuration.{field}"))
        shown = str(value).lower() if isinstance(value, bool) else value
        yield diagnose("CP581", place, field=field, value=shown)


def _check_guaranteed(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """Guaranteed pods without exclusive CPUs, outside of `other`."""
    other = plan.pool("other").cpus
    isolcpus = plan.pool("isolcpus").cpus  # CP526 is about these
    outside = slices.used_by_guaranteed(plan) - other - isolcpus if other else CpuSet()
    if outside:
        yield diagnose("CP583", _at(plan, "other", locate), cpus=cpus_text(outside))


def _check_exclusive(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """Sets of which pods with exclusive CPUs can take every CPU."""
    if not kubelet.is_static(plan):
        return
    hidden = kubelet.reserved_cpus(plan) | plan.pool("shared").cpus
    for name, pods in _PODS.items():
        cpus = plan.pool(name).cpus
        if cpus and cpus.isdisjoint(hidden):
            text = cpus_text(cpus)
            yield diagnose("CP584", _at(plan, name, locate), name=name, cpus=text, pods=pods)


def _check_unused(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CPUs that only one set has, off which strict-cpu-reservation keeps its pods all the same.

    Where a set has no CPU of the default cpuset, the kernel gives its pods all of the set.
    """
    default = kubelet.default_cpus(plan)
    of_system = union(plan.pool(name).cpus for name in ("reserved", "shared"))
    for name, pods in _PODS.items():
        cpus = plan.pool(name).cpus
        unused = cpus - default - of_system
        if unused and cpus & default:
            yield diagnose(
                "CP585",
                _at(plan, name, locate),
                name=name,
                cpus=cpus_text(unused),
                pods=pods,
                used=cpus_text(cpus & default),
            )

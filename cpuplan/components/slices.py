"""Slices of pods: drop-ins whose AllowedCPUs= keep pods on the CPUs of their QoS class, and checks.

systemd applies them to slices that the kubelet makes, and the kernel gives a container what its
cpuset and its slices have in common, or its slice where that is nothing (control groups version 2).
The checks are about sets and partitions that nothing can keep, and CPUs kept from pods in vain.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet, cpus_text, union
from cpuplan.components import chosen, crio, isolation, kubelet
from cpuplan.components.base import template
from cpuplan.components.emission import emit
from cpuplan.components.host import partitions
from cpuplan.components.openshift import ovsdpdk
from cpuplan.diagnostics import Diagnostic, Reason, diagnose
from cpuplan.diagnostics.source import Locate, Position
from cpuplan.facts.settings import host as rows
from cpuplan.facts.settings.kubelet import CPU_MANAGER_OPTIONS
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting, Value
from cpuplan.upstream.crio import releases
from cpuplan.upstream.kubelet.qossets import ALL_PODS, SLICES
from cpuplan.upstream.kubernetes.qos import BEST_EFFORT, BURSTABLE
from cpuplan.upstream.linux import cpu_set_util

NAME = rows.SLICES
#: Later than 50-AllowedCPUs.conf, in which systemd keeps what a program has set.
FILE = "99-cpuplan.conf"
FOLDER = "/etc/systemd/system"
#: The QoS set of each slice.
QOS_SETS = {SLICES[BEST_EFFORT]: "bestEffort", SLICES[BURSTABLE]: "other"}
#: The pods of each QoS set that have a slice.
_PODS = {"bestEffort": "BestEffort", "other": "Burstable"}
#: Fields of KubeletConfiguration, and the values with which pods have slices of these names.
NEEDED: Mapping[str, tuple[Value, ...]] = {
    "cgroupDriver": ("systemd",),
    "cgroupsPerQOS": (True,),
    "cgroupRoot": ("", "/"),
}

_PATH_LINE = re.compile(r"^# (/\S+)\n", re.MULTILINE)
_ALLOWED = re.compile(r"^[ \t]*AllowedCPUs[ \t]*=(.*)$", re.MULTILINE)


class Limit(NamedTuple):
    """The CPUs of a slice, and why."""

    cpus: CpuSet
    because: tuple[Reason, ...]


def settings(plan: NodePlan) -> Iterator[Setting]:
    """The CPUs of each slice that is limited, by its name."""
    for name, limit in limits(plan).items():
        yield from emit(plan, rows.POD_SLICE, limit.cpus, limit.because, slice=name)


def limits(plan: NodePlan) -> dict[str, Limit]:
    """What each slice is limited to; none where slices are no use."""
    if not can_limit(plan):
        return {}
    isolcpus = plan.pool("isolcpus")
    exposed = isolcpus.cpus & kubelet.default_cpus(plan) - partitions.cpus(plan)
    others = plan.topology.online - plan.pool("offlined").cpus - exposed
    made = {}
    if exposed and kubelet.is_static(plan):
        made[ALL_PODS] = Limit(others, isolcpus.because)
    for name, set_name in QOS_SETS.items():
        pool = plan.pool(set_name)
        if pool.cpus:
            made[name] = Limit(pool.cpus, pool.because)
        elif exposed:
            made[name] = Limit(others, isolcpus.because)
    return made


def can_limit(plan: NodePlan) -> bool:
    """Whether slices are written, and hold: not in a PerformanceProfile, nor with version 1.

    Balloons keep the sets themselves, and pods of a partition may be of any QoS class; koordlet
    writes the same control groups.
    """
    target = plan.node_class.target
    return not (
        target.has_other_mechanism
        or target.is_profile
        or chosen.has_cgroups_v1(plan)
        or any(without_slices(plan))
    )


def without_slices(plan: NodePlan) -> Iterator[tuple[str, Value]]:
    """(field, value) of the kubelet's configuration by which pods have no slices of these names."""
    for field, values in NEEDED.items():
        value = plan.spec.kubelet.configuration.get(field, _usual(plan, field))
        if value not in values:
            yield field, value


def _usual(plan: NodePlan, field: str) -> Value:
    """What the kubelet has where the intent does not say it."""
    values = {"cgroupDriver": plan.node_class.platform.cgroup_driver}
    return values.get(field, NEEDED[field][0])


def used_by_guaranteed(plan: NodePlan) -> CpuSet:
    """The CPUs of Guaranteed pods without exclusive ones, for which there is no QoS slice."""
    limit = limits(plan).get(ALL_PODS)
    default = kubelet.default_cpus(plan) - partitions.cpus(plan)
    return default if limit is None or is_wiped(plan) else default & limit.cpus


def is_wiped(plan: NodePlan) -> bool:
    """Whether pods may ask CRI-O for a hook that gives all online CPUs to the slice of all pods.

    That is what it does on version 2 of cgroups before it switches load balancing off.
    """
    if not crio.has_hooks(plan):
        return False
    release = crio.release(plan.node_class.target)
    return releases.outcome(release, releases.LOAD_BALANCING, "disable").kind is releases.Kind.DONE


def files(settings: Sequence[Setting]) -> dict[str, str]:
    """The drop-ins, by absolute path."""
    return {path(setting.key): text_of(setting.value) for setting in settings}


def path(name: str) -> str:
    """The drop-in of a slice."""
    return f"{FOLDER}/{name}.d/{FILE}"


def text_of(cpus: Value) -> str:
    """The text of a drop-in."""
    return template("units/slice-cpus.conf.j2", cpus=cpus)


def render(settings: Sequence[Setting]) -> str:
    """All drop-ins, each under a line with its path, as `systemctl cat` shows them."""
    return "".join(f"# {path}\n{text}" for path, text in files(settings).items())


def parse(text: str) -> dict[str, Value]:
    """The CPUs of the slices in `render`'s text."""
    _, *parts = _PATH_LINE.split(text)
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return {path.split("/")[-2].removesuffix(".d"): allowed([content]) for path, content in pairs}


def allowed(texts: Sequence[str]) -> CpuSet:
    """What the drop-ins of a slice add up to, in their order."""
    lines = [line for text in texts for line in _ALLOWED.findall(text)]
    return CpuSet.from_bits(cpu_set_util.allowed_cpus(lines))


def check(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP526 and CP580 to CP585.

    Nothing where balloons keep the sets (CP590), or Koordinator keeps none (CP630).
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
    exposed = isolcpus & used_by_guaranteed(plan)
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
    elif chosen.has_cgroups_v1(plan):
        yield diagnose("CP580", position, cluster=plan.node_class.cluster)
    for field, value in without_slices(plan):
        place = locate(plan.node_class.place(f"kubelet.configuration.{field}"))
        shown = str(value).lower() if isinstance(value, bool) else value
        needed = {"cgroupDriver": "systemd", "cgroupsPerQOS": "true", "cgroupRoot": "/"}[field]
        yield diagnose("CP581", place, field=field, value=shown, needed=needed)


def _check_guaranteed(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """Guaranteed pods without exclusive CPUs, outside of `other`."""
    other = plan.pool("other").cpus
    isolcpus = plan.pool("isolcpus").cpus  # CP526 is about these
    outside = used_by_guaranteed(plan) - other - isolcpus if other else CpuSet()
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


def check_partitions(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
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
    elif chosen.has_cgroups_v1(plan):
        yield "the nodes have control groups version 1"
    elif ovsdpdk.cpus(plan):
        yield "Open vSwitch has a cgroup of its own for the pool isolcpus"
    elif not plan.pool("isolcpus").cpus and not spec.isolation.domain:
        yield "there is no pool isolcpus, and isolation.domain is false"
    if spec.isolation.domain and not crio.has_hooks(plan):
        yield "pods get partitions from CRI-O's hooks, for which runtime.handler must be named"

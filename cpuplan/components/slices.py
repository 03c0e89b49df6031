"""Slices of pods: drop-ins whose AllowedCPUs= keep pods on the CPUs of their QoS class.

systemd applies them to slices that the kubelet makes, and the kernel gives a container what its
cpuset and its slices have in common, or its slice where that is nothing (control groups version 2).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet
from cpuplan.components import cgroups, crio, kubelet
from cpuplan.components.emission import emit
from cpuplan.components.host import partitions
from cpuplan.components.texts import template
from cpuplan.diagnostics import Reason
from cpuplan.facts.settings import host as rows
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting, Value
from cpuplan.upstream.kubelet.qossets import ALL_PODS, SLICES
from cpuplan.upstream.kubernetes.qos import BEST_EFFORT, BURSTABLE
from cpuplan.upstream.linux import cpu_set_util

NAME = rows.SLICES
#: Later than 50-AllowedCPUs.conf, in which systemd keeps what a program has set.
FILE = "99-cpuplan.conf"
FOLDER = "/etc/systemd/system"
#: The QoS set of each slice.
QOS_SETS = {SLICES[BEST_EFFORT]: "bestEffort", SLICES[BURSTABLE]: "other"}
#: The hook with which CRI-O writes all online CPUs to the slice of all pods (cgroups version 2).
_WIPING_HOOK = "cpu-load-balancing.crio.io"
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
        chosen = plan.pool(set_name)
        if chosen.cpus:
            made[name] = Limit(chosen.cpus, chosen.because)
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
        or cgroups.is_v1(plan)
        or any(without_slices(plan))
    )


def without_slices(plan: NodePlan) -> Iterator[tuple[str, Value]]:
    """(field, value) of the kubelet's configuration by which pods have no slices of these names."""
    for field, values in NEEDED.items():
        value = plan.spec.kubelet.configuration.get(field, values[0])
        if value not in values:
            yield field, value


def used_by_guaranteed(plan: NodePlan) -> CpuSet:
    """The CPUs of Guaranteed pods without exclusive ones, for which there is no QoS slice."""
    limit = limits(plan).get(ALL_PODS)
    default = kubelet.default_cpus(plan) - partitions.cpus(plan)
    return default if limit is None or is_wiped(plan) else default & limit.cpus


def is_wiped(plan: NodePlan) -> bool:
    """Whether pods may ask CRI-O for a hook that gives all online CPUs to the slice of all pods."""
    return crio.has_hooks(plan) and _WIPING_HOOK in crio.HOOKS


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

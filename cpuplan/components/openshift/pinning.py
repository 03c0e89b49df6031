"""Workload partitioning: the CPUs of the platform's own pods, where the cluster has it.

The kubelet moves the CPU requests of annotated pods to a separate resource, and CRI-O gives
them the CPUs (openshift/enhancements, workload-partitioning; openshift/kubernetes,
pkg/kubelet/managed).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.emit import to_json, to_toml
from cpuplan.components import chosen
from cpuplan.components.emission import emit
from cpuplan.facts.settings import openshift as rows
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting, Value
from cpuplan.upstream.openshift import managed

if TYPE_CHECKING:
    from cpuplan.language.model.intent import Target

NAME = rows.PINNING
PATH = "/etc/kubernetes/openshift-workload-pinning"
CRIO_PATH = "/etc/crio/crio.conf.d/99-workload-pinning.conf"
#: The file of pools without their own CPU lists, from installation on; the one above replaces
#: its workload.
DEFAULT_CRIO_PATH = "/etc/crio/crio.conf.d/01-workload-pinning-default.conf"


def settings(plan: NodePlan) -> Iterator[Setting]:
    """The CPUs of platform pods: the reserved ones; and the pools that must know of pinning."""
    node_class, target, reserved = plan.node_class, plan.node_class.target, plan.pool("reserved")
    if not target.cpu_partitioning:
        return
    field = node_class.target_field("cpuPartitioning")
    reason = node_class.reason("the platform's own pods are pinned", field)
    if reserved.cpus:
        cpus = chosen.as_listed(plan, "reserved", reserved.cpus)
        yield from emit(plan, rows.PLATFORM_CPUS, cpus, (*reserved.because, reason))
    if target.pinned_pools:
        further = node_class.reason("further pools", node_class.target_field("pinnedPools"))
        yield from emit(plan, rows.PINNED_POOLS, _pools(target), (reason, further))
    else:
        yield from emit(plan, rows.PINNED_POOLS, _pools(target), (reason,))


def _pools(target: Target) -> tuple[str, ...]:
    """A pool without the default files would not take the platform's pods."""
    arbiter = ["arbiter"] if target.control_plane_topology == "HighlyAvailableArbiter" else []
    own = target.pool or "worker"
    return tuple(dict.fromkeys(["master", *arbiter, "worker", own, *target.pinned_pools]))


def render(settings: Sequence[Setting]) -> str:
    """The kubelet's JSON."""
    cpus = {setting.key: setting.value for setting in settings}.get(rows.PLATFORM_CPUS.key, "")
    return to_json({"management": {"cpuset": str(cpus)}})


def parse(text: str) -> Mapping[str, Value]:
    """The CPUs of the kubelet's JSON."""
    data = json.loads(text)
    workload = data.get("management") if isinstance(data, dict) else None
    cpus = workload.get("cpuset") if isinstance(workload, dict) else None
    return {rows.PLATFORM_CPUS.key: CpuSet.parse(cpus)} if isinstance(cpus, str) and cpus else {}


def render_crio(cpus: str) -> str:
    """CRI-O's part: the CPUs of annotated pods; without CPUs, they may only ask for shares."""
    workload = {
        "activation_annotation": f"{managed.TARGET}{managed.MANAGEMENT}",
        "annotation_prefix": managed.RESOURCES.removesuffix("/"),
        "resources": {"cpushares": 0, "cpuset": cpus},
    }
    return to_toml({"crio": {"runtime": {"workloads": {"management": workload}}}})


def files(settings: Sequence[Setting]) -> dict[str, tuple[int, str]]:
    """(mode, text) of both files, by absolute path; none without CPUs."""
    cpus = [setting.value for setting in settings if setting.key == rows.PLATFORM_CPUS.key]
    if not cpus:
        return {}
    return {
        PATH: (0o644, render(settings)),
        CRIO_PATH: (0o644, render_crio(str(cpus[0]))),
    }


def pools(settings: Sequence[Setting]) -> tuple[str, ...]:
    """The pools that get `default_files`."""
    values = [setting.value for setting in settings if setting.key == rows.PINNED_POOLS.key]
    return tuple(
        map(str, chain.from_iterable(value for value in values if isinstance(value, tuple)))
    )


def default_files() -> dict[str, tuple[int, str]]:
    """The files of pools without an intent: the annotation counts, no CPUs are pinned."""
    return {PATH: (0o644, render(())), DEFAULT_CRIO_PATH: (0o644, render_crio(""))}

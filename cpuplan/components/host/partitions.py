"""Isolation by a cgroup and not by boot arguments: a partition for the pool isolcpus.

A unit makes it before the kubelet starts, and a timer mends it. It is a remote partition, whose
CPUs cpusets of others may contain: a local one, directly below the root, becomes invalid when a
program writes all CPUs to kubepods.slice, and does not heal (kernel/cgroup/cpuset.c).
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from cpuplan.base.cpuset import EMPTY, CpuSet, CpuSetError
from cpuplan.base.patterns import expression
from cpuplan.components import chosen, isolation
from cpuplan.components.base import template
from cpuplan.components.chosen import stated
from cpuplan.components.emission import emit
from cpuplan.facts.settings import host as rows
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting, Value

NAME = rows.PARTITIONS
THREADS = rows.PARTITION_THREADS.key
CGROUP = rows.PARTITION_GROUP
_SLICE_FILE = f"{rows.UNIT_FOLDER}/{THREADS}"
_DROP_IN = rows.PARTITION_DROP_IN.key.rpartition("/")[2]
_PATH = expression(rf"^# (/\S+/{re.escape(_DROP_IN)})$", re.MULTILINE)
_ALLOWED = expression(r"^AllowedCPUs=(.+)$", re.MULTILINE)


def cpus(plan: NodePlan) -> CpuSet:
    """The CPUs of the partition; none where there is none."""
    is_possible = not plan.node_class.target.is_profile and not chosen.has_cgroups_v1(plan)
    return plan.pool("isolcpus").cpus if isolation.by_partitions(plan) and is_possible else EMPTY


def settings(plan: NodePlan) -> Iterator[Setting]:
    """The CPUs of the slice for threads, and the drop-in by which the kubelet waits for them."""
    isolated = cpus(plan)
    if isolated:
        reason = stated(plan, "a cgroup isolates them", "isolation.by")
        because = (*plan.pool("isolcpus").because, reason)
        yield from emit(plan, rows.PARTITION_THREADS, isolated, because)
        service = plan.node_class.target.kubelet_service
        yield from emit(plan, rows.PARTITION_DROP_IN, True, (reason,), service=service)


def files(settings: Sequence[Setting]) -> dict[str, str]:
    """Slices, the unit with its script and timer, and the kubelet's drop-in, by absolute path."""
    texts: dict[str, str] = {}
    for setting in settings:
        if setting.key == THREADS:
            texts |= _units(setting.value)
        else:
            texts[setting.key] = template("units/kubelet-isolate-cpus.conf")
    return texts


def _units(isolated: Value) -> dict[str, str]:
    return {
        _SLICE_FILE: template(f"units/{THREADS}.j2", cpus=isolated),
        f"{rows.UNIT_FOLDER}/isolcpus.slice": template("units/isolcpus.slice"),
        f"{rows.UNIT_FOLDER}/isolate-cpus.service": template(
            "units/isolate-cpus.service.j2", cpus=isolated
        ),
        f"{rows.UNIT_FOLDER}/isolate-cpus.timer": template("units/isolate-cpus.timer"),
        "/usr/local/bin/isolate-cpus.sh": template("bin/isolate-cpus.sh"),
    }


def render(settings: Sequence[Setting]) -> str:
    """The slice, which has the CPUs, and the path of the drop-in."""
    texts = files(settings)
    paths = "".join(f"# {setting.key}\n" for setting in settings if setting.key != THREADS)
    return texts.get(_SLICE_FILE, "") + paths


def parse(text: str) -> Mapping[str, Value]:
    """The settings of `render`'s text."""
    match = _ALLOWED.search(text)
    values: dict[str, Value] = {THREADS: _cpus(match[1])} if match else {}
    return values | dict.fromkeys(_PATH.findall(text), True)


def _cpus(text: str) -> Value:
    try:
        return CpuSet.parse_kernel(text)
    except CpuSetError:
        return text

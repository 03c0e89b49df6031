"""Workload partitioning: where the platform's own pods run, on clusters that were installed with
it.

The kubelet moves the CPU requests of annotated pods to a resource of their own, and CRI-O gives
them the CPUs (openshift/enhancements, workload-partitioning; openshift/kubernetes,
pkg/kubelet/managed).
"""

import json
from collections.abc import Iterator, Mapping, Sequence

from cpuplan.cpuset import CpuSet
from cpuplan.emit import to_json, to_toml
from cpuplan.plan import NodePlan
from cpuplan.setting import Setting, Value

NAME = "pinning"
PATH = "/etc/kubernetes/openshift-workload-pinning"
CRIO_PATH = "/etc/crio/crio.conf.d/99-workload-pinning.conf"
#: The file of pools without CPU lists of their own, from installation on; the one above replaces
#: its workload.
DEFAULT_CRIO_PATH = "/etc/crio/crio.conf.d/01-workload-pinning-default.conf"
_CPUS = "management.cpuset"


def settings(plan: NodePlan) -> Iterator[Setting]:
    """The CPUs of platform pods: the reserved ones."""
    target, reserved = plan.node_class.target, plan.pool("reserved")
    if target.cpu_partitioning and reserved.cpus:
        field = plan.node_class.target_field("cpuPartitioning")
        reason = plan.node_class.reason("the platform's own pods are pinned", field)
        yield Setting(NAME, _CPUS, reserved.cpus, (*reserved.because, reason))


def render(settings: Sequence[Setting]) -> str:
    """The kubelet's JSON."""
    cpus = {setting.key: setting.value for setting in settings}.get(_CPUS, "")
    return to_json({"management": {"cpuset": str(cpus)}})


def parse(text: str) -> Mapping[str, Value]:
    """The CPUs of the kubelet's JSON."""
    data = json.loads(text)
    workload = data.get("management") if isinstance(data, dict) else None
    cpus = workload.get("cpuset") if isinstance(workload, dict) else None
    return {_CPUS: CpuSet.parse(cpus)} if isinstance(cpus, str) and cpus else {}


def render_crio(cpus: str) -> str:
    """CRI-O's part: pods with the annotation get these CPUs; with none, only their shares are
    theirs to ask for.
    """
    workload = {
        "activation_annotation": "target.workload.openshift.io/management",
        "annotation_prefix": "resources.workload.openshift.io",
        "resources": {"cpushares": 0, "cpuset": cpus},
    }
    return to_toml({"crio": {"runtime": {"workloads": {"management": workload}}}})


def files(settings: Sequence[Setting]) -> dict[str, tuple[int, str]]:
    """(mode, text) of both files, by absolute path; none without settings."""
    if not settings:
        return {}
    return {
        PATH: (0o644, render(settings)),
        CRIO_PATH: (0o644, render_crio(str(settings[0].value))),
    }


def default_files() -> dict[str, tuple[int, str]]:
    """The same for pools whose CPUs no intent divides: the annotation counts and no CPUs are
    pinned.
    """
    return {PATH: (0o644, render(())), DEFAULT_CRIO_PATH: (0o644, render_crio(""))}

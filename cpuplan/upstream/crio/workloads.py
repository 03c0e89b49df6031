"""CRI-O's workloads: what pods with their activation annotation get in place of what is asked for.

Upstream: cri-o/cri-o pkg/config/workloads.go server/container_create.go
  @ f954a17e505f8931e91004403b5f5eac71ab6085
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from cpuplan.upstream.crio.cgmgr import DEFAULT_PERIOD
from cpuplan.upstream.crio.high_performance_hooks import Spec
from cpuplan.upstream.kubernetes.errors import NIL_DEREFERENCE, PanicError
from cpuplan.upstream.kubernetes.json import STRING, UINT64, Type, loads

_INT64 = Type("int64", "number")
_RESOURCES = Type(
    "config.Resources",
    "object",
    {
        "cpushares": UINT64,
        "cpuquota": _INT64,
        "cpuperiod": UINT64,
        "cpuset": STRING,
        "cpulimit": _INT64,
    },
)
#: Microseconds.
_LEAST_QUOTA = 1000


class Resources(NamedTuple):
    """Amounts of a container; what is 0 or empty is left as the kubelet asked.

    `cpuquota` and `cpuperiod` are microseconds, `cpulimit` is thousandths of a CPU.
    """

    cpushares: int = 0
    cpuquota: int = 0
    cpuperiod: int = 0
    cpuset: str = ""
    cpulimit: int = 0


class Workload(NamedTuple):
    """An entry of [crio.runtime.workloads]; `resources` is None where it has no such table."""

    activation_annotation: str
    annotation_prefix: str = ""
    resources: Resources | None = None


def workload_of(table: Mapping[str, Any]) -> Workload:
    """A workload from its table, which CRI-O's check has passed (`config.load`)."""
    given = table.get("resources")
    return Workload(
        table["activation_annotation"],
        table.get("annotation_prefix", ""),
        None if given is None else Resources(**{key.lower(): given[key] for key in given}),
    )


def activated(workloads: Iterable[Workload], annotations: Mapping[str, str]) -> Workload | None:
    """The workload of a pod (workloadGivenActivationAnnotation); its value means nothing."""
    named = (own for own in workloads if own.activation_annotation in annotations)
    return next(named, None)


def mutate_spec(spec: Spec, workloads: Iterable[Workload], annotations: Mapping[str, str]) -> None:
    """Change what the kubelet asks for a container, before any hook sees it.

    KubeletError and PanicError keep it from being created.
    """
    workload = activated(workloads, annotations)
    resources = workload and _resources(workload, spec.name, annotations)
    if not resources:
        return
    spec.cpus = resources.cpuset or spec.cpus
    spec.shares = resources.cpushares or spec.shares
    spec.quota = resources.cpuquota or spec.quota
    spec.period = resources.cpuperiod or spec.period


def _resources(
    workload: Workload, container: str, annotations: Mapping[str, str]
) -> Resources | None:
    """The pod's own amounts, and the workload's for what they leave out; None changes nothing.

    JSON's null drops the workload's cpuset too, and any JSON against a workload without resources
    is a crash (CRI-O bugs). A limit of the workload itself makes no quota without the pod's JSON.
    """
    text = annotations.get(f"{workload.annotation_prefix}/{container}")
    if text is None:
        return workload.resources
    own = Resources(**loads(text, _RESOURCES))
    if text.strip() == "null":
        return None
    if not all(own) and workload.resources is None:
        raise PanicError(NIL_DEREFERENCE)
    default = workload.resources or Resources()
    merged = Resources(
        own.cpushares or default.cpushares,
        own.cpuquota or default.cpuquota,
        own.cpuperiod or default.cpuperiod,
        own.cpuset or default.cpuset,
        own.cpulimit or default.cpulimit,
    )
    if not merged.cpulimit:
        return merged
    return merged._replace(cpuquota=_quota(merged.cpulimit, merged.cpuperiod))


def _quota(milli: int, period: int) -> int:
    """Microseconds in each period (milliCPUToQuota)."""
    return max(milli * (period or DEFAULT_PERIOD) // 1000, _LEAST_QUOTA)

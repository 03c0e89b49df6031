"""koord-scheduler's configuration: NodeNUMAResourceArgs in what the chart of each release has.

The arguments say how it chooses CPUs and NUMA nodes, for the whole cluster; the values of the chart
are unchanged. The configuration is one text in a ConfigMap, so that whoever sets arguments of one
plugin writes all of it (koordinator-sh/charts,
versions/<release>/templates/koord-scheduler-config.yaml).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cpuplan.base.emit import to_yaml
from cpuplan.components.emission import emit, parse_by_key
from cpuplan.facts.settings import objects as rows
from cpuplan.facts.settings.objects import SCORING
from cpuplan.facts.versions import Version
from cpuplan.language.model.allocators import Scoring
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting, Value, plain

CHART_NAMESPACE = "koordinator-system"
_GROUP = "kubescheduler.config.k8s.io"
#: The version of the configuration by the first release with it.
_VERSIONS: Mapping[Version, str] = {(1, 2): "v1beta2", (1, 5): "v1beta3", (1, 6): "v1"}
_NUMA, _LOAD, _DEVICES = "NodeNUMAResource", "LoadAwareScheduling", "DeviceShare"
_KEPT, _GANG, _QUOTA = "Reservation", "Coscheduling", "ElasticQuota"
#: Extension points at which the chart's plugins replace those of Kubernetes.
_ALONE = ("queueSort", "postFilter", "bind")
_RESERVATION_WEIGHT = 5000
#: The plugins of each extension point, by the first release that has them so.
_PLUGINS: Mapping[str, Mapping[Version, tuple[str, ...]]] = {
    "preEnqueue": {(1, 7): (_GANG,)},
    "queueSort": {(1, 2): (_GANG,), (1, 7): ("PrioritySort",)},
    "preFilter": {
        (1, 2): (_NUMA, _DEVICES, _KEPT, _GANG, _QUOTA),
        (1, 3): (_KEPT, _NUMA, _DEVICES, _GANG, _QUOTA),
        (1, 6): (_GANG, _KEPT, _NUMA, _DEVICES, _QUOTA),
        (1, 7): ("SchedulingHint", _GANG, _KEPT, _NUMA, _DEVICES, _QUOTA),
    },
    "filter": {
        (1, 2): (_LOAD, _NUMA, _DEVICES, _KEPT, "BatchResourceFit"),
        (1, 3): (_LOAD, _NUMA, _DEVICES, _KEPT),
        (1, 6): (_KEPT, _LOAD, _NUMA, _DEVICES),
    },
    "postFilter": {(1, 2): (_KEPT, _GANG, _QUOTA, "DefaultPreemption")},
    "preScore": {(1, 2): (_KEPT,), (1, 8): (_KEPT, _GANG)},
    "score": {
        (1, 2): (_LOAD, _NUMA, _KEPT),
        (1, 3): (_LOAD, _NUMA, _DEVICES, _KEPT),
        (1, 8): (_LOAD, _NUMA, _DEVICES, _KEPT, _GANG),
    },
    "reserve": {
        (1, 2): (_LOAD, _NUMA, _DEVICES, _KEPT, _GANG, _QUOTA),
        (1, 3): (_KEPT, _LOAD, _NUMA, _DEVICES, _GANG, _QUOTA),
    },
    "permit": {(1, 2): (_GANG,)},
    "preBind": {
        (1, 2): (_NUMA, _DEVICES, _KEPT),
        (1, 3): (_NUMA, _DEVICES, _KEPT, "DefaultPreBind"),
        (1, 8): (_NUMA, _DEVICES, _KEPT, _GANG, "DefaultPreBind"),
    },
    "bind": {(1, 2): (_KEPT, "DefaultBinder")},
    "postBind": {(1, 2): (_GANG,)},
}
_FIT: dict[str, Any] = {
    SCORING.key: {
        "type": "LeastAllocated",
        "resources": [
            {"name": name, "weight": 1}
            for name in ("cpu", "memory", "kubernetes.io/batch-cpu", "kubernetes.io/batch-memory")
        ],
    }
}
_LOAD_AWARE: dict[str, Any] = {
    "filterExpiredNodeMetrics": False,
    "nodeMetricExpirationSeconds": 300,
    "resourceWeights": {"cpu": 1, "memory": 1},
    "usageThresholds": {"cpu": 65, "memory": 95},
    "estimatedScalingFactors": {"cpu": 85, "memory": 70},
}


def scheduler_configuration(release: Version, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The KubeSchedulerConfiguration of the chart, with arguments of NodeNUMAResource."""
    version = f"{_GROUP}/{_of_release(_VERSIONS, release)}"
    profile = {
        "schedulerName": "koord-scheduler",
        "pluginConfig": _plugin_config(version, release, arguments),
        "plugins": _plugins(release),
    }
    election = {
        "leaderElect": True,
        "resourceLock": "leases",
        "resourceName": "koord-scheduler",
        "resourceNamespace": CHART_NAMESPACE,
    }
    return {
        "apiVersion": version,
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": election,
        "profiles": [profile],
    }


def _plugin_config(
    version: str, release: Version, arguments: Mapping[str, Any]
) -> list[dict[str, Any]]:
    given: dict[str, Mapping[str, Any]] = {
        "NodeResourcesFit": _FIT,
        _LOAD: _LOAD_AWARE,
        _QUOTA: {"quotaGroupNamespace": CHART_NAMESPACE},
    }
    if release >= (1, 7):
        given[_GANG] = {"awareNetworkTopology": True}
    given[_NUMA] = arguments
    return [
        {"name": name, "args": {"apiVersion": version, "kind": f"{name}Args", **values}}
        for name, values in given.items()
    ]


def _plugins(release: Version) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for point, by_release in _PLUGINS.items():
        if release < min(by_release):
            continue
        names = _of_release(by_release, release)
        enabled = [_enabled(point, name) for name in names]
        alone = {"disabled": [{"name": "*"}]} if point in _ALONE else {}
        made[point] = {**alone, "enabled": enabled}
    return made


def _enabled(point: str, name: str) -> dict[str, Any]:
    if point != "score":
        return {"name": name}
    return {"name": name, "weight": _RESERVATION_WEIGHT if name == _KEPT else 1}


def _of_release(by_release: Mapping[Version, Any], release: Version) -> Any:
    """The newest entry that the release has."""
    return by_release[max(since for since in by_release if since <= release)]


def config_map(name: str, data: dict[str, str]) -> dict[str, Any]:
    """A ConfigMap beside the chart's objects, without further metadata."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": CHART_NAMESPACE},
        "data": data,
    }


NAME = rows.KOORD_SCHEDULER
CONFIG_MAP = "koord-scheduler-config"

#: The default of a scheduler without any strategy.
_ALIKE = {"cpu": 1, "memory": 1}


def settings(plan: NodePlan) -> Iterator[Setting]:
    """Fields of the arguments; none where the intent names none."""
    if not plan.node_class.target.has_koordinator:
        return
    given, reason = plan.spec.koordinator.scheduler, plan.node_class.reason
    if given.default_cpu_bind_policy:
        text = "for LSE and LSR pods that name no policy"
        because = (reason(text, rows.BIND_POLICY.field),)
        yield from emit(plan, rows.BIND_POLICY, given.default_cpu_bind_policy, because)
    if given.scoring_strategy:
        because = (reason("which node is better", rows.SCORING.field),)
        yield from emit(plan, rows.SCORING, _scoring(given.scoring_strategy), because)
    if given.numa_scoring_strategy:
        text = "which NUMA node is better, and the allocate strategy of nodes without a label"
        because = (reason(text, rows.NUMA_SCORING.field),)
        yield from emit(plan, rows.NUMA_SCORING, _scoring(given.numa_scoring_strategy), because)


def _scoring(given: Scoring) -> Value:
    """With resources: a strategy without any would score nothing, whatever its type."""
    weights = {resource.name: resource.weight for resource in given.resources} or _ALIKE
    resources: tuple[Value, ...] = tuple(
        {"name": name, "weight": weight} for name, weight in weights.items()
    )
    return {"type": given.type, "resources": resources}


def arguments(settings: Sequence[Setting]) -> dict[str, Any]:
    """The arguments, without their envelope."""
    return {setting.key: plain(setting.value) for setting in settings}


def render(settings: Sequence[Setting]) -> str:
    """The arguments as YAML; empty without settings."""
    return to_yaml(arguments(settings)) if settings else ""


parse = parse_by_key

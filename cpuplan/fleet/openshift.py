"""Facts in the objects of an OpenShift cluster: pools, nodes, workload partitioning, release."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from cpuplan.language.model.cluster import meets
from cpuplan.language.model.vocabulary import NODE_ROLE

#: The release that is assumed if no object has the cluster's, which a profile does not contain.
VERSION = "5.1"
#: The pools that every cluster has.
BUILT_IN = ("master", "worker")
#: Kinds that are read beside profiles.
KINDS = (
    "MachineConfigPool",
    "MachineConfig",
    "KubeletConfig",
    "ContainerRuntimeConfig",
    "Infrastructure",
    "ClusterVersion",
    "Node",
    "FeatureGate",
)
#: The feature set whose gates are listed one by one.
CUSTOM = "CustomNoUpgrade"
#: The gate by which the node tuning operator shares CPUs.
MIXED_CPUS = "MixedCPUsAllocation"
#: Its presence in a MachineConfig of a single-node cluster meant workload partitioning before
#: Infrastructure did.
_PINNING = "/etc/kubernetes/openshift-workload-pinning"


class Cluster(NamedTuple):
    """Facts about a cluster, from its objects.

    `pool` is the MachineConfigPool of the profile, empty if no object shows it.
    """

    version: str = VERSION
    partitioned: bool = False
    control_plane_topology: str = "HighlyAvailable"
    pool: str = ""
    pool_labels: Mapping[str, str] = {}
    pools: tuple[str, ...] = ()
    hosted: bool = False
    feature_set: str = ""
    oci_runtime: str = ""
    #: The mode of the targets; empty where profiles are read in place.
    mode: str = ""


class ClusterNode(NamedTuple):
    """A Node object of the cluster.

    `taints` are those with the effect NoSchedule: values by key.
    """

    name: str
    labels: dict[str, str]
    architecture: str  # GOARCH; empty where it is unknown
    cpus: int  # capacity; 0 where it is unknown
    taints: Mapping[str, str] = {}


class MachineConfigPool(NamedTuple):
    """A pool: its labels, and the node selector as matchLabels and matchExpressions."""

    name: str
    labels: dict[str, str]
    match_labels: dict[str, str]
    match_expressions: tuple[Mapping[str, Any], ...] = ()
    selects_nothing: bool = False  # a selector that is absent, not empty

    @property
    def selects_all(self) -> bool:
        """Whether the selector is there and empty: it would fit every node."""
        return not (self.selects_nothing or self.match_labels or self.match_expressions)

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Whether the selector fits `labels` (apimachinery, metav1.LabelSelectorAsSelector)."""
        if self.selects_nothing:
            return False
        return _fit(self.match_labels, self.match_expressions, labels)


def _fit(
    match_labels: Mapping[str, str],
    match_expressions: Iterable[Mapping[str, Any]],
    labels: Mapping[str, str],
) -> bool:
    return match_labels.items() <= labels.items() and all(
        _fits(expression, labels) for expression in match_expressions
    )


def _fits(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    values = expression.get("values")
    listed = values if isinstance(values, list) else []
    return meets(str(expression.get("operator")), str(expression.get("key")), listed, labels)


def _built_in(name: str) -> MachineConfigPool:
    labels = {f"pools.operator.machineconfiguration.openshift.io/{name}": ""}
    return MachineConfigPool(name, labels, {f"{NODE_ROLE}{name}": ""})


def pools(objects: Iterable[Mapping[str, Any]]) -> list[MachineConfigPool]:
    """The pools among `objects`, and those that every cluster has."""
    known = listed_pools(objects)
    names = {pool.name for pool in known}
    return [*known, *(_built_in(name) for name in BUILT_IN if name not in names)]


def listed_pools(objects: Iterable[Mapping[str, Any]]) -> list[MachineConfigPool]:
    """The pools among `objects`, in their order."""
    return [_pool(item) for item in objects if item.get("kind") == "MachineConfigPool"]


def _pool(item: Mapping[str, Any]) -> MachineConfigPool:
    metadata, spec = _mapping(item.get("metadata")), _mapping(item.get("spec"))
    selector = spec.get("nodeSelector")
    return MachineConfigPool(
        str(metadata.get("name", "")),
        _labels(metadata.get("labels")),
        _labels(_mapping(selector).get("matchLabels")),
        _expressions(_mapping(selector)),
        selects_nothing=selector is None,
    )


def _expressions(selector: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    expressions = selector.get("matchExpressions")
    return tuple(map(_mapping, expressions)) if isinstance(expressions, list) else ()


def matching(
    candidates: Iterable[MachineConfigPool], labels: Mapping[str, str]
) -> list[MachineConfigPool]:
    """The pools whose node selectors fit a profile's: the operator wants exactly one."""
    return [pool for pool in candidates if pool.selects(labels)]


def newest() -> str:
    """The release that is assumed."""
    return VERSION


def facts(objects: Iterable[Mapping[str, Any]], release: Callable[[], str] = newest) -> Cluster:
    """The cluster's release, topology, and whether it was installed with workload partitioning.

    `release` is called if no object has a release.
    """
    objects = list(objects)
    status: Mapping[str, Any] = {}
    version = ""
    for item in objects:
        name = _mapping(item.get("metadata")).get("name")
        if item.get("kind") == "Infrastructure" and name == "cluster":
            status = _mapping(item.get("status"))
        if item.get("kind") == "ClusterVersion":
            desired = str(_mapping(_mapping(item.get("status")).get("desired")).get("version", ""))
            version = ".".join(desired.split(".")[:2]) or version
    topology = str(status.get("controlPlaneTopology") or "HighlyAvailable")
    legacy = topology == "SingleReplica" and any(map(_pins, objects))
    pinned = status.get("cpuPartitioning") == "AllNodes" or legacy
    return Cluster(version or release(), pinned, topology, feature_set=feature_set(objects))


class FeatureGates(NamedTuple):
    """The feature set of a FeatureGate object, and the gates that CustomNoUpgrade enables.

    The name of the default feature set is empty.
    """

    feature_set: str = ""
    enabled: tuple[str, ...] = ()


def feature_gates(item: Mapping[str, Any]) -> FeatureGates:
    """What a FeatureGate object says in its spec."""
    spec = _mapping(item.get("spec"))
    chosen = str(spec.get("featureSet") or "")
    given = _mapping(spec.get("customNoUpgrade")).get("enabled")
    if chosen != CUSTOM or not isinstance(given, list):
        return FeatureGates(chosen)
    return FeatureGates(chosen, tuple(sorted(gate for gate in given if isinstance(gate, str))))


def feature_set(objects: Iterable[Mapping[str, Any]]) -> str:
    """The feature set of the FeatureGate `cluster`; empty for the default.

    Empty also for custom gates without the only one that matters here.
    """
    for item in objects:
        name = _mapping(item.get("metadata")).get("name")
        if item.get("kind") == "FeatureGate" and name == "cluster":
            chosen, enabled = feature_gates(item)
            return "" if chosen == CUSTOM and MIXED_CPUS not in enabled else chosen
    return ""


def oci_runtime(objects: Iterable[Mapping[str, Any]], pool: MachineConfigPool) -> str:
    """`defaultRuntime` of the ContainerRuntimeConfig that selects the pool; empty without one."""
    for item in objects:
        if item.get("kind") == "ContainerRuntimeConfig":
            spec = _mapping(item.get("spec"))
            selector = _mapping(spec.get("machineConfigPoolSelector"))
            labels = _labels(selector.get("matchLabels"))
            expressions = _expressions(selector)
            runtime = _mapping(spec.get("containerRuntimeConfig")).get("defaultRuntime")
            is_selected = bool(labels or expressions) and _fit(labels, expressions, pool.labels)
            if is_selected and runtime in ("runc", "crun"):
                return str(runtime)
    return ""


def _pins(item: Mapping[str, Any]) -> bool:
    config = _mapping(_mapping(item.get("spec")).get("config"))
    files = _mapping(config.get("storage")).get("files")
    return isinstance(files, list) and any(_mapping(file).get("path") == _PINNING for file in files)


def nodes(objects: Iterable[Mapping[str, Any]]) -> Iterator[ClusterNode]:
    """The nodes among `objects`, in their order."""
    for item in objects:
        if item.get("kind") == "Node":
            metadata, status = _mapping(item.get("metadata")), _mapping(item.get("status"))
            labels = _labels(metadata.get("labels"))
            architecture = str(_mapping(status.get("nodeInfo")).get("architecture") or "")
            cpus = _cpus(str(_mapping(status.get("capacity")).get("cpu", "")))
            taints = _taints(_mapping(item.get("spec")).get("taints"))
            yield ClusterNode(str(metadata.get("name", "")), labels, architecture, cpus, taints)


def _cpus(capacity: str) -> int:
    """The CPUs of a capacity, such as `64`, `64000m` or `1k`; 0 for anything else."""
    match = re.fullmatch(r"([0-9]{1,9})(000m|k)?", capacity)
    return int(match[1]) * (1000 if match[2] == "k" else 1) if match else 0


def _taints(value: Any) -> dict[str, str]:
    entries = map(_mapping, value) if isinstance(value, list) else ()
    return {
        str(taint.get("key")): str(taint.get("value") or "")
        for taint in entries
        if taint.get("effect") == "NoSchedule"
    }


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _labels(value: Any) -> dict[str, str]:
    return {str(key): str(text) for key, text in _mapping(value).items()}

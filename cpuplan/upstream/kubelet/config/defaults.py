"""Defaults of a KubeletConfiguration (pkg/kubelet/apis/config/v1beta1/defaults.go).

Upstream: kubernetes/kubernetes pkg/kubelet/apis/config/v1beta1/defaults.go
  @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

from typing import Any

from cpuplan.upstream.kubelet import eviction
from cpuplan.upstream.kubelet.config.types import of_version
from cpuplan.upstream.kubelet.node_container_manager import MAX_PODS
from cpuplan.upstream.kubernetes import kube_features
from cpuplan.upstream.kubernetes.durations import MILLISECOND, MINUTE, SECOND
from cpuplan.upstream.kubernetes.kube_features import Gates

#: Used for absent fields.
ABSENT: dict[str, Any] = {
    "cgroupsPerQOS": True,
    "containerLogMaxFiles": 5,
    "containerLogMaxWorkers": 1,
    "containerLogMonitorInterval": 10 * SECOND,
    "cpuCFSQuota": True,
    "cpuCFSQuotaPeriod": 100 * MILLISECOND,
    "enableSystemLogHandler": True,
    "enableSystemLogQuery": False,
    "enforceNodeAllocatable": ["pods"],
    "eventRecordQPS": 50,
    "failSwapOn": True,
    "healthzPort": 10248,
    "imageGCHighThresholdPercent": 85,
    "imageGCLowThresholdPercent": 80,
    "iptablesDropBit": 15,
    "iptablesMasqueradeBit": 14,
    "kubeAPIQPS": 50,
    "memorySwap": {},
    "memoryThrottlingFactor": 0.9,
    "nodeStatusMaxImages": 50,
    "oomScoreAdj": -999,
    "registryPullQPS": 5,
    "serializeImagePulls": True,
}
#: Used for absent fields and for zero, the empty text and the empty duration.
EMPTY: dict[str, Any] = {
    "cpuManagerPolicy": "none",
    "cpuManagerReconcilePeriod": 10 * SECOND,
    "eventBurst": 100,
    "hairpinMode": "promiscuous-bridge",
    "imageMinimumGCAge": 2 * MINUTE,
    "kubeAPIBurst": 100,
    "maxOpenFiles": 1_000_000,
    "maxPods": MAX_PODS,
    "memoryManagerPolicy": "None",
    "nodeLeaseDurationSeconds": 40,
    "podLogsDir": "/var/log/pods",
    "port": 10250,
    "registryBurst": 10,
    "topologyManagerPolicy": "none",
    "topologyManagerScope": "container",
}
#: Before the limits of requests and events were raised (kubernetes/kubernetes#116121).
_LOW_ABSENT = {"eventRecordQPS": 5, "kubeAPIQPS": 5}
_LOW_EMPTY = {"eventBurst": 10, "kubeAPIBurst": 10}


def set_defaults(config: dict[str, Any], gates: Gates) -> dict[str, Any]:
    """The effective fields but evictionHard, which `set_eviction_defaults` completes."""
    absent = {
        **ABSENT,
        "failCgroupV1": kube_features.has_behaviour(gates.version, "config.fail_cgroup_v1"),
    }
    empty = EMPTY
    if not kube_features.has_behaviour(gates.version, "config.high_limits"):
        absent, empty = {**absent, **_LOW_ABSENT}, {**empty, **_LOW_EMPTY}
    if kube_features.has_behaviour(gates.version, "config.no_throttling_factor"):
        absent = {name: absent[name] for name in absent if name != "memoryThrottlingFactor"}
    absent, empty = of_version(absent, gates.version), of_version(empty, gates.version)
    full = {**absent, **config}
    full.update({name: value for name, value in empty.items() if not config.get(name)})
    pulls = config.get("maxParallelImagePulls")
    if "serializeImagePulls" not in config and pulls is not None and pulls > 1:
        full["serializeImagePulls"] = False
    if kube_features.has_behaviour(gates.version, "config.memory_reservation"):
        full["memoryReservationPolicy"] = config.get("memoryReservationPolicy") or "None"
    return {**full, **_behind_gates(config, gates)}


def _behind_gates(config: dict[str, Any], gates: Gates) -> dict[str, Any]:
    """Fields that have a default while their gate is on, and that may not be set without it."""
    defaults: dict[str, Any] = {}
    if gates.enabled("KubeletCrashLoopBackOffMax"):
        given = config.get("crashLoopBackOff", {})
        defaults["crashLoopBackOff"] = {"maxContainerRestartPeriod": 300 * SECOND, **given}
    if gates.enabled("KubeletEnsureSecretPulledImages"):
        field = "imagePullCredentialsVerificationPolicy"
        defaults[field] = config.get(field) or "NeverVerifyPreloadedImages"
    return defaults


def set_eviction_defaults(config: dict[str, Any], gates: Gates) -> dict[str, Any]:
    """The fields of the configuration file with thresholds for hard eviction.

    The kubelet does this before it reads drop-ins (cmd/kubelet/app/server.go, loadConfigFile): a
    map in a drop-in joins the defaults, and null there removes them.
    """
    given = config.get("evictionHard")
    if given is None:
        return {**config, "evictionHard": eviction.DEFAULT_HARD}
    is_merged = kube_features.has_behaviour(gates.version, "config.merge_eviction")
    if is_merged and config.get("mergeDefaultEvictionSettings"):
        given = {**eviction.DEFAULT_HARD, **given}
    return {**config, "evictionHard": given}

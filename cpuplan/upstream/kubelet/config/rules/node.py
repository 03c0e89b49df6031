"""The node as a whole: topology, taints, shutdown, network, the operating system."""

import re
from collections.abc import Iterator
from typing import Any

from cpuplan.upstream.kubelet.config.rules.base import Given, alternatives
from cpuplan.upstream.kubelet.go.durations import SECOND, duration_text
from cpuplan.upstream.kubelet.go.text import quote
from cpuplan.upstream.kubelet.sysctls import is_of_a_pod

_TOPOLOGY_POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
_HAIRPIN = ("none", "hairpin-veth", "promiscuous-bridge")
_TAINT_EFFECTS = ("", "NoSchedule", "PreferNoSchedule", "NoExecute")
#: Names and values of labels (apimachinery, IsQualifiedName and IsValidLabelValue).
_LABEL = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_MAX_LABEL = 63
_DOMAIN_PART = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DOMAIN = re.compile(rf"{_DOMAIN_PART}(\.{_DOMAIN_PART})*")
_MAX_DOMAIN = 253
#: User IDs of a pod come in blocks of so many.
_IDS = 65536
_MOST_IDS = (1 << 32) - 1


def server_certificate(given: Given) -> Iterator[str]:
    gate = "RotateKubeletServerCertificate"
    if given.config.get("serverTLSBootstrap") and not given.gates.enabled(gate):
        yield f"serverTLSBootstrap true requires feature gate {gate}"


def run_once(given: Given) -> Iterator[str]:
    if given.config.get("runOnce"):
        reason = "Runonce mode has been deprecated and should not be set"
        yield f"runOnce (--runOnce) true, {reason}"


def taints(given: Given) -> Iterator[str]:
    """Keys, values and effects; these texts do not begin as others."""
    for taint in given.config.get("registerWithTaints", ()):
        key, value, effect = (taint.get(name, "") for name in ("key", "value", "effect"))
        is_valid = is_qualified_name(key) and effect in _TAINT_EFFECTS
        if not is_valid or (value and not _is_label(value)):
            yield f"invalid taint: {{{key} {value} {effect} {_time(taint.get('timeAdded'))}}}"


def taint_times(given: Given) -> Iterator[str]:
    for taint in given.config.get("registerWithTaints", ()):
        if taint.get("timeAdded") is not None:
            yield "taint.TimeAdded is not nil"


def is_qualified_name(text: str) -> bool:
    """Whether a text is a key of a label: a name, optionally after a DNS domain and a slash."""
    prefix, slash, name = text.rpartition("/")
    if slash and not (len(prefix) <= _MAX_DOMAIN and _DOMAIN.fullmatch(prefix)):
        return False
    return _is_label(name)


def _is_label(text: str) -> bool:
    return len(text) <= _MAX_LABEL and bool(_LABEL.fullmatch(text))


def _time(text: str | None) -> str:
    if text is None:
        return "<nil>"
    return f"{text.replace('T', ' ').removesuffix('Z')} +0000 UTC"


def topology_gate(given: Given) -> Iterator[str]:
    if given.gates.enabled("TopologyManager"):
        return
    for field, default in (
        ("topologyManagerPolicy", "none"),
        ("topologyManagerScope", "container"),
    ):
        value = given.config[field]
        if value != default:
            yield f"{field} {value} requires feature gate TopologyManager"


def topology(given: Given) -> Iterator[str]:
    policy, scope = given.config["topologyManagerPolicy"], given.config["topologyManagerScope"]
    if policy not in _TOPOLOGY_POLICIES:
        listed = " ".join(map(quote, _TOPOLOGY_POLICIES))
        flag = "topologyManagerPolicy (--topology-manager-policy)"
        yield f"{flag} {quote(policy)} must be one of: [{listed}]"
    if scope not in ("container", "pod"):
        flag = "topologyManagerScope (--topology-manager-scope)"
        yield f'{flag} {quote(scope)} must be one of: "container", or "pod"'


def shutdown(given: Given) -> Iterator[str]:
    total = given.config.get("shutdownGracePeriod", 0)
    critical = given.config.get("shutdownGracePeriodCriticalPods", 0)
    if not given.gates.enabled("GracefulNodeShutdown"):
        if total > 0 or critical > 0:
            fields = "shutdownGracePeriod or shutdownGracePeriodCriticalPods"
            yield f"specifying {fields} requires feature gate GracefulNodeShutdown"
        return
    if critical > total:
        bound = f"must be <= shutdownGracePeriod {{{duration_text(total)}}}"
        yield f"shutdownGracePeriodCriticalPods {{{duration_text(critical)}}} {bound}"
    for name in ("shutdownGracePeriod", "shutdownGracePeriodCriticalPods"):
        period = given.config.get(name, 0)
        if period < 0 or 0 < period < SECOND:
            yield f"{name} {{{duration_text(period)}}} must be either zero or otherwise >= 1 sec"


def shutdown_by_priority(given: Given) -> Iterator[str]:
    config, gate = given.config, "GracefulNodeShutdownBasedOnPodPriority"
    if not config.get("shutdownGracePeriodByPodPriority"):
        return
    periods = ("shutdownGracePeriod", "shutdownGracePeriodCriticalPods")
    if not given.gates.enabled(gate):
        yield f"Specifying shutdownGracePeriodByPodPriority requires feature gate {gate}"
    elif any(config.get(name, 0) > 0 for name in periods):
        fields = "shutdownGracePeriodByPodPriority and shutdownGracePeriod"
        yield f"Cannot specify both {fields} at the same time"


def hairpin(given: Given) -> Iterator[str]:
    mode = given.config["hairpinMode"]
    if mode not in _HAIRPIN:
        options = f"Valid options are {alternatives(_HAIRPIN)}"
        yield f"option {quote(mode)} specified for hairpinMode (--hairpin-mode). {options}"


def cgroup_version(given: Given) -> Iterator[str]:
    if given.cgroup_v1 and given.config["failCgroupV1"]:
        support = "unsupported and will be removed in a future release"
        if not given.is_since(35):
            support = "in maintenance mode"
        host = "kubelet is configured to not run on a host using cgroup v1"
        yield f"{host}. cgroup v1 support is {support}"


def single_process_kill(given: Given) -> Iterator[str]:
    if given.cgroup_v1 and given.config.get("singleProcessOOMKill") is False:
        yield "singleProcessOOMKill must not be explicitly set to false when using cgroup v1"


def ids_per_pod(given: Given) -> Iterator[str]:
    ids: Any = given.config.get("userNamespaces", {}).get("idsPerPod")
    if ids is None:
        return
    if ids < _IDS:
        yield f"userNamespaces.idsPerPod must not be less than {_IDS}"
    elif ids % _IDS:
        yield f"userNamespaces.idsPerPod must be a multiple of {_IDS}"
    elif ids > _MOST_IDS:
        yield f"userNamespaces.idsPerPod must not be more than {_MOST_IDS}"


def default_sysctls(given: Given) -> Iterator[str]:
    """The kubelet's documentation says that it does not start; its text is not known."""
    for name in sorted(given.config.get("defaultPodSysctls") or {}):
        if not is_of_a_pod(name):
            yield f"defaultPodSysctls: sysctl {quote(name)} is invalid or not namespaced"

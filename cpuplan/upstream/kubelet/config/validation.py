"""What the kubelet refuses in its configuration (pkg/kubelet/apis/config/validation).

Read in 1.25 to 1.36; what 1.37 adds is from its documentation. Policies and options of the CPU and
memory managers are not looked at here: they fail when the managers are made. Fields that are
defaulted when empty have no rule.

Upstream: kubernetes/kubernetes pkg/kubelet/apis/config/validation/validation.go
  pkg/kubelet/apis/config/validation/validation_linux.go
  pkg/kubelet/apis/config/validation/validation_reserved_memory.go
  @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from cpuplan.facts.versions import Version
from cpuplan.upstream.kubelet.allowlist import is_of_a_pod
from cpuplan.upstream.kubelet.config import rules
from cpuplan.upstream.kubelet.config.rules import Check, Given, alternatives
from cpuplan.upstream.kubernetes.bits import parse_cpus
from cpuplan.upstream.kubernetes.durations import SECOND, duration_text
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import is_memory
from cpuplan.upstream.kubernetes.strconv import quote

_FLAG = "enforceNodeAllocatable (--enforce-node-allocatable)"
_ENFORCEABLE = (
    "pods",
    "system-reserved",
    "system-reserved-compressible",
    "kube-reserved",
    "kube-reserved-compressible",
)
_ENFORCEABLE_UNTIL_131 = ("pods", "system-reserved", "kube-reserved")
#: Values of memorySwap.swapBehavior.
_SWAP = ("LimitedSwap", "NoSwap")
_SWAP_UNTIL_129 = ("LimitedSwap", "UnlimitedSwap")
_TIERED = "TieredReservation"


def _enforceable(given: Given) -> tuple[str, ...]:
    return _ENFORCEABLE if given.is_since(32) else _ENFORCEABLE_UNTIL_131


def system_cgroups(given: Given) -> Iterator[str]:
    if given.config.get("systemCgroups") and not given.config.get("cgroupRoot"):
        missing = "cgroupRoot (--cgroup-root) was not specified"
        yield f"systemCgroups (--system-cgroups) was specified and {missing}"


def nothing_enforced(given: Given) -> Iterator[str]:
    """Until 1.30 without cgroupsPerQOS the list must be empty, even of "none"."""
    if not given.config["cgroupsPerQOS"] and given.config["enforceNodeAllocatable"]:
        condition = "unless cgroupsPerQOS (--cgroups-per-qos) is set to true"
        yield f"{_FLAG} is not supported {condition}"


def enforced_twice(given: Given) -> Iterator[str]:
    seen = set()
    for value in given.config["enforceNodeAllocatable"]:
        if value in seen:
            yield f"duplicated enforcements {quote(value)} in {_FLAG}"
        seen.add(value)


def compressible(given: Given) -> Iterator[str]:
    enforced = given.config["enforceNodeAllocatable"]
    for whole in ("system-reserved", "kube-reserved"):
        part = f"{whole}-compressible"
        if whole in enforced and part in enforced:
            yield f"both {quote(whole)} and {quote(part)} cannot be specified together in {_FLAG}"


def enforced(given: Given) -> Iterator[str]:
    """Values that are unknown, lack their cgroup, or stand beside "none"."""
    for value in _each_enforcement(given):
        if value == "none":
            if len(given.config["enforceNodeAllocatable"]) > 1:
                yield f'{_FLAG} may not contain additional enforcements when "none" is specified'
        elif value not in _enforceable(given):
            options = (*_enforceable(given), "none")
            listed = alternatives(options, comma=not given.is_since(32))
            yield f"option {quote(value)} specified for {_FLAG}. Valid options are {listed}"
        elif value != "pods":
            yield from _reserved_cgroup(given, value)


def _each_enforcement(given: Given) -> list[str]:
    """Since 1.31 a value that is there twice is looked at once."""
    values = given.config["enforceNodeAllocatable"]
    return list(dict.fromkeys(values)) if given.is_since(31) else list(values)


def _reserved_cgroup(given: Given, value: str) -> Iterator[str]:
    kind = value.removesuffix("-compressible")
    field = f"{kind.split('-')[0]}ReservedCgroup"
    if given.config.get(field):
        return
    condition = f'"{kind}" contained'
    if given.is_since(32):
        condition = f'"{kind}" or "{kind}-compressible" included'
    yield f"{field} (--{kind}-cgroup) must be specified when {condition} in {_FLAG}"


def cgroups_per_qos(given: Given) -> Iterator[str]:
    """Since 1.31 every known value but "none" needs the cgroups of the QoS classes."""
    if given.config["cgroupsPerQOS"]:
        return
    for value in _each_enforcement(given):
        if value in _enforceable(given):
            when = f"when {quote(value)} contained in {_FLAG}"
            yield f"cgroupsPerQOS (--cgroups-per-qos) must be set to true {when}"


def reserved_cpus(given: Given) -> Iterator[str]:
    config, cpus = given.config, given.config.get("reservedSystemCPUs")
    if not cpus:
        return
    if config.get("systemReservedCgroup") or config.get("kubeReservedCgroup"):
        system = "systemReservedCgroup (--system-reserved-cgroup)"
        kube = "kubeReservedCgroup (--kube-reserved-cgroup)"
        yield f"can't use reservedSystemCPUs (--reserved-cpus) with {system} or {kube}"
    try:
        parse_cpus(cpus)
    except KubeletError as error:
        yield f"unable to parse reservedSystemCPUs (--reserved-cpus) {cpus}, error: {error}"


def reserved_memory(given: Given) -> Iterator[str]:
    seen = set()
    for entry in given.config.get("reservedMemory", ()):
        node = entry.get("numaNode", 0)
        for kind, amount in sorted(entry.get("limits", {}).items()):
            where = f"NUMA node {node}"
            if not is_memory(kind):
                accepted = "only [memory hugepages-<HugePageSize>] is accepted"
                yield f"the limit type {quote(kind)} for {where} is not supported, {accepted}"
            place = f"for {where} and resource {quote(kind)}"
            if not amount.nano:
                yield f"reserved memory may not be zero {place}"
            if (node, kind) in seen:
                yield f"the reserved memory has a duplicate value {place}"
            seen.add((node, kind))


def swap(given: Given) -> Iterator[str]:
    if not given.gates.enabled("NodeSwap"):
        if given.config["memorySwap"].get("swapBehavior"):
            condition = "when NodeSwap feature flag is disabled"
            yield f"memorySwap.swapBehavior cannot be set {condition}"
        return
    behaviour = given.config["memorySwap"].get("swapBehavior", "")
    known = _SWAP if given.is_since(30) else _SWAP_UNTIL_129
    if behaviour not in ("", *known):
        listed = alternatives(("", *known), comma=not given.is_since(30))
        yield f"memorySwap.swapBehavior {quote(behaviour)} must be one of: {listed}"


def memory_reservation(given: Given) -> Iterator[str]:
    policy = given.config["memoryReservationPolicy"]
    if policy == _TIERED and not given.gates.enabled("MemoryQoS"):
        need = "requires MemoryQoS feature gate to be enabled"
        yield f"memoryReservationPolicy {quote(policy)} {need}"
    if policy not in ("None", _TIERED):
        listed = alternatives(("None", _TIERED))
        option = f"option {quote(policy)} specified for memoryReservationPolicy"
        yield f"{option}. Valid options are {listed}"


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


#: The first version that was read.
_FIRST: Version = (1, 25)
_ALWAYS: Version = (99, 0)


class Rule(NamedTuple):
    """A check, and the versions that have it: from `since` up to, not including, `until`.

    `is_plain`: its texts do not begin with "invalid configuration: ". Of the rules of one `stage`
    the kubelet reports the first that fails.
    """

    check: Check
    since: Version = _FIRST
    until: Version = _ALWAYS
    is_plain: bool = False
    stage: str = ""


#: Checks of the operating system (validation_linux.go).
_OS = "operating system"
#: Every rule, in the kubelet's order.
RULES: tuple[Rule, ...] = (
    Rule(rules.lease),
    Rule(nothing_enforced, until=(1, 31)),
    Rule(system_cgroups),
    Rule(rules.negative),
    Rule(rules.ranges),
    Rule(rules.quota_period),
    Rule(rules.image_thresholds),
    Rule(rules.maximum_age_gate, since=(1, 29)),
    Rule(rules.minimum_age, since=(1, 36)),
    Rule(rules.maximum_age, since=(1, 29)),
    Rule(rules.status_images),
    Rule(rules.parallel_pulls, since=(1, 27)),
    Rule(server_certificate),
    Rule(run_once, since=(1, 32)),
    Rule(taints, is_plain=True),
    Rule(taint_times),
    Rule(topology_gate, until=(1, 27)),
    Rule(topology),
    Rule(shutdown),
    Rule(shutdown_by_priority),
    Rule(swap),
    Rule(rules.restart_period, since=(1, 32)),
    Rule(compressible, since=(1, 32)),
    Rule(enforced_twice, since=(1, 31)),
    Rule(enforced),
    Rule(cgroups_per_qos, since=(1, 31)),
    Rule(hairpin),
    Rule(rules.pulled_secretly, since=(1, 33)),
    Rule(reserved_cpus),
    Rule(reserved_memory),
    Rule(cgroup_version, since=(1, 31), is_plain=True, stage=_OS),
    Rule(single_process_kill, since=(1, 32), stage=_OS),
    Rule(ids_per_pod, since=(1, 33), stage=_OS),
    Rule(default_sysctls, since=(1, 37), stage=_OS),
    Rule(rules.hidden_metrics, is_plain=True),
    Rule(rules.logging, is_plain=True),
    Rule(rules.tracing_gate, until=(1, 34)),
    Rule(rules.tracing, is_plain=True),
    Rule(rules.throttling_factor),
    Rule(memory_reservation, since=(1, 36)),
    Rule(rules.log_query, since=(1, 27)),
    Rule(rules.log_workers, since=(1, 30)),
    Rule(rules.log_interval, since=(1, 30)),
    Rule(rules.log_files, since=(1, 33)),
    Rule(rules.pod_logs, since=(1, 30)),
)


def validate(config: dict[str, Any], gates: Gates, *, cgroup_v1: bool = False) -> list[str]:
    """Every error of an effective configuration, in the kubelet's words."""
    given = Given(config, gates, cgroup_v1)
    errors: list[str] = []
    failed_stages: set[str] = set()
    for rule in RULES:
        if not rule.since <= gates.version < rule.until or rule.stage in failed_stages:
            continue
        texts = list(rule.check(given))
        errors += texts if rule.is_plain else [f"invalid configuration: {text}" for text in texts]
        if texts and rule.stage:
            failed_stages.add(rule.stage)
    return errors

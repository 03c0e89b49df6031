"""What the kubelet refuses in its configuration (pkg/kubelet/apis/config/validation/validation.go).

Policies and options of the CPU and memory managers are not looked at here: they fail when the
managers are made.
"""

from collections.abc import Callable, Iterator
from typing import Any

from cpuplan.kubelet.bits import parse_cpus
from cpuplan.kubelet.errors import KubeletError
from cpuplan.kubelet.go.durations import MILLISECOND, SECOND, duration_text
from cpuplan.kubelet.go.text import quote
from cpuplan.kubelet.pods.pod import is_memory
from cpuplan.kubelet.releases.features import Gates

Config = dict[str, Any]
#: Yields texts, without "invalid configuration: ".
Check = Callable[[Config, Gates], Iterator[str]]

MAX_PORT = 65535
#: (field, flag) of numbers that are not negative.
_NOT_NEGATIVE = (
    ("eventBurst", "event-burst"),
    ("eventRecordQPS", "event-qps"),
    ("kubeAPIBurst", "kube-api-burst"),
    ("kubeAPIQPS", "kube-api-qps"),
    ("maxOpenFiles", "max-open-files"),
    ("maxPods", "max-pods"),
    ("podsPerCore", "pods-per-core"),
    ("registryBurst", "registry-burst"),
    ("registryPullQPS", "registry-qps"),
)
#: (field, flag, lowest, highest, whether 0 is fine although it is below).
_RANGES = (
    ("healthzPort", "healthz-port", 1, MAX_PORT, True),
    ("imageGCHighThresholdPercent", "image-gc-high-threshold", 0, 100, False),
    ("imageGCLowThresholdPercent", "image-gc-low-threshold", 0, 100, False),
    ("iptablesDropBit", "iptables-drop-bit", 0, 31, False),
    ("iptablesMasqueradeBit", "iptables-masquerade-bit", 0, 31, False),
    ("oomScoreAdj", "oom-score-adj", -1000, 1000, False),
    ("port", "port", 1, MAX_PORT, False),
    ("readOnlyPort", "read-only-port", 0, MAX_PORT, False),
)
_ENFORCEABLE = (
    "pods",
    "system-reserved",
    "system-reserved-compressible",
    "kube-reserved",
    "kube-reserved-compressible",
)
_FLAG = "enforceNodeAllocatable (--enforce-node-allocatable)"
_HAIRPIN = ("none", "hairpin-veth", "promiscuous-bridge")
_PULL = (
    "NeverVerify",
    "NeverVerifyPreloadedImages",
    "NeverVerifyAllowlistedImages",
    "AlwaysVerify",
)
_IDS = 65536
_TAINT_EFFECTS = ("", "NoSchedule", "PreferNoSchedule", "NoExecute")


def validate(config: Config, gates: Gates, *, cgroup_v1: bool = False) -> list[str]:
    """Every error of an effective configuration, in the kubelet's words."""
    errors = [
        f"invalid configuration: {text}" for check in _CHECKS for text in check(config, gates)
    ]
    errors += [text for check in _OTHER_CHECKS for text in check(config, gates)]
    if cgroup_v1 and config.get("failCgroupV1"):
        text = "kubelet is configured to not run on a host using cgroup v1"
        errors.append(
            f"{text}. cgroup v1 support is unsupported and will be removed in a future release"
        )
    return errors


def _check_numbers(config: Config, gates: Gates) -> Iterator[str]:
    for name, flag in _NOT_NEGATIVE:
        if config.get(name, 0) < 0:
            yield f"{name} (--{flag}) {config[name]} must not be a negative number"
    for name, flag, lowest, highest, zero in _RANGES:
        number = config.get(name, 0)
        if not lowest <= number <= highest and not (zero and number == 0):
            yield f"{name} (--{flag}) {number} must be between {lowest} and {highest}, inclusive"
    low, high = config["imageGCLowThresholdPercent"], config["imageGCHighThresholdPercent"]
    if low >= high:
        than = f"imageGCHighThresholdPercent (--image-gc-high-threshold) {high}"
        yield f"imageGCLowThresholdPercent (--image-gc-low-threshold) {low} must be less than {than}"
    if config["nodeLeaseDurationSeconds"] <= 0:
        yield "nodeLeaseDurationSeconds must be greater than 0"
    if config["nodeStatusMaxImages"] < -1:
        number = config["nodeStatusMaxImages"]
        yield f"nodeStatusMaxImages (--node-status-max-images) {number} must be -1 or greater"


def _check_images(config: Config, gates: Gates) -> Iterator[str]:
    pulls = config.get("maxParallelImagePulls")
    if pulls is not None and pulls < 1:
        yield f"maxParallelImagePulls {pulls} must be a positive number"
    if pulls is not None and pulls > 1 and config["serializeImagePulls"]:
        flag = "SerializeImagePulls (--serialize-image-pulls)"
        yield f"maxParallelImagePulls cannot be larger than 1 unless {flag} is set to false"
    oldest, youngest = config.get("imageMaximumGCAge", 0), config["imageMinimumGCAge"]
    shown = f"imageMinimumGCAge {duration_text(youngest)}"
    if oldest < 0:
        yield f"imageMaximumGCAge {duration_text(oldest)} must not be negative"
    if youngest < 0:
        yield f"{shown} must not be negative"
    if 0 < oldest <= youngest:
        yield f"imageMaximumGCAge {duration_text(oldest)} must be greater than {shown}"
    policy, field = (
        config["imagePullCredentialsVerificationPolicy"],
        "imagePullCredentialsVerificationPolicy",
    )
    if policy not in _PULL:
        yield f"option {quote(policy)} specified for {field}. Valid options are {_or(_PULL)}"
    if (
        config.get("preloadedImagesVerificationAllowlist")
        and policy != "NeverVerifyAllowlistedImages"
    ):
        field = "`imagePullCredentialsVertificationPolicy`"
        yield f'can\'t set `preloadedImagesVerificationAllowlist` if {field} is not "NeverVerifyAllowlistedImages"'


def _or(words: tuple[str, ...]) -> str:
    quoted = [quote(word) for word in words]
    return f"{', '.join(quoted[:-1])} or {quoted[-1]}"


def _check_cpus(config: Config, gates: Gates) -> Iterator[str]:
    period, name = config["cpuCFSQuotaPeriod"], "cpuCFSQuotaPeriod (--cpu-cfs-quota-period)"
    if not gates.enabled("CustomCPUCFSQuotaPeriod"):
        if period != 100 * MILLISECOND:
            yield f"{name} {{{duration_text(period)}}} requires feature gate CustomCPUCFSQuotaPeriod"
    elif not MILLISECOND <= period <= SECOND:
        yield f"{name} {{{duration_text(period)}}} must be between 1ms and 1sec, inclusive"
    if cpus := config.get("reservedSystemCPUs"):
        if config.get("systemReservedCgroup") or config.get("kubeReservedCgroup"):
            groups = "systemReservedCgroup (--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)"
            yield f"can't use reservedSystemCPUs (--reserved-cpus) with {groups}"
        try:
            parse_cpus(cpus)
        except KubeletError as error:
            yield f"unable to parse reservedSystemCPUs (--reserved-cpus) {cpus}, error: {error}"


def _check_topology(config: Config, gates: Gates) -> Iterator[str]:
    policies = ("none", "best-effort", "restricted", "single-numa-node")
    policy, scope = config["topologyManagerPolicy"], config["topologyManagerScope"]
    if policy not in policies:
        listed = " ".join(map(quote, policies))
        yield f"topologyManagerPolicy (--topology-manager-policy) {quote(policy)} must be one of: [{listed}]"
    if scope not in ("container", "pod"):
        yield f'topologyManagerScope (--topology-manager-scope) {quote(scope)} must be one of: "container", or "pod"'


def _check_cgroups(config: Config, gates: Gates) -> Iterator[str]:
    if config.get("systemCgroups") and not config.get("cgroupRoot"):
        yield "systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not specified"
    enforced = config["enforceNodeAllocatable"]
    for first in ("system-reserved", "kube-reserved"):
        if first in enforced and f"{first}-compressible" in enforced:
            yield f"both {quote(first)} and {quote(f'{first}-compressible')} cannot be specified together in {_FLAG}"
    seen = set()
    for value in enforced:
        if value in seen:
            yield f"duplicated enforcements {quote(value)} in {_FLAG}"
        else:
            yield from _check_enforcement(config, value)
        seen.add(value)


def _check_enforcement(config: Config, value: str) -> Iterator[str]:
    if value == "none":
        if len(config["enforceNodeAllocatable"]) > 1:
            yield f'{_FLAG} may not contain additional enforcements when "none" is specified'
    elif value == "pods":
        if not config["cgroupsPerQOS"]:
            yield f'cgroupsPerQOS (--cgroups-per-qos) must be set to true when "pods" contained in {_FLAG}'
    elif value in _ENFORCEABLE:
        kind = value.removesuffix("-compressible")
        field = f"{kind.split('-')[0]}ReservedCgroup"
        if not config.get(field):
            both = f'"{kind}" or "{kind}-compressible"'
            yield f"{field} (--{kind}-cgroup) must be specified when {both} included in {_FLAG}"
    else:
        yield f"option {quote(value)} specified for {_FLAG}. Valid options are {_or((*_ENFORCEABLE, 'none'))}"


def _check_memory(config: Config, gates: Gates) -> Iterator[str]:
    swap = config["memorySwap"].get("swapBehavior", "")
    if swap not in ("", "LimitedSwap", "NoSwap"):
        yield f'memorySwap.swapBehavior {quote(swap)} must be one of: "", "LimitedSwap" or "NoSwap"'
    factor = config["memoryThrottlingFactor"]
    if not 0 < factor <= 1:
        yield f"memoryThrottlingFactor {factor:g} must be greater than 0 and less than or equal to 1.0"
    if config.get("memoryReservationPolicy") == "TieredReservation" and not gates.enabled(
        "MemoryQoS"
    ):
        yield 'memoryReservationPolicy "TieredReservation" requires MemoryQoS feature gate to be enabled'
    seen = set()
    for entry in config.get("reservedMemory", ()):
        node = entry.get("numaNode", 0)
        for kind, amount in sorted(entry.get("limits", {}).items()):
            if not is_memory(kind):
                accepted = "[memory hugepages-<HugePageSize>]"
                yield f"the limit type {quote(kind)} for NUMA node {node} is not supported, only {accepted} is accepted"
            elif not amount.nano:
                yield f"reserved memory may not be zero for NUMA node {node} and resource {quote(kind)}"
            elif (node, kind) in seen:
                yield f"the reserved memory has a duplicate value for NUMA node {node} and resource {quote(kind)}"
            seen.add((node, kind))


def _check_shutdown(config: Config, gates: Gates) -> Iterator[str]:
    total, critical = (
        config.get("shutdownGracePeriod", 0),
        config.get("shutdownGracePeriodCriticalPods", 0),
    )
    if gates.enabled("GracefulNodeShutdown"):
        shown = f"{{{duration_text(critical)}}} must be <= shutdownGracePeriod {{{duration_text(total)}}}"
        if critical > total:
            yield f"shutdownGracePeriodCriticalPods {shown}"
        for name, period in (
            ("shutdownGracePeriod", total),
            ("shutdownGracePeriodCriticalPods", critical),
        ):
            if period < 0 or 0 < period < SECOND:
                yield f"{name} {{{duration_text(period)}}} must be either zero or otherwise >= 1 sec"
    elif total > 0 or critical > 0:
        fields = "shutdownGracePeriod or shutdownGracePeriodCriticalPods"
        yield f"specifying {fields} requires feature gate GracefulNodeShutdown"
    if config.get("shutdownGracePeriodByPodPriority"):
        gate = "GracefulNodeShutdownBasedOnPodPriority"
        if not gates.enabled(gate):
            yield f"Specifying shutdownGracePeriodByPodPriority requires feature gate {gate}"
        elif total > 0 or critical > 0:
            yield "Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time"


def _check_rest(config: Config, gates: Gates) -> Iterator[str]:
    mode = config["hairpinMode"]
    if mode not in _HAIRPIN:
        yield f"option {quote(mode)} specified for hairpinMode (--hairpin-mode). Valid options are {_or(_HAIRPIN)}"
    if config.get("serverTLSBootstrap") and not gates.enabled("RotateKubeletServerCertificate"):
        yield "serverTLSBootstrap true requires feature gate RotateKubeletServerCertificate"
    if config["enableSystemLogQuery"] and not config["enableSystemLogHandler"]:
        yield "enableSystemLogHandler is required for enableSystemLogQuery"
    restart = config.get("crashLoopBackOff", {}).get("maxContainerRestartPeriod")
    if (
        restart is not None
        and not SECOND <= restart <= 300 * SECOND
        and gates.enabled("KubeletCrashLoopBackOffMax")
    ):
        got = f"(got: {restart / SECOND:g} seconds)"
        yield f"CrashLoopBackOff.MaxContainerRestartPeriod {got} must be set between 1s and 300s"
    ids = config.get("userNamespaces", {}).get("idsPerPod")
    if ids is not None:
        if ids < _IDS:
            yield f"userNamespaces.idsPerPod must not be less than {_IDS}"
        elif ids % _IDS:
            yield f"userNamespaces.idsPerPod must be a multiple of {_IDS}"


def _check_logs(config: Config, gates: Gates) -> Iterator[str]:
    import posixpath

    if config["containerLogMaxFiles"] <= 1:
        yield "containerLogMaxFiles must be greater than 1"
    if config["containerLogMaxWorkers"] < 1:
        yield "containerLogMaxWorkers must be greater than or equal to 1"
    if config["containerLogMonitorInterval"] < 3 * SECOND:
        yield "containerLogMonitorInterval must be a positive time duration greater than or equal to 3s"
    path = config["podLogsDir"]
    if not path.startswith("/"):
        yield f"pod logs path {quote(path)} must be absolute path"
    if posixpath.normpath(path) != path:
        yield f"pod logs path {quote(path)} must be normalized"
    if not path.isascii():
        yield f"pod logs path {quote(path)} mut contains ASCII characters only"


def _check_taints(config: Config, gates: Gates) -> Iterator[str]:
    """Texts without the usual beginning, but for the last."""
    for taint in config.get("registerWithTaints", ()):
        key, value, effect = (taint.get(name, "") for name in ("key", "value", "effect"))
        added = taint.get("timeAdded")
        if not key or effect not in _TAINT_EFFECTS:
            yield f"invalid taint: {{{key} {value} {effect} {_time(added)}}}"
        if added is not None:
            yield "invalid configuration: taint.TimeAdded is not nil"


def _time(text: str | None) -> str:
    if text is None:
        return "<nil>"
    return f"{text.replace('T', ' ').removesuffix('Z')} +0000 UTC"


def _check_logging_and_tracing(config: Config, gates: Gates) -> Iterator[str]:
    form = config.get("logging", {}).get("format", "")
    if form not in ("", "text", "json"):
        yield f"logging.format: Invalid value: {quote(form)}: Unsupported log format"
    tracing = config.get("tracing", {})
    rate, endpoint = tracing.get("samplingRatePerMillion"), tracing.get("endpoint")
    if rate is not None and rate < 0:
        yield f"tracing.samplingRatePerMillion: Invalid value: {rate}: sampling rate must be positive"
    if endpoint and "%" in endpoint.partition("/")[0] and ":" in endpoint.partition("/")[0]:
        problem = f"parse {quote(endpoint)}: first path segment in URL cannot contain colon"
        yield f"tracing.endpoint: Invalid value: {quote(endpoint)}: {problem}"


_CHECKS: tuple[Check, ...] = (
    _check_numbers,
    _check_images,
    _check_cpus,
    _check_topology,
    _check_cgroups,
    _check_memory,
    _check_shutdown,
    _check_rest,
    _check_logs,
)
_OTHER_CHECKS: tuple[Check, ...] = (_check_taints, _check_logging_and_tracing)

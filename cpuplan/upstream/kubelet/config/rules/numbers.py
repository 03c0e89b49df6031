"""Numbers and durations that are out of range."""

from collections.abc import Iterator

from cpuplan.upstream.kubelet.config.rules.base import Given
from cpuplan.upstream.kubelet.go.durations import MICROSECOND, MILLISECOND, SECOND, duration_text
from cpuplan.upstream.kubelet.go.text import float_text

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
#: (field, flag, lowest, highest, whether 0 is allowed although it is below).
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


def lease(given: Given) -> Iterator[str]:
    if given.config["nodeLeaseDurationSeconds"] <= 0:
        yield "nodeLeaseDurationSeconds must be greater than 0"


def negative(given: Given) -> Iterator[str]:
    for name, flag in _NOT_NEGATIVE:
        number = given.config.get(name, 0)
        if number < 0:
            yield f"{name} (--{flag}) {number} must not be a negative number"


def ranges(given: Given) -> Iterator[str]:
    for name, flag, lowest, highest, zero in _RANGES:
        number = given.config.get(name, 0)
        is_allowed_zero = zero and number == 0
        if not lowest <= number <= highest and not is_allowed_zero:
            yield f"{name} (--{flag}) {number} must be between {lowest} and {highest}, inclusive"


def quota_period(given: Given) -> Iterator[str]:
    period = given.config["cpuCFSQuotaPeriod"]
    shown = f"cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {{{duration_text(period)}}}"
    least, name = (MILLISECOND, "1ms") if given.is_since(26) else (MICROSECOND, "1usec")
    if not given.gates.enabled("CustomCPUCFSQuotaPeriod"):
        if period != 100 * MILLISECOND:
            yield f"{shown} requires feature gate CustomCPUCFSQuotaPeriod"
    elif not least <= period <= SECOND:
        yield f"{shown} must be between {name} and 1sec, inclusive"


def image_thresholds(given: Given) -> Iterator[str]:
    low = given.config["imageGCLowThresholdPercent"]
    high = given.config["imageGCHighThresholdPercent"]
    if low >= high:
        than = f"imageGCHighThresholdPercent (--image-gc-high-threshold) {high}"
        yield (
            f"imageGCLowThresholdPercent (--image-gc-low-threshold) {low} must be less than {than}"
        )


def status_images(given: Given) -> Iterator[str]:
    number = given.config["nodeStatusMaxImages"]
    if number < -1:
        yield f"nodeStatusMaxImages (--node-status-max-images) {number} must be -1 or greater"


def throttling_factor(given: Given) -> Iterator[str]:
    factor = given.config.get("memoryThrottlingFactor")
    if factor is not None and not 0 < factor <= 1:
        shown = f"memoryThrottlingFactor {float_text(factor)}"
        yield f"{shown} must be greater than 0 and less than or equal to 1.0"


def restart_period(given: Given) -> Iterator[str]:
    """The gate forbids the field when it is off; the range is compared in whole milliseconds."""
    period = given.config.get("crashLoopBackOff", {}).get("maxContainerRestartPeriod")
    if period is None:
        return
    field = "CrashLoopBackOff.MaxContainerRestartPeriod"
    if not given.gates.enabled("KubeletCrashLoopBackOffMax"):
        yield f"FeatureGate KubeletCrashLoopBackOffMax not enabled, {field} must not be set"
    elif not 1000 <= int(period / MILLISECOND) <= 300_000:
        seconds = float_text(period / SECOND)
        yield f"{field} (got: {seconds} seconds) must be set between 1s and 300s"


def log_workers(given: Given) -> Iterator[str]:
    if given.config["containerLogMaxWorkers"] < 1:
        yield "containerLogMaxWorkers must be greater than or equal to 1"


def log_interval(given: Given) -> Iterator[str]:
    if given.config["containerLogMonitorInterval"] < 3 * SECOND:
        bound = "a positive time duration greater than or equal to 3s"
        yield f"containerLogMonitorInterval must be {bound}"


def log_files(given: Given) -> Iterator[str]:
    if given.config["containerLogMaxFiles"] <= 1:
        yield "containerLogMaxFiles must be greater than 1"

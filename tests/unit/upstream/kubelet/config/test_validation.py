"""Every rule of a KubeletConfiguration: what fails, in which releases, and what is next to it."""

from typing import Any

import pytest

from cpuplan.facts.versions import Version
from cpuplan.upstream.kubelet.config.defaults import set_defaults
from cpuplan.upstream.kubelet.config.rules import Given
from cpuplan.upstream.kubelet.config.validation import RULES, validate
from cpuplan.upstream.kubernetes.durations import MILLISECOND, SECOND
from cpuplan.upstream.kubernetes.kube_features import LATEST, Gates
from cpuplan.upstream.kubernetes.quantity import ZERO, of

ENFORCE = "enforceNodeAllocatable (--enforce-node-allocatable)"
ALLOWLISTED = {"imagePullCredentialsVerificationPolicy": "NeverVerifyAllowlistedImages"}
TIMED = {"key": "a", "timeAdded": "2026-01-01T00:00:00Z"}
BY_PRIORITY: dict[str, Any] = {
    "shutdownGracePeriodByPodPriority": [{}],
    "shutdownGracePeriod": SECOND,
}
BOTH = ["kube-reserved", "kube-reserved-compressible"]


def errors(
    version: Version = LATEST, *, cgroup_v1: bool = False, off: str = "", **fields: Any
) -> list[str]:
    """What a kubelet says of `fields`, with the gate `off` switched off."""
    gates = Gates({off: False} if off else {}, version)
    config = set_defaults({"failCgroupV1": False, **fields}, gates)
    texts = validate(config, gates, cgroup_v1=cgroup_v1)
    return [text.removeprefix("invalid configuration: ") for text in texts]


def allowlist(*patterns: str) -> dict[str, Any]:
    return {**ALLOWLISTED, "preloadedImagesVerificationAllowlist": list(patterns)}


def taint(key: str, value: str = "", effect: str = "NoExecute") -> dict[str, Any]:
    return {"registerWithTaints": [{"key": key, "value": value, "effect": effect}]}


def tracing(**fields: Any) -> dict[str, Any]:
    return {"tracing": fields}


def restart(period: int) -> dict[str, Any]:
    return {"crashLoopBackOff": {"maxContainerRestartPeriod": period}}


def ids(number: int) -> dict[str, Any]:
    return {"userNamespaces": {"idsPerPod": number}}


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"nodeLeaseDurationSeconds": -1}, "nodeLeaseDurationSeconds must be greater than 0"),
    ({"systemCgroups": "/s"}, "cgroupRoot (--cgroup-root) was not specified"),
    ({"maxPods": -1}, "maxPods (--max-pods) -1 must not be a negative number"),
    ({"port": 65536}, "port (--port) 65536 must be between 1 and 65535, inclusive"),
    ({"cpuCFSQuotaPeriod": 2 * SECOND}, "{2s} must be between 1ms and 1sec, inclusive"),
    ({"cpuCFSQuotaPeriod": SECOND, "off": "CustomCPUCFSQuotaPeriod"}, "requires feature gate"),
    ({"imageGCLowThresholdPercent": 85}, "85 must be less than imageGCHighThresholdPercent"),
    ({"nodeStatusMaxImages": -2}, "-2 must be -1 or greater"),
    ({"serverTLSBootstrap": True, "off": "RotateKubeletServerCertificate"}, "requires feature"),
    ({"topologyManagerPolicy": "x"}, '"x" must be one of: ["none" "best-effort"'),
    ({"topologyManagerScope": "x"}, 'must be one of: "container", or "pod"'),
    ({"shutdownGracePeriod": 1}, "shutdownGracePeriod {1ns} must be either zero or otherwise"),
    ({"shutdownGracePeriodCriticalPods": SECOND}, "{1s} must be <= shutdownGracePeriod {0s}"),
    (BY_PRIORITY, "Cannot specify both shutdownGracePeriodByPodPriority and"),
    (BY_PRIORITY | {"off": "GracefulNodeShutdownBasedOnPodPriority"}, "requires feature gate"),
    ({"registerWithTaints": [TIMED]}, "taint.TimeAdded is not nil"),
    ({"hairpinMode": "x"}, 'Valid options are "none", "hairpin-veth" or "promiscuous-bridge"'),
    ({"reservedSystemCPUs": "a"}, "unable to parse reservedSystemCPUs (--reserved-cpus) a"),
    ({"reservedSystemCPUs": "0", "kubeReservedCgroup": "/k"}, "can't use reservedSystemCPUs"),
    ({"memoryThrottlingFactor": 1.1234567}, "memoryThrottlingFactor 1.1234567 must be greater"),
    ({"runOnce": True}, "runOnce (--runOnce) true, Runonce mode has been deprecated"),
    ({"memoryReservationPolicy": "x"}, 'Valid options are "None" or "TieredReservation"'),
    ({"memoryReservationPolicy": "TieredReservation"}, "requires MemoryQoS feature gate"),
    ({"logging": {"format": "x"}}, 'logging.format: Invalid value: "x": Unsupported log format'),
    ({"logging": {"verbosity": 1 << 31}}, "2147483648: Must be <= 2147483647"),
    ({"logging": {"format": "json", "vmodule": [{}]}}, "Forbidden: Only supported for text"),
    ({"logging": {"vmodule": [{}]}}, "logging.vmodule[0]: Required value: File pattern must"),
    ({"logging": {"vmodule": [{"filePattern": "a=b"}]}}, '"a=b": File pattern must not contain'),
    ({"logging": {"flushFrequency": "-1s"}}, 'Invalid value: "-1s": Must be greater than zero'),
    ({"logging": {"flushFrequency": -5}}, "Invalid value: -5: Must be greater than zero"),
    ({"logging": {"format": "json"}, "off": "LoggingBetaOptions"}, "Log format json is disabled"),
    ({"logging": {"options": {"json": {"splitStream": True}}}}, "options.json.splitStream: Forb"),
    ({"enableSystemLogQuery": True, "enableSystemLogHandler": False}, "Handler is required for"),
    ({"containerLogMaxWorkers": 0}, "containerLogMaxWorkers must be greater than or equal to 1"),
    ({"containerLogMonitorInterval": 2 * SECOND}, "greater than or equal to 3s"),
    ({"containerLogMaxFiles": 1}, "containerLogMaxFiles must be greater than 1"),
    ({"podLogsDir": "//var/log"}, '"//var/log" must be normalized'),
    ({"maxParallelImagePulls": 0}, "maxParallelImagePulls 0 must be a positive number"),
    ({"imageMinimumGCAge": -1}, "imageMinimumGCAge -1ns must not be negative"),
    ({"imageMaximumGCAge": -1}, "imageMaximumGCAge -1ns must not be negative"),
    ({"imageMaximumGCAge": SECOND}, "1s must be greater than imageMinimumGCAge 2m0s"),
    # Gates that forbid fields.
    (restart(SECOND) | {"off": "KubeletCrashLoopBackOffMax"}, "must not be set"),
    ({**ALLOWLISTED, "off": "KubeletEnsureSecretPulledImages"}, "must not be set if"),
    (allowlist("a") | {"off": "KubeletEnsureSecretPulledImages"}, "must not be set if"),
    # In whole milliseconds, printed with all digits.
    (restart(999_999_999), "(got: 0.999999999 seconds) must be set between 1s and 300s"),
    (restart(300 * SECOND + MILLISECOND), "(got: 300.001 seconds) must be set between"),
    ({"imagePullCredentialsVerificationPolicy": "x"}, 'option "x" specified for imagePull'),
    ({"preloadedImagesVerificationAllowlist": ["a"]}, "can't set `preloadedImages"),
    (allowlist("a "), "leading/trailing spaces are not allowed: a "),
    (allowlist(""), "the supplied pattern is too short: "),
    (allowlist("a*"), "only patterns ending with '/*' are allowed: a*"),
    (allowlist("/*"), "at least registry hostname is required"),
    (allowlist("a b"), "failed to parse as an image name: invalid reference format"),
    (allowlist("A"), "failed to parse as an image name: repository name must be lowercase"),
    (allowlist("a/" * 128 + "ab"), "repository name must not be more than 255 characters"),
    (allowlist("a:1"), "neither tag nor digest is accepted in an image reference: a:1"),
    (allowlist("a@sha256:" + "0" * 64), "neither tag nor digest is accepted"),
    (allowlist("a@sha256:" + "0" * 63), "invalid checksum digest length"),
    (allowlist("a@md5:" + "0" * 32), "unsupported digest algorithm"),
    (taint("a b"), "invalid taint: {a b  NoExecute <nil>}"),
    (taint(""), "invalid taint: {  NoExecute <nil>}"),
    (taint("/a"), "invalid taint: {/a  NoExecute <nil>}"),
    (taint("Example.com/a"), "invalid taint: {Example.com/a  NoExecute <nil>}"),
    (taint("a/b/c"), "invalid taint: {a/b/c  NoExecute <nil>}"),
    (taint("a" * 64), "invalid taint"),
    (taint("a", "-"), "invalid taint: {a - NoExecute <nil>}"),
    (taint("a", effect="Never"), "invalid taint: {a  Never <nil>}"),
    ({"enforceNodeAllocatable": ["none", "none"]}, "may not contain additional enforcements"),
    ({"enforceNodeAllocatable": ["x"]}, '"kube-reserved-compressible" or "none"'),
    (ids(65535), "userNamespaces.idsPerPod must not be less than 65536"),
    (ids(65537), "userNamespaces.idsPerPod must be a multiple of 65536"),
    (ids(1 << 32), "userNamespaces.idsPerPod must not be more than 4294967295"),
    (tracing(samplingRatePerMillion=-1), "-1: sampling rate must be positive"),
    (tracing(samplingRatePerMillion=1_000_001), "must be less than or equal to one million"),
    (tracing(endpoint="http://a"), '"http://a": unsupported scheme: http.  Options are none'),
    (tracing(endpoint="a:b"), 'parse "dns://a:b": invalid port ":b" after host'),
    (tracing(endpoint="a%://b"), "first path segment in URL cannot contain colon"),
    ({"memorySwap": {"swapBehavior": "UnlimitedSwap"}}, 'one of: "", "LimitedSwap" or "NoSwap"'),
]


@pytest.mark.parametrize(("given", "text"), WRONG, ids=str)
def test_wrong(given: dict[str, Any], text: str) -> None:
    problems = errors(**given)
    assert [error for error in problems if text in error], problems


FINE: list[dict[str, Any]] = [
    {},
    restart(300 * SECOND + 999_999),
    restart(SECOND),
    ids(65536),
    ids((1 << 32) - 65536),
    {"memoryReservationPolicy": "None"},
    {"enforceNodeAllocatable": ["none"], "cgroupsPerQOS": False},
    {"singleProcessOOMKill": False},
    {"runOnce": False},
    {"showHiddenMetricsForVersion": "1.35"},
    {"logging": {"format": "json", "flushFrequency": 0, "options": {"text": {}}}},
    allowlist("registry.example.com:5000/team/app", "localhost/*", "a/b_c/d"),
    taint("example.com/dedicated", "cpu-pinned", "PreferNoSchedule"),
    taint("a", effect=""),
    tracing(endpoint="localhost:4317", samplingRatePerMillion=1_000_000),
    tracing(endpoint="unix:///run/otel.sock"),
]


@pytest.mark.parametrize("given", FINE, ids=str)
def test_fine(given: dict[str, Any]) -> None:
    assert errors(**given) == []


#: (fields, part of the text, the first release that says so, the first that does not any more).
RELEASES: list[tuple[dict[str, Any], str, int, int]] = [
    ({"cpuCFSQuotaPeriod": 2 * SECOND, "on": "CustomCPUCFSQuotaPeriod"}, "1usec", 25, 26),
    ({"cgroupsPerQOS": False, "enforceNodeAllocatable": ["none"]}, "is not supported", 25, 31),
    ({"cgroupsPerQOS": False}, 'must be set to true when "pods"', 31, 99),
    ({"enforceNodeAllocatable": ["pods", "pods"]}, 'duplicated enforcements "pods"', 31, 99),
    ({"enforceNodeAllocatable": ["x"]}, '"kube-reserved", or "none"', 25, 32),
    ({"enforceNodeAllocatable": ["kube-reserved"]}, 'when "kube-reserved" contained', 25, 32),
    ({"enforceNodeAllocatable": ["kube-reserved"]}, "compressible", 32, 99),
    ({"imageMinimumGCAge": -1}, "imageMinimumGCAge -1ns must", 36, 99),
    ({"imageMaximumGCAge": -1}, "imageMaximumGCAge -1ns must", 29, 99),
    ({"imageMaximumGCAge": SECOND}, "option ImageMaximumGCAge", 29, 30),
    ({"maxParallelImagePulls": 0}, "positive number", 27, 99),
    ({"runOnce": True}, "Runonce", 32, 99),
    ({"topologyManagerScope": "pod", "off": "TopologyManager"}, "requires feature gate", 25, 27),
    ({"memorySwap": {"swapBehavior": "NoSwap"}}, "when NodeSwap feature flag is", 25, 30),
    ({"memorySwap": {"swapBehavior": "x"}, "on": "NodeSwap"}, 'or "UnlimitedSwap"', 25, 30),
    (restart(SECOND), "KubeletCrashLoopBackOffMax not enabled", 32, 35),
    (restart(1), "must be set between", 35, 99),
    (ALLOWLISTED, "must not be set if", 33, 35),
    ({"imagePullCredentialsVerificationPolicy": "x"}, 'option "x"', 35, 99),
    (ids(1), "idsPerPod", 33, 99),
    ({"showHiddenMetricsForVersion": "1.0"}, "--show-hidden-metrics-for-version must", 25, 36),
    ({"showHiddenMetricsForVersion": "1.0"}, "showHiddenMetricsForVersion: Invalid", 36, 99),
    (tracing(endpoint="a"), "tracing should not be configured", 25, 27),
    (tracing() | {"off": "KubeletTracing"}, "tracing should not be configured", 25, 34),
    ({"enforceNodeAllocatable": BOTH}, "cannot be specified together", 32, 99),
    ({"memoryReservationPolicy": "x"}, "memoryReservationPolicy", 36, 99),
    ({"enableSystemLogQuery": True}, "required for enableSystemLogHandler", 27, 35),
    ({"enableSystemLogQuery": True}, "required for enableSystemLogQuery", 35, 36),
    ({"containerLogMaxWorkers": 0}, "containerLogMaxWorkers", 30, 99),
    ({"containerLogMonitorInterval": 0}, "containerLogMonitorInterval", 30, 99),
    ({"containerLogMaxFiles": 1}, "containerLogMaxFiles", 33, 99),
    ({"podLogsDir": "logs"}, "pod logs path", 30, 99),
]


@pytest.mark.parametrize(("given", "text", "since", "until"), RELEASES, ids=str)
def test_by_release(given: dict[str, Any], text: str, since: int, until: int) -> None:
    fields = dict(given)
    switched = {fields.pop("on", ""): True, fields.pop("off", ""): False}
    for minor in range(25, 37):
        gates = Gates({gate: value for gate, value in switched.items() if gate}, (1, minor))
        problems = validate(set_defaults(fields, gates), gates)
        assert any(text in error for error in problems) is (since <= minor < until), (
            minor,
            problems,
        )


def test_every_enforcement_needs_the_cgroups_of_the_qos_classes() -> None:
    values = ["pods", "system-reserved", "kube-reserved-compressible", "x"]
    cgroups: dict[str, Any] = {"systemReservedCgroup": "/s", "kubeReservedCgroup": "/k"}
    problems = errors(cgroupsPerQOS=False, enforceNodeAllocatable=values, **cgroups)
    need = "cgroupsPerQOS (--cgroups-per-qos) must be set to true when"
    assert [error for error in problems if error.startswith(need)] == [
        f'{need} "{value}" contained in {ENFORCE}' for value in values[:3]
    ]
    assert len(problems) == 4


def test_what_is_reserved_of_an_unknown_type_can_be_zero_and_there_twice() -> None:
    entry = {"numaNode": 1, "limits": {"cpu": ZERO}}
    problems = errors(reservedMemory=[entry, entry, {"limits": {"hugepages-2Mi": of(1)}}])
    assert [error.partition(" for NUMA node 1")[0] for error in problems] == [
        'the limit type "cpu"',
        "reserved memory may not be zero",
        'the limit type "cpu"',
        "reserved memory may not be zero",
        "the reserved memory has a duplicate value",
    ]


def test_of_the_operating_systems_rules_only_the_first_is_reported() -> None:
    fields: dict[str, Any] = {"failCgroupV1": True, "singleProcessOOMKill": False, **ids(1)}
    (only,) = errors(cgroup_v1=True, **fields)
    assert only.endswith("unsupported and will be removed in a future release")
    (only,) = errors((1, 34), cgroup_v1=True, **fields)
    assert only.endswith("cgroup v1 support is in maintenance mode")
    (only,) = errors(cgroup_v1=True, **{**fields, "failCgroupV1": False})
    assert only == "singleProcessOOMKill must not be explicitly set to false when using cgroup v1"
    assert len(errors(cgroup_v1=False, **fields)) == 1
    assert errors((1, 31), cgroup_v1=True, singleProcessOOMKill=False) == []
    assert errors((1, 30), cgroup_v1=True, failCgroupV1=True) == []


@pytest.mark.parametrize(
    ("name", "is_taken"),
    [
        ("net.ipv4.ip_forward", True),
        ("net/ipv4/ip_forward", True),
        ("kernel.shmall", True),
        ("kernel.domainname", True),
        ("user.max_mnt_namespaces", True),
        ("fs.mqueue.msg_max", True),
        ("vm.swappiness", False),
        ("kernel.shm*", False),
        ("Net.core", False),
    ],
)
def test_sysctls_of_all_pods_are_of_a_namespace(name: str, is_taken: bool) -> None:
    sysctls: dict[str, Any] = {"defaultPodSysctls": {name: "1"}}
    refused = f'defaultPodSysctls: sysctl "{name}" is invalid or not namespaced'
    assert errors((1, 37), **sysctls) == ([] if is_taken else [refused])
    assert errors((1, 36), **sysctls) == []


def test_memory_is_not_throttled_by_default_from_1_37_on() -> None:
    assert set_defaults({}, Gates({}, (1, 36)))["memoryThrottlingFactor"] == 0.9
    assert "memoryThrottlingFactor" not in set_defaults({}, Gates({}, (1, 37)))
    assert errors((1, 37)) == []
    assert len(errors((1, 37), memoryThrottlingFactor=1.5)) == 1


def test_every_rule_can_fail() -> None:
    """A rule that no case of this file breaks is not tested."""
    cases: list[tuple[dict[str, Any], dict[str, bool]]] = []
    rows = [given for given, _ in WRONG] + [row[0] for row in RELEASES]
    rows += [
        {"reservedMemory": [{"limits": {"memory": ZERO}}]},
        {"imageMaximumGCAge": SECOND, "off": "ImageMaximumGCAge"},
        {**tracing(endpoint="a"), "off": "KubeletTracing"},
        {"failCgroupV1": True},
        {"failCgroupV1": False, "singleProcessOOMKill": False},
        {"defaultPodSysctls": {"vm.swappiness": "1"}},
    ]
    for row in rows:
        fields = dict(row)
        switched = {fields.pop("on", ""): True, fields.pop("off", ""): False}
        cases.append((fields, {gate: value for gate, value in switched.items() if gate}))
    for rule in RULES:
        version = max(rule.since, min(LATEST, (rule.until[0], rule.until[1] - 1)))
        failing = 0
        for fields, switched in cases:
            gates = Gates(switched, version)
            checked = set_defaults(fields, gates)
            alone = Given(checked, gates, cgroup_v1=True)
            failing += any(rule.check(alone))
        assert failing, rule

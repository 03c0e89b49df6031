"""Logs, metrics and traces.

Upstream: kubernetes/kubernetes pkg/kubelet/apis/config/validation/validation.go
  staging/src/k8s.io/component-base/logs/api/v1/options.go
  staging/src/k8s.io/component-base/tracing/api/v1/config.go
  @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from cpuplan.base.patterns import expression
from cpuplan.upstream.kubernetes.durations import (
    MICROSECOND,
    MILLISECOND,
    SECOND,
    duration_text,
    parse_duration,
)
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.strconv import float_text, quote


class Given(NamedTuple):
    """An effective configuration, the kubelet's gates, and the host's cgroup version."""

    config: dict[str, Any]
    gates: Gates
    cgroup_v1: bool = False

    def is_since(self, minor: int) -> bool:
        """Whether the kubelet is of version 1.`minor` or later."""
        return self.gates.version >= (1, minor)


#: Yields the kubelet's texts, without "invalid configuration: ".
Check = Callable[[Given], Iterator[str]]


def alternatives(words: Sequence[str], *, comma: bool = False) -> str:
    """`"a", "b" or "c"`; with `comma` one stands before the last word too."""
    quoted = [quote(word) for word in words]
    return f"{', '.join(quoted[:-1])}{',' if comma else ''} or {quoted[-1]}"


_ALLOWLISTED = "NeverVerifyAllowlistedImages"
_POLICIES = ("NeverVerify", "NeverVerifyPreloadedImages", _ALLOWLISTED, "AlwaysVerify")
_POLICY_FIELD = "imagePullCredentialsVerificationPolicy"
_ALLOWLIST_FIELD = "preloadedImagesVerificationAllowlist"

#: References to images (github.com/distribution/reference).
_HOST_PART = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_HOST = rf"(?:{_HOST_PART}(?:\.{_HOST_PART})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_PATH_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_PATH = rf"{_PATH_PART}(?:/{_PATH_PART})*"
_TAG = r"[0-9A-Za-z_][0-9A-Za-z_.-]{0,127}"
_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_REFERENCE = expression(rf"((?:{_HOST}/)?{_PATH})(?::({_TAG}))?(?:@({_DIGEST}))?")
_NAME = expression(rf"(?:{_HOST}/)?({_PATH})")
_MAX_PATH = 255
#: Characters of the digests that Go knows.
_DIGEST_SIZES = {"sha256": 64, "sha384": 96, "sha512": 128}


def maximum_age_gate(given: Given) -> Iterator[str]:
    if given.config.get("imageMaximumGCAge", 0) and not given.gates.enabled("ImageMaximumGCAge"):
        option = "imageMaximumGCAge" if given.is_since(30) else "ImageMaximumGCAge"
        what = f"Kubelet configuration option {option}"
        yield f"ImageMaximumGCAge feature gate is required for {what}"


def minimum_age(given: Given) -> Iterator[str]:
    age = given.config["imageMinimumGCAge"]
    if age < 0:
        yield f"imageMinimumGCAge {duration_text(age)} must not be negative"


def maximum_age(given: Given) -> Iterator[str]:
    oldest = given.config.get("imageMaximumGCAge", 0)
    youngest = given.config["imageMinimumGCAge"]
    shown = f"imageMaximumGCAge {duration_text(oldest)}"
    if oldest < 0:
        yield f"{shown} must not be negative"
    if 0 < oldest <= youngest:
        yield f"{shown} must be greater than imageMinimumGCAge {duration_text(youngest)}"


def parallel_pulls(given: Given) -> Iterator[str]:
    pulls = given.config.get("maxParallelImagePulls")
    if pulls is None:
        return
    if pulls < 1:
        yield f"maxParallelImagePulls {pulls} must be a positive number"
    if pulls > 1 and given.config["serializeImagePulls"]:
        flag = "SerializeImagePulls (--serialize-image-pulls)"
        yield f"maxParallelImagePulls cannot be larger than 1 unless {flag} is set to false"


def pulled_secretly(given: Given) -> Iterator[str]:
    """Policy and allowlist of KubeletEnsureSecretPulledImages, without which neither may be set."""
    policy = given.config.get(_POLICY_FIELD, "")
    patterns = given.config.get(_ALLOWLIST_FIELD, ())
    if not given.gates.enabled("KubeletEnsureSecretPulledImages"):
        reason = "must not be set if KubeletEnsureSecretPulledImages feature gate is not enabled"
        for field, value in ((_POLICY_FIELD, policy), (_ALLOWLIST_FIELD, patterns)):
            if value:
                yield f"`{field}` {reason}"
        return
    if policy not in _POLICIES:
        options = f"Valid options are {alternatives(_POLICIES)}"
        yield f'option "{policy}" specified for {_POLICY_FIELD}. {options}'
    if patterns and policy != _ALLOWLISTED:
        field = "`imagePullCredentialsVertificationPolicy`"
        yield f'can\'t set `{_ALLOWLIST_FIELD}` if {field} is not "{_ALLOWLISTED}"'
        return
    try:
        for pattern in patterns:
            _check_pattern(pattern)
    except KubeletError as error:
        yield f"invalid image pattern in `{_ALLOWLIST_FIELD}`: {error}"


def _check_pattern(pattern: str) -> None:
    """KubeletError unless it is an image without tag and digest, or a prefix and `/*`."""
    if pattern != pattern.strip():
        raise KubeletError(f"leading/trailing spaces are not allowed: {pattern}")
    name = pattern[:-1] if pattern.endswith("/*") else pattern
    if not name:
        raise KubeletError(f"the supplied pattern is too short: {pattern}")
    if "*" in name:
        rule = "only patterns ending with '/*' are allowed"
        raise KubeletError(f"not a valid wildcard pattern, {rule}: {pattern}")
    if name == pattern:
        _check_name(name)
    elif name == "/":
        raise KubeletError("at least registry hostname is required")


def _check_name(image: str) -> None:
    reference = _REFERENCE.fullmatch(image)
    try:
        if reference is None:
            is_lower = not _REFERENCE.fullmatch(image.lower())
            problem = (
                "invalid reference format" if is_lower else "repository name must be lowercase"
            )
            raise KubeletError(problem)
        path = _NAME.fullmatch(reference[1])
        if path and len(path[1]) > _MAX_PATH:
            raise KubeletError(f"repository name must not be more than {_MAX_PATH} characters")
        if reference[3]:
            _check_digest(reference[3])
    except KubeletError as error:
        raise KubeletError(f"failed to parse as an image name: {error}") from None
    if reference[2] or reference[3]:
        problem = "neither tag nor digest is accepted in an image reference"
        raise KubeletError(f"{problem}: {image}")


def _check_digest(digest: str) -> None:
    algorithm, _, encoded = digest.partition(":")
    if algorithm not in _DIGEST_SIZES:
        is_formed = re.fullmatch(r"[a-z0-9]+(?:[.+_-][a-z0-9]+)*", algorithm)
        raise KubeletError(
            "unsupported digest algorithm" if is_formed else "invalid checksum digest format"
        )
    if len(encoded) != _DIGEST_SIZES[algorithm]:
        raise KubeletError("invalid checksum digest length")
    if encoded != encoded.lower():
        raise KubeletError("invalid checksum digest format")


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


_MAX_INT32 = (1 << 31) - 1
_MILLION = 1_000_000
_SCHEMES = ("dns", "unix", "unix-abstract")
_SCHEME = expression(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
_PORT = expression(r":[0-9]*")
_NAMING = "https://github.com/grpc/grpc/blob/master/doc/naming.md"


def hidden_metrics(given: Given) -> Iterator[str]:
    """Only the previous minor version may be named."""
    named = given.config.get("showHiddenMetricsForVersion", "")
    major, minor = given.gates.version
    previous = f"{major}.{minor - 1}"
    if named in ("", previous):
        return
    if given.is_since(36):
        field = "showHiddenMetricsForVersion"
        rule = f"must be omitted or have the value '{previous}'"
        only = "only the previous minor version is allowed"
        yield f"invalid {field}: {field}: Invalid value: {quote(named)}: {rule}; {only}"
    else:
        rule = f"must be omitted or have the value '{previous}'"
        only = "Only the previous minor version is allowed"
        yield f"--show-hidden-metrics-for-version {rule}. {only}"


def logging(given: Given) -> Iterator[str]:
    config = given.config.get("logging", {})
    form, verbosity = config.get("format", ""), config.get("verbosity", 0)
    yield from _flush(config.get("flushFrequency"))
    if form not in ("", "text", "json"):
        yield f"logging.format: Invalid value: {quote(form)}: Unsupported log format"
    if form == "json" and not given.gates.enabled("LoggingBetaOptions"):
        see = "see LoggingBetaOptions feature"
        yield f"logging.format: Forbidden: Log format json is disabled, {see}"
    if verbosity > _MAX_INT32:
        yield f"logging.verbosity: Invalid value: {verbosity}: Must be <= {_MAX_INT32}"
    if config.get("vmodule") and form not in ("", "text"):
        yield "logging.vmodule: Forbidden: Only supported for text log format"
    for index, item in enumerate(config.get("vmodule", ())):
        yield from _module(f"logging.vmodule[{index}]", item)
    if not given.gates.enabled("LoggingAlphaOptions"):
        yield from _alpha_options(config.get("options", {}))


def _flush(frequency: Any) -> Iterator[str]:
    """A negative duration, in nanoseconds where it is a number; 0 is replaced by the default."""
    nanoseconds = parse_duration(frequency) if isinstance(frequency, str) else frequency or 0
    if nanoseconds < 0:
        shown = quote(duration_text(nanoseconds)) if isinstance(frequency, str) else nanoseconds
        yield f"logging.flushFrequency: Invalid value: {shown}: Must be greater than zero"


def _module(place: str, item: dict[str, Any]) -> Iterator[str]:
    pattern, verbosity = item.get("filePattern", ""), item.get("verbosity", 0)
    if not pattern:
        yield f"{place}: Required value: File pattern must not be empty"
    if set("=,") & set(pattern):
        problem = "File pattern must not contain equal sign or comma"
        yield f"{place}: Invalid value: {quote(pattern)}: {problem}"
    if verbosity > _MAX_INT32:
        yield f"{place}: Invalid value: {verbosity}: Must be <= {_MAX_INT32}"


def _alpha_options(options: dict[str, Any]) -> Iterator[str]:
    for form in ("text", "json"):
        for name in ("splitStream", "infoBufferSize"):
            if options.get(form, {}).get(name) not in (None, False, 0, "0"):
                place = f"logging.options.{form}.{name}"
                yield f"{place}: Forbidden: Feature LoggingAlphaOptions is disabled"


def log_query(given: Given) -> Iterator[str]:
    config = given.config
    if not config["enableSystemLogQuery"]:
        return
    if not given.gates.enabled("NodeLogQuery"):
        field = "enableSystemLogQuery" if given.is_since(35) else "enableSystemLogHandler"
        yield f"NodeLogQuery feature gate is required for {field}"
    if not config["enableSystemLogHandler"]:
        yield "enableSystemLogHandler is required for enableSystemLogQuery"


def pod_logs(given: Given) -> Iterator[str]:
    path = given.config["podLogsDir"]
    if not path.startswith("/"):
        yield f"pod logs path {quote(path)} must be absolute path"
    # Two slashes at the start, which POSIX keeps, are one to Go.
    if path.startswith("//") or posixpath.normpath(path) != path:
        yield f"pod logs path {quote(path)} must be normalized"
    if not path.isascii():
        yield f"pod logs path {quote(path)} mut contains ASCII characters only"


def tracing_gate(given: Given) -> Iterator[str]:
    if "tracing" in given.config and not given.gates.enabled("KubeletTracing"):
        yield "tracing should not be configured if KubeletTracing feature flag is disabled."


def tracing(given: Given) -> Iterator[str]:
    if not given.gates.enabled("KubeletTracing"):
        return
    config = given.config.get("tracing", {})
    rate = config.get("samplingRatePerMillion") or 0
    shown = f"tracing.samplingRatePerMillion: Invalid value: {rate}"
    if rate < 0:
        yield f"{shown}: sampling rate must be positive"
    if rate > _MILLION:
        yield f"{shown}: sampling rate per million must be less than or equal to one million"
    if "endpoint" in config:
        yield from _endpoint(config["endpoint"])


def _endpoint(endpoint: str) -> Iterator[str]:
    address = endpoint if "//" in endpoint else f"dns://{endpoint}"
    shown = f"tracing.endpoint: Invalid value: {quote(address)}"
    scheme = _SCHEME.fullmatch(address)
    problem = _url_problem(address, scheme[2] if scheme else "")
    if problem:
        yield f"{shown}: parse {quote(address)}: {problem}"
        return
    name = scheme[1].lower() if scheme else ""
    if name not in _SCHEMES:
        options = "Options are none, dns, unix, or unix-abstract"
        yield f"{shown}: unsupported scheme: {name}.  {options}.  See {_NAMING}"


def _url_problem(address: str, rest: str) -> str:
    """What Go's url.Parse says of an address; empty without a problem that is known here."""
    if address.startswith(":"):
        return "missing protocol scheme"
    if not rest:
        is_colon_first = ":" in address.partition("/")[0]
        return "first path segment in URL cannot contain colon" if is_colon_first else ""
    host = re.split(r"[/?#]", rest.removeprefix("//"), maxsplit=1)[0].rpartition("@")[2]
    after = host.rpartition("]")[2] if host.startswith("[") else host
    colon = after.find(":") if host.startswith("[") else after.rfind(":")
    port = after[colon:] if colon >= 0 else ""
    if rest.startswith("//") and not _PORT.fullmatch(port or ":"):
        return f"invalid port {quote(port)} after host"
    return ""

"""Logs, metrics and traces."""

import posixpath
import re
from collections.abc import Iterator
from typing import Any

from cpuplan.upstream.kubelet.config.rules.base import Given
from cpuplan.upstream.kubelet.go.durations import duration_text, parse_duration
from cpuplan.upstream.kubelet.go.text import quote

_MAX_INT32 = (1 << 31) - 1
_MILLION = 1_000_000
_SCHEMES = ("dns", "unix", "unix-abstract")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
_PORT = re.compile(r":[0-9]*")
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

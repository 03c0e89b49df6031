"""The kubelet's command line: its files, and the fields that flags set.

From cmd/kubelet/app/options/options.go and github.com/spf13/pflag, read in 1.25 to 1.36. Flags win
over all files (kubeletConfigFlagPrecedence); only feature gates are merged.

Upstream: kubernetes/kubernetes cmd/kubelet/app/options/options.go
  vendor/github.com/spf13/pflag/flag.go @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.upstream.kubelet.config.codec import merge
from cpuplan.upstream.kubelet.config.types import KIND, STRUCTS
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.strconv import parse_bool, quote

#: Flags that are spelt unlike their field; the others are the field in words with dashes.
_OTHER_NAMES = {
    "anonymous-auth": "authentication.anonymous.enabled",
    "authentication-token-webhook": "authentication.webhook.enabled",
    "authentication-token-webhook-cache-ttl": "authentication.webhook.cacheTTL",
    "authorization-mode": "authorization.mode",
    "authorization-webhook-cache-authorized-ttl": "authorization.webhook.cacheAuthorizedTTL",
    "authorization-webhook-cache-unauthorized-ttl": "authorization.webhook.cacheUnauthorizedTTL",
    "client-ca-file": "authentication.x509.clientCAFile",
    "contention-profiling": "enableContentionProfiling",
    "event-qps": "eventRecordQPS",
    "http-check-frequency": "httpCheckFrequency",
    "image-gc-high-threshold": "imageGCHighThresholdPercent",
    "image-gc-low-threshold": "imageGCLowThresholdPercent",
    "kube-api-content-type": "contentType",
    "log-flush-frequency": "logging.flushFrequency",
    "logging-format": "logging.format",
    "manifest-url": "staticPodURL",
    "minimum-image-ttl-duration": "imageMinimumGCAge",
    "pod-manifest-path": "staticPodPath",
    "pod-max-pids": "podPidsLimit",
    "registry-qps": "registryPullQPS",
    "reserved-cpus": "reservedSystemCPUs",
    "resolv-conf": "resolvConf",
    "rotate-server-certificates": "serverTLSBootstrap",
    "runonce": "runOnce",
    "v": "logging.verbosity",
}
#: Fields whose flags are their names in words.
_SAME_NAMES = """
    address allowedUnsafeSysctls cgroupDriver cgroupRoot cgroupsPerQOS clusterDNS clusterDomain
    containerLogMaxFiles containerLogMaxSize containerRuntimeEndpoint cpuCFSQuota cpuCFSQuotaPeriod
    cpuManagerPolicy cpuManagerPolicyOptions cpuManagerReconcilePeriod enableControllerAttachDetach
    enableDebuggingHandlers enableServer enforceNodeAllocatable eventBurst evictionHard
    evictionMaxPodGracePeriod evictionMinimumReclaim evictionPressureTransitionPeriod evictionSoft
    evictionSoftGracePeriod failSwapOn featureGates fileCheckFrequency hairpinMode
    healthzBindAddress healthzPort imageServiceEndpoint iptablesDropBit iptablesMasqueradeBit
    kernelMemcgNotification kubeAPIBurst kubeAPIQPS kubeReserved kubeReservedCgroup kubeletCgroups
    localStorageCapacityIsolation makeIPTablesUtilChains maxOpenFiles maxPods memoryManagerPolicy
    nodeStatusMaxImages nodeStatusUpdateFrequency oomScoreAdj podCIDR podsPerCore port
    protectKernelDefaults providerID qosReserved readOnlyPort registerNode registerWithTaints
    registryBurst reservedMemory rotateCertificates runtimeRequestTimeout seccompDefault
    serializeImagePulls streamingConnectionIdleTimeout syncFrequency systemCgroups systemReserved
    systemReservedCgroup tlsCertFile tlsCipherSuites tlsMinVersion tlsPrivateKeyFile
    topologyManagerPolicy topologyManagerPolicyOptions topologyManagerScope volumePluginDir
    volumeStatsAggPeriod
"""
_ACRONYMS = ("CFS", "QOS", "DNS", "API", "QPS", "CIDR", "ID", "IPTables")
#: Flags beside the configuration that stand alone, without a value.
_ALONE = """
    add-dir-header alsologtostderr exit-on-lock-contention help keep-terminated-pod-volumes
    logtostderr one-output register-schedulable skip-headers skip-log-headers version
"""
SWITCHES = frozenset(_ALONE.split())


def _dashed(field: str) -> str:
    """`cpu-cfs-quota-period` of `cpuCFSQuotaPeriod`."""
    for acronym in _ACRONYMS:
        field = field.replace(acronym, acronym.capitalize())
    return re.sub(r"(?<!\A)([A-Z])", r"-\1", field).lower()


FLAG_FIELDS: Mapping[str, str] = {
    **{_dashed(field): field for field in _SAME_NAMES.split()},
    **_OTHER_NAMES,
}


def type_of(field: str) -> str:
    """The Go type of a field, without a pointer."""
    struct = KIND
    for part in field.split("."):
        struct = STRUCTS[struct][part].removeprefix("*")
    return struct


_MAP_OF_LESS = ("evictionHard", "evictionSoft")
#: One pair each time (NewMapStringStringNoSplit).
_ONE_PAIR = ("cpuManagerPolicyOptions", "topologyManagerPolicyOptions")
_RESERVATION = re.compile(r"([0-9]+):([^:;]+)\Z")
_TAINT = re.compile(r"([^=:]+)(?:=([^:]*))?:(.+)\Z")


class Flags(NamedTuple):
    """What a command line says: files, folders, and fields as a file of configuration has them.

    `spelt` has the flag of each field, which is a path with points.
    """

    config: str = ""
    config_dir: str = ""
    root_dir: str = "/var/lib/kubelet"
    fields: Mapping[str, Any] = {}
    spelt: Mapping[str, str] = {}


def parse_flags(words: Sequence[str]) -> Flags:
    """The arguments of a kubelet, without its name. KubeletError where it does not take them."""
    others: dict[str, str] = {}
    fields: dict[str, Any] = {}
    spelt: dict[str, str] = {}
    for name, value in _given(words):
        field = FLAG_FIELDS.get(name)
        if field is None:
            others[name] = value
            continue
        try:
            _set(fields, field, value, is_first=field not in spelt)
        except KubeletError as error:
            given = f"invalid argument {quote(value)} for {quote('--' + name)} flag"
            raise KubeletError(f"failed to parse kubelet flag: {given}: {error}") from None
        spelt[field] = f"--{name}"
    root = others.get("root-dir") or "/var/lib/kubelet"
    return Flags(others.get("config", ""), others.get("config-dir", ""), root, fields, spelt)


def _given(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(name, value) of each flag as pflag takes them apart; underscores are dashes."""
    left = list(reversed(words))
    while left:
        word = left.pop()
        if not word.startswith("-") or word == "-":
            raise KubeletError(f"unknown command {word}")
        name, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("--"):
            name, value = name[:1], name[1:] + value
            equals = "=" if value else ""
        name = name.replace("_", "-")
        if not equals and _is_switch(name):
            value = "true"
        elif not equals:
            if not left:
                raise KubeletError(f"failed to parse kubelet flag: flag needs an argument: {word}")
            value = left.pop()
        yield name, value


def _is_switch(name: str) -> bool:
    return name in SWITCHES or (name in FLAG_FIELDS and type_of(FLAG_FIELDS[name]) == "bool")


def _set(fields: dict[str, Any], field: str, value: str, *, is_first: bool) -> None:
    """A value at its place; of a list or map, the first flag discards what files say."""
    *parents, name = field.split(".")
    table = fields
    for parent in parents:
        table = table.setdefault(parent, {})
    go_type = type_of(field)
    if go_type.startswith("map["):
        entries = _pairs(name, value, go_type)
        table[name] = entries if is_first else {**table[name], **entries}
    elif go_type.startswith("[]"):
        items = _READ_LIST.get(go_type, _texts)(value)
        table[name] = items if is_first else [*table[name], *items]
    else:
        table[name] = _scalar(value, go_type)


def _scalar(value: str, go_type: str) -> Any:
    if go_type == "bool":
        return parse_bool(value)
    if go_type in ("int32", "int64", "v1.VerbosityLevel"):
        try:
            return int(value, 0)
        except ValueError:
            problem = f"strconv.ParseInt: parsing {quote(value)}: invalid syntax"
            raise KubeletError(problem) from None
    return value


def _pairs(name: str, value: str, go_type: str) -> dict[str, Any]:
    """A map as flags have it: `memory=1Gi,cpu=1`, and `memory.available<100Mi` for thresholds."""
    separator = "<" if name in _MAP_OF_LESS else "="
    pairs: dict[str, Any] = {}
    for pair in [value] if name in _ONE_PAIR else filter(None, value.split(",")):
        key, sign, text = pair.partition(separator)
        if not sign:
            kind = "bool" if go_type.endswith("bool") else "string"
            raise KubeletError(f"malformed pair, expect string{separator}{kind}")
        is_flag = go_type.endswith("bool")
        pairs[key.strip()] = parse_bool(text.strip()) if is_flag else text.strip()
    return pairs


def _texts(value: str) -> list[str]:
    return value.split(",") if value else []


def _reservations(value: str) -> list[dict[str, Any]]:
    """`0:memory=1Gi,hugepages-2Mi=2Gi`, several with semicolons between them."""
    reservations = []
    for text in value.split(";") if value else []:
        match = _RESERVATION.match(text)
        if match is None:
            form = "numaNodeID:type=quantity[,type=quantity...]"
            raise KubeletError(
                f"the reserved memory has incorrect format, expected {form}, got {text}"
            )
        limits = _pairs("limits", match[2], "map[string]Quantity")
        reservations.append({"numaNode": int(match[1]), "limits": limits})
    return reservations


def _taints(value: str) -> list[dict[str, str]]:
    """`key=value:effect`, with commas between several."""
    taints = []
    for text in _texts(value):
        match = _TAINT.match(text)
        if match is None:
            raise KubeletError(f"invalid taint spec: {text}")
        taints.append({"key": match[1], "value": match[2] or "", "effect": match[3]})
    return taints


_READ_LIST: Mapping[str, Callable[[str], list[Any]]] = {
    "[]MemoryReservation": _reservations,
    "[]Taint": _taints,
}


def override(config: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration with the fields of flags: each replaces, gates and structs are merged."""
    merged = dict(config)
    for name, value in fields.items():
        is_merged = name == "featureGates" or type_of(name) in STRUCTS
        merged[name] = merge(merged.get(name), value) if is_merged else value
    return merged

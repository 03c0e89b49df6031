"""The fields of a KubeletConfiguration and their Go types, as of 1.37.

From staging/src/k8s.io/kubelet/config/v1beta1/types.go.

The API server and the kubelet's lenient reader drop a misspelt field in silence; a wrong type stops
the kubelet.

Upstream: kubernetes/kubernetes staging/src/k8s.io/kubelet/config/v1beta1/types.go
  @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from cpuplan.facts.versions import Version

#: A Go type by name: a scalar, `[]` or `map[string]` of one, `*` for one that can be absent, or a
#: struct.
Fields = Mapping[str, str]

KIND = "KubeletConfiguration"
API_VERSION = "kubelet.config.k8s.io/v1beta1"
#: Python types of the JSON that a Go type holds, and the words for them; pointers and named structs
#: aside.
_JSON: dict[str, tuple[tuple[type, ...], str]] = {
    "string": ((str,), "text"),
    "metav1.Duration": ((str,), 'a duration such as "10s"'),
    "int32": ((int,), "a whole number"),
    "int64": ((int,), "a whole number"),
    "float64": ((int, float), "a number"),
    "bool": ((bool,), "true or false"),
}
_FRACTION = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")
_LIST, _MAPPING = ((list,), "a list"), ((dict,), "a mapping")


def _typed(go_type: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), go_type)


_CONFIGURATION: dict[str, str] = {
    **_typed(
        "string",
        "apiVersion kind staticPodPath podLogsDir staticPodURL address tlsCertFile "
        "tlsPrivateKeyFile",
    ),
    **_typed(
        "string",
        "tlsMinVersion healthzBindAddress clusterDomain kubeletCgroups systemCgroups cgroupRoot",
    ),
    **_typed(
        "string",
        "cgroupDriver cpuManagerPolicy memoryManagerPolicy topologyManagerPolicy "
        "topologyManagerScope",
    ),
    **_typed(
        "string",
        "hairpinMode podCIDR contentType containerLogMaxSize "
        "configMapAndSecretChangeDetectionStrategy",
    ),
    **_typed(
        "string",
        "reservedSystemCPUs showHiddenMetricsForVersion systemReservedCgroup kubeReservedCgroup",
    ),
    **_typed("string", "volumePluginDir providerID containerRuntimeEndpoint imageServiceEndpoint"),
    **_typed("string", "imagePullCredentialsVerificationPolicy memoryReservationPolicy"),
    **_typed("*string", "resolvConf"),
    **_typed(
        "metav1.Duration",
        "syncFrequency fileCheckFrequency httpCheckFrequency streamingConnectionIdleTimeout",
    ),
    **_typed(
        "metav1.Duration", "nodeStatusUpdateFrequency nodeStatusReportFrequency imageMinimumGCAge"
    ),
    **_typed("metav1.Duration", "imageMaximumGCAge volumeStatsAggPeriod cpuManagerReconcilePeriod"),
    **_typed(
        "metav1.Duration",
        "runtimeRequestTimeout evictionPressureTransitionPeriod shutdownGracePeriod",
    ),
    **_typed("metav1.Duration", "shutdownGracePeriodCriticalPods"),
    **_typed("*metav1.Duration", "cpuCFSQuotaPeriod containerLogMonitorInterval"),
    **_typed(
        "int32",
        "port readOnlyPort registryBurst eventBurst nodeLeaseDurationSeconds maxPods kubeAPIBurst",
    ),
    **_typed("int32", "evictionMaxPodGracePeriod podsPerCore"),
    **_typed(
        "*int32",
        "registryPullQPS eventRecordQPS healthzPort oomScoreAdj imageGCHighThresholdPercent",
    ),
    **_typed(
        "*int32", "imageGCLowThresholdPercent nodeStatusMaxImages kubeAPIQPS maxParallelImagePulls"
    ),
    **_typed(
        "*int32",
        "iptablesMasqueradeBit iptablesDropBit containerLogMaxFiles containerLogMaxWorkers",
    ),
    **_typed("int64", "maxOpenFiles"),
    **_typed("*int64", "podPidsLimit"),
    **_typed("*float64", "memoryThrottlingFactor"),
    **_typed("map[string]string", "defaultPodSysctls"),
    **_typed(
        "bool",
        "rotateCertificates serverTLSBootstrap enableContentionProfiling runOnce "
        "protectKernelDefaults",
    ),
    **_typed("bool", "kernelMemcgNotification"),
    **_typed(
        "*bool",
        "enableServer enableDebuggingHandlers cgroupsPerQOS singleProcessOOMKill cpuCFSQuota",
    ),
    **_typed(
        "*bool",
        "serializeImagePulls mergeDefaultEvictionSettings enableControllerAttachDetach failSwapOn",
    ),
    **_typed(
        "*bool",
        "makeIPTablesUtilChains enableSystemLogHandler enableSystemLogQuery enableProfilingHandler",
    ),
    **_typed(
        "*bool",
        "enableDebugFlagsHandler seccompDefault registerNode localStorageCapacityIsolation "
        "failCgroupV1",
    ),
    **_typed("[]string", "clusterDNS tlsCipherSuites enforceNodeAllocatable allowedUnsafeSysctls"),
    **_typed("[]string", "preloadedImagesVerificationAllowlist"),
    **_typed("[]int32", "tlsCurvePreferences"),
    **_typed(
        "map[string]string",
        "cpuManagerPolicyOptions topologyManagerPolicyOptions qosReserved evictionHard",
    ),
    **_typed(
        "map[string]string",
        "evictionSoft evictionSoftGracePeriod evictionMinimumReclaim systemReserved",
    ),
    **_typed("map[string]string", "kubeReserved"),
    **_typed("map[string]bool", "featureGates"),
    **_typed("map[string][]string", "staticPodURLHeader"),
    "authentication": "KubeletAuthentication",
    "authorization": "KubeletAuthorization",
    "memorySwap": "MemorySwapConfiguration",
    "logging": "LoggingConfiguration",
    "crashLoopBackOff": "CrashLoopBackOffConfig",
    "userNamespaces": "UserNamespaces",
    "tracing": "TracingConfiguration",
    "shutdownGracePeriodByPodPriority": "[]ShutdownGracePeriodByPodPriority",
    "reservedMemory": "[]MemoryReservation",
    "registerWithTaints": "[]Taint",
}

#: All structs by name.
STRUCTS: dict[str, Fields] = {
    KIND: _CONFIGURATION,
    "KubeletAuthentication": {
        "x509": "KubeletX509Authentication",
        "webhook": "KubeletWebhookAuthentication",
        "anonymous": "KubeletAnonymousAuthentication",
    },
    "KubeletX509Authentication": {"clientCAFile": "string"},
    "KubeletWebhookAuthentication": {"enabled": "*bool", "cacheTTL": "metav1.Duration"},
    "KubeletAnonymousAuthentication": {"enabled": "*bool"},
    "KubeletAuthorization": {"mode": "string", "webhook": "KubeletWebhookAuthorization"},
    "KubeletWebhookAuthorization": _typed(
        "metav1.Duration", "cacheAuthorizedTTL cacheUnauthorizedTTL"
    ),
    "MemorySwapConfiguration": {"swapBehavior": "string"},
    "LoggingConfiguration": {
        "format": "string",
        "flushFrequency": "TimeOrMetaDuration",
        "verbosity": "v1.VerbosityLevel",
        "vmodule": "[]VModuleItem",
        "options": "FormatOptions",
    },
    "VModuleItem": {"filePattern": "string", "verbosity": "v1.VerbosityLevel"},
    "FormatOptions": {"text": "OutputRoutingOptions", "json": "OutputRoutingOptions"},
    "OutputRoutingOptions": {"splitStream": "bool", "infoBufferSize": "any"},
    "CrashLoopBackOffConfig": {"maxContainerRestartPeriod": "*metav1.Duration"},
    "UserNamespaces": {"idsPerPod": "*int64"},
    "TracingConfiguration": {"endpoint": "*string", "samplingRatePerMillion": "*int32"},
    "ShutdownGracePeriodByPodPriority": {
        "priority": "int32",
        "shutdownGracePeriodSeconds": "int64",
    },
    "MemoryReservation": {"numaNode": "int32", "limits": "map[string]Quantity"},
    "Taint": {**_typed("string", "key value effect"), "timeAdded": "any"},
    "CredentialProviderConfig": {"apiVersion": "string", "kind": "string", "providers": "any"},
}

#: The first version with a field, of those that 1.25 did not have.
SINCE: dict[str, Version] = {
    "topologyManagerPolicyOptions": (1, 26),
    "containerRuntimeEndpoint": (1, 27),
    "enableSystemLogQuery": (1, 27),
    "imageServiceEndpoint": (1, 27),
    "maxParallelImagePulls": (1, 27),
    "imageMaximumGCAge": (1, 29),
    "containerLogMaxWorkers": (1, 30),
    "containerLogMonitorInterval": (1, 30),
    "podLogsDir": (1, 30),
    "failCgroupV1": (1, 31),
    "crashLoopBackOff": (1, 32),
    "singleProcessOOMKill": (1, 32),
    "imagePullCredentialsVerificationPolicy": (1, 33),
    "mergeDefaultEvictionSettings": (1, 33),
    "preloadedImagesVerificationAllowlist": (1, 33),
    "userNamespaces": (1, 33),
    "memoryReservationPolicy": (1, 36),
    "tlsCurvePreferences": (1, 36),
    "defaultPodSysctls": (1, 37),
}

#: The fields that a user can give, beside the envelope's.
NAMES = tuple(sorted(_CONFIGURATION.keys() - {"apiVersion", "kind"}))


def expected(name: str) -> str:
    """What a known field holds, in words."""
    return _json(name)[1]


def fits(name: str, value: object) -> bool:
    """Whether a known field can hold `value`; null is nothing, and no number is a flag.

    Text can be a number with a point, which intents do not have (`read.scalars`).
    """
    types = _json(name)[0]
    if float in types and isinstance(value, str):
        return bool(_FRACTION.fullmatch(value))
    return value is None or (
        isinstance(value, types) and (bool in types or not isinstance(value, bool))
    )


def of_version(value: Any, version: Version) -> Any:
    """A configuration without the fields that a version does not have yet, however spelt."""
    if not isinstance(value, dict):
        return value
    later = {name.lower() for name, since in SINCE.items() if version < since}
    return {name: inner for name, inner in value.items() if name.lower() not in later}


def unknown(value: Any, struct: str, path: str, *, any_case: bool = False) -> Iterator[str]:
    """Fields that a struct does not have, exactly so spelt or in any case, in it and below."""
    fields = STRUCTS[struct]
    if any_case:
        fields = {name.lower(): go_type for name, go_type in fields.items()}
    for name, inner in value.items() if isinstance(value, dict) else ():
        where = f"{path}{name}"
        go_type = fields.get(str(name).lower() if any_case else name)
        if go_type is None:
            yield where
            continue
        below = go_type.lstrip("*").removeprefix("[]")
        if below in STRUCTS:
            listed = inner if isinstance(inner, list) else [inner]
            for index, element in enumerate(listed):
                at = f"{where}[{index}]" if isinstance(inner, list) else where
                yield from unknown(element, below, f"{at}.", any_case=any_case)


def is_fraction(name: str) -> bool:
    """Whether a known field holds a number with a point."""
    return name in _CONFIGURATION and float in _json(name)[0]


def with_fractions(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields as their document has them, whose reader leaves numbers with a point as text."""
    return {
        name: float(value)
        if isinstance(value, str) and is_fraction(name) and fits(name, value)
        else value
        for name, value in fields.items()
    }


def _json(name: str) -> tuple[tuple[type, ...], str]:
    go_type = _CONFIGURATION[name].removeprefix("*")
    return _LIST if go_type.startswith("[]") else _JSON.get(go_type, _MAPPING)


#: What the JSON of a Go type is; `any` and names that are no struct are anything.
_SCALARS: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "metav1.Duration": {
        "type": "string",
        "pattern": r"^[-+]?([0-9]*(\.[0-9]*)?[a-zµ]+)+$(?!\n)|^0$(?!\n)",
    },
    "int32": {"type": "integer"},
    "int64": {"type": "integer"},
    "float64": {"type": "number"},
    "bool": {"type": "boolean"},
    "Quantity": {"type": ["string", "number"]},
}
#: What cpuplan itself gives these fields.
_NARROWER: dict[str, dict[str, Any]] = {
    "reservedSystemCPUs": {
        "type": "string",
        "pattern": r"^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$(?!\n)",
    },
    "cpuManagerPolicy": {"enum": ["none", "static"]},
    "memoryManagerPolicy": {"enum": ["None", "Static"]},
    "topologyManagerPolicy": {"enum": ["none", "best-effort", "restricted", "single-numa-node"]},
    "topologyManagerScope": {"enum": ["container", "pod"]},
}


def schema() -> dict[str, Any]:
    """The whole of it: no field that it does not have, none of another type."""
    document = _struct(KIND)
    document["properties"] |= _NARROWER
    document["required"] = ["apiVersion", "kind"]
    return document


def _struct(name: str) -> dict[str, Any]:
    fields = {field: _type(go_type) for field, go_type in STRUCTS[name].items()}
    return {"type": "object", "properties": fields, "additionalProperties": False}


def _type(go_type: str) -> dict[str, Any]:
    go_type = go_type.lstrip("*")
    if go_type.startswith("[]"):
        return {"type": "array", "items": _type(go_type[2:])}
    if go_type.startswith("map[string]"):
        return {
            "type": "object",
            "additionalProperties": _type(go_type.removeprefix("map[string]")),
        }
    return _struct(go_type) if go_type in STRUCTS else _SCALARS.get(go_type, {})

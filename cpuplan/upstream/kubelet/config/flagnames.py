"""The names of the kubelet's flags: which of them set a field of its configuration.

From cmd/kubelet/app/options/options.go, read in 1.25 to 1.36.
"""

import re
from collections.abc import Mapping

from cpuplan.upstream.kubelet.config.fields import KIND, STRUCTS

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


FIELDS: Mapping[str, str] = {
    **{_dashed(field): field for field in _SAME_NAMES.split()},
    **_OTHER_NAMES,
}


def type_of(field: str) -> str:
    """The Go type of a field, without a pointer."""
    struct = KIND
    for part in field.split("."):
        struct = STRUCTS[struct][part].removeprefix("*")
    return struct

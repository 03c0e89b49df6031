"""The fields of KubeletConfiguration and what JSON they hold (k8s.io/kubelet/config/v1beta1, types.go, 1.36).

The API server and the kubelet's lenient reader drop a misspelt field in silence; a wrong type stops the kubelet.
"""

_TEXT = (
    "address cgroupDriver cgroupRoot clusterDomain configMapAndSecretChangeDetectionStrategy containerLogMaxSize "
    "containerRuntimeEndpoint contentType cpuManagerPolicy hairpinMode healthzBindAddress imageServiceEndpoint "
    "imagePullCredentialsVerificationPolicy kubeReservedCgroup kubeletCgroups memoryManagerPolicy "
    "memoryReservationPolicy podCIDR podLogsDir providerID reservedSystemCPUs resolvConf showHiddenMetricsForVersion "
    "staticPodPath staticPodURL systemCgroups systemReservedCgroup tlsCertFile tlsMinVersion tlsPrivateKeyFile "
    "topologyManagerPolicy topologyManagerScope volumePluginDir"
)
_DURATIONS = (
    "containerLogMonitorInterval cpuCFSQuotaPeriod cpuManagerReconcilePeriod evictionPressureTransitionPeriod "
    "fileCheckFrequency httpCheckFrequency imageMaximumGCAge imageMinimumGCAge nodeStatusReportFrequency "
    "nodeStatusUpdateFrequency runtimeRequestTimeout shutdownGracePeriod shutdownGracePeriodCriticalPods "
    "streamingConnectionIdleTimeout syncFrequency volumeStatsAggPeriod"
)
_NUMBERS = (
    "containerLogMaxFiles containerLogMaxWorkers eventBurst eventRecordQPS evictionMaxPodGracePeriod healthzPort "
    "imageGCHighThresholdPercent imageGCLowThresholdPercent iptablesDropBit iptablesMasqueradeBit kubeAPIBurst "
    "kubeAPIQPS maxOpenFiles maxParallelImagePulls maxPods nodeLeaseDurationSeconds nodeStatusMaxImages oomScoreAdj "
    "podPidsLimit podsPerCore port readOnlyPort registryBurst registryPullQPS"
)
_FLAGS = (
    "cgroupsPerQOS cpuCFSQuota enableContentionProfiling enableControllerAttachDetach enableDebugFlagsHandler "
    "enableDebuggingHandlers enableProfilingHandler enableServer enableSystemLogHandler enableSystemLogQuery "
    "failCgroupV1 failSwapOn kernelMemcgNotification localStorageCapacityIsolation makeIPTablesUtilChains "
    "mergeDefaultEvictionSettings protectKernelDefaults registerNode rotateCertificates runOnce seccompDefault "
    "serializeImagePulls serverTLSBootstrap singleProcessOOMKill"
)
_LISTS = (
    "allowedUnsafeSysctls clusterDNS enforceNodeAllocatable preloadedImagesVerificationAllowlist registerWithTaints "
    "reservedMemory shutdownGracePeriodByPodPriority tlsCipherSuites tlsCurvePreferences"
)
_MAPPINGS = (
    "authentication authorization cpuManagerPolicyOptions crashLoopBackOff evictionHard evictionMinimumReclaim "
    "evictionSoft evictionSoftGracePeriod featureGates kubeReserved logging memorySwap qosReserved "
    "staticPodURLHeader systemReserved topologyManagerPolicyOptions tracing userNamespaces"
)

#: Python types of a field's JSON, and the words for them.
FIELDS: dict[str, tuple[tuple[type, ...], str]] = {
    name: kind
    for names, kind in (
        (_TEXT, ((str,), "text")),
        (_DURATIONS, ((str,), 'a duration such as "10s"')),
        (_NUMBERS, ((int,), "a whole number")),
        (_FLAGS, ((bool,), "true or false")),
        (_LISTS, ((list,), "a list")),
        (_MAPPINGS, ((dict,), "a mapping")),
        ("memoryThrottlingFactor", ((int, float), "a number")),
    )
    for name in names.split()
}


def fits(name: str, value: object) -> bool:
    """Whether a known field can hold `value`; null is nothing, and no number is a flag."""
    types = FIELDS[name][0]
    return value is None or (isinstance(value, types) and (bool in types or not isinstance(value, bool)))

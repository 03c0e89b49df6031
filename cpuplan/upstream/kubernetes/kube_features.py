"""Feature gates for CPUs, memory and pods, by version (pkg/features/kube_features.go).

Upstream: kubernetes/kubernetes pkg/features/kube_features.go
  staging/src/k8s.io/component-base/featuregate/feature_gate.go
  @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from cpuplan.facts import programs
from cpuplan.facts.versions import Version
from cpuplan.upstream.kubernetes.errors import AggregateError, KubeletError

#: First versions, with the pull request to kubernetes/kubernetes. Backports to patch releases do
#: not count: a minor version has releases without them.
BEHAVIOUR_SINCE: dict[str, Version] = {
    # full-pcpus-only counts the CPUs of whole cores that are left (#114114); before, it gave out
    # halves of them.
    "cpu.physical_cpus_check": (1, 27),
    # The refusal names the CPUs that are left even where these are none (#127959).
    "cpu.physical_cpus_text": (1, 32),
    # Odd remainders find a place in an uncore cache too (#131850, opened after 1.33.0); before,
    # whole cores only.
    "cpu.odd_uncore_remainders": (1, 34),
    # A distribution over NUMA nodes has at least as many as the hint (#139456); before, as few as
    # suffice. The pull request is of July 2026: 1.37 may have it already.
    "cpu.distribution_by_hint": (1, 38),
    # By default the kubelet does not start on cgroup v1 (KubeletConfiguration failCgroupV1).
    "config.fail_cgroup_v1": (1, 35),
    # kubeAPIQPS, kubeAPIBurst, eventRecordQPS and eventBurst are ten times as high (#116121).
    "config.high_limits": (1, 27),
    # mergeDefaultEvictionSettings in the configuration file.
    "config.merge_eviction": (1, 33),
    # memoryReservationPolicy, which is None by default.
    "config.memory_reservation": (1, 36),
    # memoryThrottlingFactor is not set by default: memory.high is then left alone (#140007).
    "config.no_throttling_factor": (1, 37),
    # Gates that need another which is off keep the kubelet from starting
    # (component-base/featuregate).
    "gates.dependencies": (1, 35),
    # Memory of a group of nodes must not touch a node that is in use with others (#123443); before,
    # it could, and the groups overlapped from then on.
    "memory.group_check": (1, 32),
    # Sidecars keep their CPUs and memory (#119447, #120715); before, they passed them on as any
    # init container.
    "pods.sidecars": (1, 29),
    # The managers leave pods with resources of their own alone (#133279); before, they looked at
    # the containers.
    "pods.no_pod_level_alignment": (1, 34),
    # Guaranteed pods are not resized beside a static manager, without a gate (#128287).
    "resize.exclusive": (1, 32),
    # State files have their content as a text with a checksum of its own, beside the copy for older
    # kubelets (#139102, #139626).
    "state.data": (1, 37),
    # OpenShift: managed pods may have CPU limits, and containers without any requests.
    "managed.limits": (1, 29),
    "managed.bare_containers": (1, 33),
}
#: What OpenShift's kubelet had earlier than the first release of the upstream version.
OPENSHIFT_BEHAVIOUR_SINCE: dict[str, Version] = {"cpu.odd_uncore_remainders": (1, 33)}


def has_behaviour(version: Version, name: str, *, is_openshift: bool = False) -> bool:
    """Whether the kubelet of a version behaves so."""
    since = (
        OPENSHIFT_BEHAVIOUR_SINCE.get(name, BEHAVIOUR_SINCE[name])
        if is_openshift
        else BEHAVIOUR_SINCE[name]
    )
    return version >= since


OTHER_GATES = frozenset(
    """
    APIResponseCompression APIServerIdentity APIServerTracing APIServingWithRoutine
    AggregatedDiscoveryRemoveBetaType AllowDNSOnlyNodeCSR
    AllowInsecureKubeletCertificateSigningRequests AllowOverwriteTerminationGracePeriodSeconds
    AllowParsingUserUIDFromCertAuth AllowUnsafeMalformedObjectDeletion
    AnonymousAuthConfigurableEndpoints AnyVolumeDataSource AuthorizeNodeWithSelectors
    AuthorizePodWebsocketUpgradeCreatePermission AuthorizeWithSelectors BtreeWatchCache
    CBORServingAndStorage CRDObservedGenerationTracking CRDValidationRatcheting CSIMigrationPortworx
    CSIServiceAccountTokenSecrets CSIVolumeHealth ChangeContainerStatusOnKubeletRestart
    ClearingNominatedNodeNameAfterBinding CloudControllerManagerWatchBasedRoutesReconciliation
    CloudControllerManagerWebhook ClusterTrustBundle ClusterTrustBundleProjection ComponentFlagz
    ComponentStatusz ConcurrentWatchObjectDecode ConsistentListFromCache ConstrainedImpersonation
    ContainerCheckpoint ContainerRestartRules ContainerStopSignals ContextualLogging
    CoordinatedLeaderElection CrossNamespaceVolumeDataSource CustomResourceFieldSelectors
    DRAAdminAccess DRADeviceBindingConditions DRADeviceTaintRules
    DRADeviceTaints DRAExtendedResource DRAPartitionableDevices DRAPrioritizedList
    DRAResourceClaimDeviceStatus DRASchedulerFilterTimeout DeclarativeValidation
    DeclarativeValidationTakeover DeploymentReplicaSetTerminatingReplicas DetectCacheInconsistency
    DisableAllocatorDualWrite DisableNodeKubeProxyVersion DynamicResourceAllocation EnvFiles
    EventedPLEG ExecProbeTimeout ExternalServiceAccountTokenSigner GangScheduling GenericWorkload
    GitRepoVolumeDriver HPAConfigurableTolerance HPAScaleToZero HonorPVReclaimPolicy
    HostnameOverride ImageVolume ImageVolumeWithDigest InPlacePodVerticalScalingAllocatedStatus
    InTreePluginPortworxUnregister JobBackoffLimitPerIndex JobManagedBy JobPodReplacementPolicy
    JobSuccessPolicy KMSv1 KubeletCgroupDriverFromCRI KubeletFineGrainedAuthz KubeletInUserNamespace
    KubeletPSI KubeletPodResourcesDynamicResources KubeletPodResourcesGet
    KubeletPodResourcesListUseActivePods KubeletRegistrationGetOnExistsOnly
    KubeletServiceAccountTokenForCredentialProviders ListFromCacheSnapshot
    LocalStorageCapacityIsolationFSQuotaMonitoring LogarithmicScaleDown MatchLabelKeysInPodAffinity
    MatchLabelKeysInPodTopologySpread MatchLabelKeysInPodTopologySpreadSelectorMerge
    MaxUnavailableStatefulSet MultiCIDRServiceAllocator MutableCSINodeAllocatableCount
    MutablePVNodeAffinity MutablePodResourcesForSuspendedJobs
    MutableSchedulingDirectivesForSuspendedJobs MutatingAdmissionPolicy NFTablesProxyMode
    NodeInclusionPolicyInPodTopologySpread NominatedNodeNameForExpectation OpenAPIEnums
    OpportunisticBatching OrderedNamespaceDeletion PodAndContainerStatsFromCRI PodCertificateRequest
    PodDeletionCost PodLifecycleSleepAction PodLifecycleSleepActionAllowZero
    PodLogsQuerySplitStreams PodObservedGenerationTracking PodReadyToStartContainersCondition
    PodSchedulingReadiness PodTopologyLabelsAdmission PortForwardWebsockets
    PreferSameTrafficDistribution PreventStaticPodAPIReferences ProcMountType QOSReserved
    RecoverVolumeExpansionFailure RecursiveReadOnlyMounts ReduceDefaultCrashLoopBackOffDecay
    RelaxedDNSSearchValidation RelaxedEnvironmentVariableValidation RelaxedServiceNameValidation
    ReloadKubeletServerCertificateFile RemoteRequestHeaderUID ResilientWatchCacheInitialization
    ResourceHealthStatus RestartAllContainersOnContainerExits RetryGenerateName
    RuntimeClassInImageCriAPI SELinuxChangePolicy SELinuxMount SELinuxMountReadWriteOncePod
    SchedulerAsyncAPICalls SchedulerAsyncPreemption SchedulerPopFromBackoffQ SchedulerQueueingHints
    SeparateCacheWatchRPC SeparateTaintEvictionController ServiceAccountNodeAudienceRestriction
    ServiceAccountTokenJTI ServiceAccountTokenNodeBinding ServiceAccountTokenNodeBindingValidation
    ServiceAccountTokenPodNodeInfo ServiceTrafficDistribution SizeBasedListCostEstimate
    StatefulSetSemanticRevisionComparison StorageCapacityScoring StorageNamespaceIndex
    StorageVersionAPI StorageVersionHash StorageVersionMigrator StreamingCollectionEncodingToJSON
    StreamingCollectionEncodingToProtobuf StrictIPCIDRValidation
    StructuredAuthenticationConfiguration StructuredAuthenticationConfigurationEgressSelector
    StructuredAuthenticationConfigurationJWKSMetrics StructuredAuthorizationConfiguration
    SupplementalGroupsPolicy SystemdWatchdog TaintTolerationComparisonOperators
    TokenRequestServiceAccountUIDValidation TopologyAwareHints TranslateStreamCloseWebsocketRequests
    UnauthenticatedHTTP2DOSMitigation UnknownVersionInteroperabilityProxy
    UserNamespacesHostNetworkSupport UserNamespacesSupport VolumeAttributesClass VolumeLimitScaling
    WatchCacheInitializationPostStartHook WatchFromStorageWithoutResourceVersion WatchList WinDSR
    WinOverlay WindowsCPUAndMemoryAffinity WindowsHostNetwork
    """.split()  # noqa: SIM905 - a page of words
)


ALPHA, BETA, GA, DEPRECATED = "alpha", "beta", "ga", "deprecated"
#: The version that the rules of this package were recorded from; what was read of later ones is in
#: docs/limits.md.
LATEST: Version = programs.latest(programs.KUBERNETES)
#: Gates for all others of a stage.
ALL = {"AllAlpha": ALPHA, "AllBeta": BETA}


class Spec(NamedTuple):
    """What a gate is from a version on."""

    version: Version
    stage: str
    default: bool
    locked: bool = False


def _alpha(minor: int) -> Spec:
    return Spec((1, minor), ALPHA, default=False)


def _beta(minor: int, *, default: bool = True) -> Spec:
    return Spec((1, minor), BETA, default)


def _ga(minor: int, *, locked: bool = True) -> Spec:
    return Spec((1, minor), GA, default=True, locked=locked)


GATES: dict[str, tuple[Spec, ...]] = {
    "CPUManager": (_alpha(8), _beta(10), _ga(26)),
    "CPUManagerPolicyAlphaOptions": (_alpha(23),),
    "CPUManagerPolicyBetaOptions": (_beta(23),),
    "CPUManagerPolicyOptions": (_alpha(22), _beta(23), _ga(33)),
    "CustomCPUCFSQuotaPeriod": (_alpha(12), _ga(36, locked=False)),
    "DRAConsumableCapacity": (_alpha(34), _beta(36), _ga(37, locked=False)),
    "DRANodeAllocatableResources": (_alpha(36),),
    "DefaultPodSysctls": (_alpha(37),),
    "DisableCPUQuotaWithExclusiveCPUs": (
        _beta(33),
        Spec((1, 36), DEPRECATED, default=True),
        Spec((1, 37), DEPRECATED, default=True, locked=True),
    ),
    "GracefulNodeShutdown": (_alpha(20), _beta(21)),
    "GracefulNodeShutdownBasedOnPodPriority": (_alpha(23), _beta(24)),
    "HugepageAwareEviction": (_beta(37),),
    "ImageMaximumGCAge": (_alpha(29), _beta(30), _ga(35)),
    "InPlacePodLevelResourcesVerticalScaling": (_alpha(35), _beta(36)),
    "InPlacePodVerticalScaling": (_alpha(27), _beta(33), _ga(35)),
    "InPlacePodVerticalScalingExclusiveCPUs": (_alpha(32),),
    "InPlacePodVerticalScalingExclusiveMemory": (_alpha(34),),
    "InPlacePodVerticalScalingInitContainers": (_beta(36), _ga(37)),
    "InPlacePodVerticalScalingSchedulerPreemption": (_alpha(37),),
    "KubeletCrashLoopBackOffMax": (_alpha(32), _beta(35)),
    "KubeletEnsureSecretPulledImages": (_alpha(33), _beta(35)),
    "KubeletSeparateDiskGC": (_alpha(29), _beta(31)),
    "KubeletTracing": (_alpha(25), _beta(27), _ga(34)),
    "LoggingAlphaOptions": (_alpha(24),),
    "LoggingBetaOptions": (_beta(24),),
    "MemoryManager": (_alpha(21), _beta(22), _ga(32)),
    "MemoryQoS": (_alpha(22), _beta(37)),
    "NodeDeclaredFeatures": (_alpha(35), _beta(36), _ga(37)),
    "NodeLogQuery": (_alpha(27), _beta(30, default=False), _ga(36)),
    "NodeSwap": (_alpha(22), _beta(28, default=False), _beta(30), _ga(34)),
    "PodLevelResourceManagers": (_alpha(36), _beta(37, default=False)),
    "PodLevelResources": (_alpha(32), _beta(34)),
    "RotateKubeletServerCertificate": (_alpha(7), _beta(12)),
    "SidecarContainers": (_alpha(28), _beta(29), _ga(33)),
    "TopologyManager": (_alpha(16), _beta(18), _ga(27)),
    "TopologyManagerPolicyAlphaOptions": (_alpha(26),),
    "TopologyManagerPolicyBetaOptions": (_beta(26, default=False), _beta(28)),
    "TopologyManagerPolicyOptions": (_alpha(26), _beta(28), _ga(32)),
    "WindowsGracefulNodeShutdown": (_alpha(32), _beta(34)),
}
#: Gates that OpenShift's kubelet has on, whatever their stage.
OPENSHIFT_ON = ("NodeLogQuery",)
#: The first version without the gate: its name alone keeps a kubelet of that version from starting.
REMOVED: dict[str, Version] = {
    "CPUManager": (1, 33),
    "MemoryManager": (1, 36),
    "SidecarContainers": (1, 37),
    "TopologyManager": (1, 29),
}
#: The same of gates whose stages are not told apart (CHANGELOG-1.37, as of August 2026).
REMOVED_OTHERS: dict[Version, frozenset[str]] = {
    (1, 37): frozenset(
        """
        APIServerTracing AnonymousAuthConfigurableEndpoints AnyVolumeDataSource
        AuthorizeNodeWithSelectors AuthorizeWithSelectors BtreeWatchCache ConsistentListFromCache
        GangScheduling JobBackoffLimitPerIndex JobPodReplacementPolicy JobSuccessPolicy
        LogarithmicScaleDown OrderedNamespaceDeletion PodLifecycleSleepAction
        PodLifecycleSleepActionAllowZero PreventStaticPodAPIReferences RelaxedDNSSearchValidation
        ResilientWatchCacheInitialization RetryGenerateName SchedulerQueueingHints
        StreamingCollectionEncodingToJSON StreamingCollectionEncodingToProtobuf
        StructuredAuthenticationConfiguration
        """.split()  # noqa: SIM905 - a page of words
    ),
}
#: Gates that cannot be on without others (kube_features.go,
#: defaultKubernetesFeatureGateDependencies).
DEPENDS_ON: dict[str, tuple[str, ...]] = {
    "GracefulNodeShutdownBasedOnPodPriority": ("GracefulNodeShutdown",),
    "InPlacePodLevelResourcesVerticalScaling": (
        "InPlacePodVerticalScaling",
        "NodeDeclaredFeatures",
        "PodLevelResources",
    ),
    "InPlacePodVerticalScalingExclusiveCPUs": ("InPlacePodVerticalScaling",),
    "InPlacePodVerticalScalingExclusiveMemory": ("InPlacePodVerticalScaling",),
    "PodLevelResourceManagers": ("PodLevelResources",),
    "WindowsGracefulNodeShutdown": ("GracefulNodeShutdown",),
}


def specs(name: str, version: Version = LATEST) -> tuple[Spec, ...]:
    """What the gate has been up to `version`; empty when it does not exist yet, or any more."""
    if version >= REMOVED.get(name, (99, 0)):
        return ()
    return tuple(spec for spec in GATES.get(name, ()) if spec.version <= version)


class Gates:
    """The gates of a kubelet: the defaults of its version, and what was set."""

    def __init__(self, given: Mapping[str, bool] | None = None, version: Version = LATEST) -> None:
        self.version = version
        self._given = dict(given or {})

    def enabled(self, name: str) -> bool:
        """Whether the gate is on.

        A gate that the version lacks is off, or on where it was removed because it is the rule now.
        """
        history = specs(name, self.version)
        if not history:
            return name in REMOVED and self.version >= REMOVED[name]
        if name in self._given:
            return self._given[name]
        now = history[-1]
        for group, stage in ALL.items():
            if now.stage == stage and group in self._given and not now.locked:
                return self._given[group]
        return now.default

    @property
    def pod_level_managers(self) -> bool:
        """Whether the managers look at pods with resources of their own (both gates are needed)."""
        return self.enabled("PodLevelResourceManagers") and self.enabled("PodLevelResources")

    @property
    def ignores_pod_level(self) -> bool:
        """Whether the managers leave pods with resources of their own alone."""
        return (
            has_behaviour(self.version, "pods.no_pod_level_alignment")
            and not self.pod_level_managers
        )


def set_gates(
    given: Mapping[str, bool], version: Version = LATEST, *, is_openshift: bool = False
) -> Gates:
    """SetFromMap: KubeletError for unknown and locked gates, and for missing dependencies.

    OpenShift's kubelet only warns of unknown gates, and has others on by default.
    """
    for name, value in sorted(given.items()):
        if name in ALL or (name in OTHER_GATES and not _was_removed(name, version)):
            continue
        history = specs(name, version)
        if not history:
            if is_openshift or _may_be_new(name, version):
                continue
            raise KubeletError(f"unrecognized feature gate: {name}")
        if history[-1].locked and value != history[-1].default:
            values = (
                f"{str(value).lower()}, feature is locked to {str(history[-1].default).lower()}"
            )
            raise KubeletError(f"cannot set feature gate {name} to {values}")
    known = {name: value for name, value in given.items() if name in ALL or specs(name, version)}
    if is_openshift:
        known = {name: True for name in OPENSHIFT_ON if specs(name, version)} | known
    gates = Gates(known, version)
    if has_behaviour(version, "gates.dependencies"):
        _check_dependencies(gates, given)
    return gates


def _may_be_new(name: str, version: Version) -> bool:
    """Whether the gate may have come with a version whose gates were not read."""
    return version > LATEST and name not in REMOVED and not _was_removed(name, version)


def _was_removed(name: str, version: Version) -> bool:
    """Whether a gate whose stages are not told apart is gone: its name stops the kubelet."""
    return any(version >= since and name in names for since, names in REMOVED_OTHERS.items())


def _check_dependencies(gates: Gates, given: Mapping[str, bool]) -> None:
    missing = list(_missing_dependencies(gates, given))
    if missing:
        raise AggregateError(missing)


def _missing_dependencies(gates: Gates, given: Mapping[str, bool]) -> Iterator[str]:
    for name in sorted(DEPENDS_ON, key=lambda name: (name not in given, name)):
        if gates.enabled(name):
            off = [other for other in DEPENDS_ON[name] if not gates.enabled(other)]
            if off:
                yield (
                    f"{name} is enabled, but depends on features that are disabled: "
                    f"[{' '.join(off)}]"
                )

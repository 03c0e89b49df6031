"""Feature gates for CPUs, memory and pods, by version (pkg/features/kube_features.go)."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from cpuplan.platforms.versions import Version
from cpuplan.upstream.kubelet.errors import AggregateError, KubeletError
from cpuplan.upstream.kubelet.releases import behaviour, othergates

ALPHA, BETA, GA, DEPRECATED = "alpha", "beta", "ga", "deprecated"
#: The version that the rules of this package were recorded from. Of 1.37 only the fields were read,
#: its release notes and the documentation of its gates: see docs/limits.md.
LATEST: Version = (1, 36)
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
    "DisableCPUQuotaWithExclusiveCPUs": (_beta(33), Spec((1, 36), DEPRECATED, default=True)),
    "GracefulNodeShutdown": (_alpha(20), _beta(21)),
    "GracefulNodeShutdownBasedOnPodPriority": (_alpha(23), _beta(24)),
    "HugepageAwareEviction": (_beta(37),),
    "ImageMaximumGCAge": (_alpha(29), _beta(30), _ga(35)),
    "InPlacePodLevelResourcesVerticalScaling": (_alpha(35), _beta(36)),
    "InPlacePodVerticalScaling": (_alpha(27), _beta(33), _ga(35)),
    "InPlacePodVerticalScalingExclusiveCPUs": (_alpha(32),),
    "InPlacePodVerticalScalingExclusiveMemory": (_alpha(34),),
    "KubeletCrashLoopBackOffMax": (_alpha(32), _beta(35)),
    "KubeletEnsureSecretPulledImages": (_alpha(33), _beta(35)),
    "KubeletSeparateDiskGC": (_alpha(29), _beta(31)),
    "KubeletTracing": (_alpha(25), _beta(27), _ga(34)),
    "LoggingAlphaOptions": (_alpha(24),),
    "LoggingBetaOptions": (_beta(24),),
    "MemoryManager": (_alpha(21), _beta(22), _ga(32)),
    "MemoryQoS": (_alpha(22), _beta(37)),
    "NodeDeclaredFeatures": (_alpha(35), _beta(36)),
    "NodeLogQuery": (_alpha(27), _beta(30, default=False), _ga(36)),
    "NodeSwap": (_alpha(22), _beta(28, default=False), _beta(30), _ga(34)),
    "PodLevelResourceManagers": (_alpha(36),),
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
    "TopologyManager": (1, 29),
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
            behaviour.has(self.version, "pods.no_pod_level_alignment")
            and not self.pod_level_managers
        )


def set_gates(
    given: Mapping[str, bool], version: Version = LATEST, *, is_openshift: bool = False
) -> Gates:
    """SetFromMap: KubeletError for unknown and locked gates, and for missing dependencies.

    OpenShift's kubelet only warns of unknown gates, and has others on by default.
    """
    for name, value in sorted(given.items()):
        if name in ALL or name in othergates.NAMES:
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
    if behaviour.has(version, "gates.dependencies"):
        _check_dependencies(gates, given)
    return gates


def _may_be_new(name: str, version: Version) -> bool:
    """Whether the gate may have come with a version whose gates were not read."""
    return version > LATEST and name not in REMOVED


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

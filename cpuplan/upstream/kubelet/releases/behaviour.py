"""What the kubelet does since which release: the one table "behaviour, first version".

The rules of this package are those of 1.36. Where an earlier kubelet does something else, the rule
asks here. Options and gates have separate tables (`versions`, `features`). Later changes came
after 1.37.0 (changelog of 1.38.0-alpha.1: #139456, #140730, #140766, #141070, #141238); of #129079
and #139778 the release was not found.
"""

from cpuplan.platforms.versions import Version

#: First versions, with the pull request to kubernetes/kubernetes. Backports to patch releases do
#: not count: a minor version has releases without them.
SINCE: dict[str, Version] = {
    # full-pcpus-only counts the CPUs of whole cores that are left (#114114); before, it gave out
    # halves of them.
    "cpu.physical_cpus_check": (1, 27),
    # The refusal names the CPUs that are left even where these are none (#127959).
    "cpu.physical_cpus_text": (1, 32),
    # Odd remainders find a place in an uncore cache too (#131850, opened after 1.33.0); before,
    # whole cores only.
    "cpu.odd_uncore_remainders": (1, 34),
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
}
#: What OpenShift's kubelet had earlier than the first release of the upstream version.
OPENSHIFT_SINCE: dict[str, Version] = {"cpu.odd_uncore_remainders": (1, 33)}


def has(version: Version, name: str, *, is_openshift: bool = False) -> bool:
    """Whether the kubelet of a version behaves so."""
    since = OPENSHIFT_SINCE.get(name, SINCE[name]) if is_openshift else SINCE[name]
    return version >= since

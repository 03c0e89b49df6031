"""Which release reads which name: labels, annotations, fields, keys of slo-controller-config.

From the constants of each release. `PROPOSED` has the names of the proposal "Fine-grained CPU
orchestration" that a release dropped or never had.

Upstream: koordinator-sh/koordinator apis/extension/constants.go
  apis/configuration/slo_controller_config.go @ 989ca85c62abcca92b303aa12fd2ccff2ed30fed
"""

from typing import NamedTuple

from cpuplan.facts import programs
from cpuplan.facts.versions import Version, from_text
from cpuplan.upstream.koordinator.extension import constants

#: The releases that cpuplan tells apart.
RELEASES: tuple[Version, ...] = tuple(map(from_text, programs.KOORDINATOR.names))
#: The release that the rules of this package were recorded from.
LATEST: Version = RELEASES[-1]
_FIRST: Version = RELEASES[0]


class Span(NamedTuple):
    """From which release on a name is read, and the last one that reads it."""

    since: Version = _FIRST
    until: Version = LATEST

    def has(self, release: Version) -> bool:
        return self.since <= release <= self.until


_ALL = Span()
_SINCE_1_3, _SINCE_1_4, _SINCE_1_5 = Span((1, 3)), Span((1, 4)), Span((1, 5))
_SINCE_1_6, _SINCE_1_7, _SINCE_1_8 = Span((1, 6)), Span((1, 7)), Span((1, 8))

#: Labels and annotations of nodes and of their NodeResourceTopologies.
NODE_NAMES: dict[str, Span] = {
    constants.CPU_BIND_POLICY: _ALL,
    constants.NUMA_ALLOCATE_STRATEGY: _ALL,
    constants.NUMA_TOPOLOGY_POLICY: _SINCE_1_4,
    constants.ENABLE_NUMA_RESERVATION: _SINCE_1_8,
    constants.CPU_NORMALIZATION_ENABLED: _SINCE_1_4,
    constants.RESERVATION: _ALL,
    constants.SYSTEM_QOS_RESOURCE: _SINCE_1_3,
    constants.AMPLIFICATION_RATIO: _SINCE_1_4,
    constants.RAW_ALLOCATABLE: _SINCE_1_4,
    constants.NORMALIZATION_RATIO: _SINCE_1_4,
    constants.CPU_BASIC_INFO: _SINCE_1_4,
    constants.CPU_TOPOLOGY: _ALL,
    constants.CPU_SHARED_POOLS: _ALL,
    constants.BE_CPU_SHARED_POOLS: _SINCE_1_4,
    constants.POD_CPU_ALLOCS: _ALL,
    constants.CPU_MANAGER_POLICY: _ALL,
    f"{constants.NODE}extended-resource-spec": _ALL,
    f"{constants.NODE}gpu-driver-version": _ALL,
    f"{constants.NODE}gpu-model": _ALL,
    f"{constants.NODE}colocation-strategy": _SINCE_1_4,
    f"{constants.NODE}cpu-reclaim-ratio": _SINCE_1_4,
    f"{constants.NODE}memory-reclaim-ratio": _SINCE_1_4,
    f"{constants.NODE}originExtendedAllocatable": _SINCE_1_4,
    f"{constants.NODE}thirdPartyAllocations": _SINCE_1_4,
    f"{constants.NODE}network-bandwidth": _SINCE_1_5,
    f"{constants.NODE}resctrl": _SINCE_1_5,
    f"{constants.NODE}gpu-partition-policy": _SINCE_1_6,
    f"{constants.NODE}secondary-device-well-planned": _SINCE_1_6,
    f"{constants.NODE}gpu-vendor": _SINCE_1_7,
    f"{constants.NODE}mid-static-cpu-reserved-ratio": _SINCE_1_8,
    f"{constants.NODE}mid-static-memory-reserved-ratio": _SINCE_1_8,
}
#: Labels and annotations of pods that decide about CPUs. Others are not told apart.
POD_NAMES: dict[str, Span] = {
    constants.QOS: _ALL,
    constants.PRIORITY: _ALL,
    constants.PRIORITY_CLASS: _SINCE_1_3,
    constants.RESOURCE_SPEC: _ALL,
    constants.RESOURCE_STATUS: _ALL,
    constants.NUMA_TOPOLOGY_SPEC: _SINCE_1_5,
}
#: Fields of the annotations' values, by annotation.
FIELDS: dict[str, dict[str, Span]] = {
    constants.RESOURCE_SPEC: {
        "requiredCPUBindPolicy": _SINCE_1_4,
        "preferredCPUBindPolicy": _ALL,
        "preferredCPUExclusivePolicy": _ALL,
    },
    constants.RESOURCE_STATUS: {
        "cpuset": _ALL,
        "cpuSharedPools": Span(until=(1, 3)),
        "numaNodeResources": _SINCE_1_4,
    },
    constants.NUMA_TOPOLOGY_SPEC: {
        "numaTopologyPolicy": _SINCE_1_5,
        "singleNUMANodeExclusive": _SINCE_1_5,
    },
    constants.RESERVATION: {"resources": _ALL, "reservedCPUs": _ALL, "applyPolicy": _SINCE_1_3},
    constants.SYSTEM_QOS_RESOURCE: {"cpuset": _SINCE_1_3, "cpusetExclusive": _SINCE_1_3},
}
#: Keys of the ConfigMap slo-controller-config.
CONFIG_KEYS: dict[str, Span] = {
    "colocation-config": _ALL,
    "resource-threshold-config": _ALL,
    "resource-qos-config": _ALL,
    "cpu-burst-config": _ALL,
    "system-config": _ALL,
    "host-application-config": _SINCE_1_4,
    "cpu-normalization-config": _SINCE_1_4,
    "resource-amplification-config": _SINCE_1_6,
}
#: Names of the proposal that no release reads, and what took their place.
PROPOSED: dict[str, str] = {
    f"{constants.NODE}numa-topology-alignment-policy": constants.NUMA_TOPOLOGY_POLICY,
}


def name_of(release: Version) -> str:
    """`1.8`."""
    return ".".join(map(str, release))

"""What the machine config operator does since which release of OpenShift."""

from typing import TypeAlias

Release: TypeAlias = tuple[int, int]

#: In order. 4.23 and 5.0 have the same text.
RELEASES: tuple[Release, ...] = (
    (4, 14),
    (4, 15),
    (4, 16),
    (4, 17),
    (4, 18),
    (4, 19),
    (4, 20),
    (4, 21),
    (4, 22),
    (4, 23),
    (5, 0),
    (5, 1),
)
NEWEST = RELEASES[-1]

#: First releases.
FEATURES: dict[str, Release] = {
    "merge.worker_first": (4, 15),  # before: all objects by name
    "merge.kernel_64k_pages": (4, 15),
    "merge.extensions_checked": (4, 16),
    "merge.reconciled": (4, 16),  # a step that no node can take is refused while rendering
    "merge.extensions_checked_with_config_only": (4, 18),
    "merge.ignition_3_5": (4, 19),
    "merge.compression_reset": (4, 20),
    "merge.generated_os_image_ignored": (4, 21),
    "cost.fips_compared": (4, 16),  # the objects, not only the node
    "cost.legacy_folders": (4, 16),
    "cost.policies": (4, 17),  # node disruption policies
    "cost.crio_policies": (4, 18),
    "cost.absent_arguments_tolerated": (4, 18),
    "cost.credential_providers": (4, 22),
    "cost.internal_registry": (4, 22),
    "cost.storage_overrides": (4, 23),
    "kubelet.defaults_for_every_pool": (4, 16),  # before: only with feature gates
    "kubelet.swap_refused": (4, 21),
    "kubelet.system_reserved_enforced": (4, 22),
    "kubelet.static_pods_by_pool": (4, 23),  # before: no pool takes a staticPodPath
    "merge.os_image_stream": (4, 22),
    "merge.special_mode_bits_kept": (4, 23),  # of Ignition configs before 3.4
}

#: Names of extensions: the first release that has it, and the first that does not.
EXTENSIONS: dict[str, tuple[Release, Release | None]] = {
    "ipsec": ((4, 14), None),
    "kerberos": ((4, 14), None),
    "kernel-devel": ((4, 14), None),
    "sandboxed-containers": ((4, 14), None),
    "sysstat": ((4, 18), None),
    "two-node-ha": ((4, 19), None),
    "usbguard": ((4, 14), None),
    "wasm": ((4, 14), (4, 22)),
}


def has(release: Release, feature: str) -> bool:
    """Whether the operator of a release does what the table calls `feature`."""
    return release >= FEATURES[feature]


def newest_ignition(release: Release) -> tuple[int, int]:
    """The newest Ignition spec that the operator of a release knows, the one of what it renders."""
    return (3, 5) if has(release, "merge.ignition_3_5") else (3, 4)


def extensions(release: Release) -> frozenset[str]:
    """The extensions that a release can install."""
    return frozenset(
        name
        for name, (first, end) in EXTENSIONS.items()
        if first <= release and (end is None or release < end)
    )

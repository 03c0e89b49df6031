"""What each version of Kubernetes can do, and each release of a platform."""

from collections.abc import Mapping
from typing import TypeAlias

from cpuplan.facts import platforms
from cpuplan.facts.platforms import Feature, Release, Span

Version: TypeAlias = platforms.Version

#: First versions. Backports to patch releases do not count: a minor version has releases without
#: them.
FEATURES: dict[str, Version] = {
    "kubelet.config_dir": (1, 28),  # KEP-3983
    "kubelet.config_dir_by_flag": (1, 30),  # before with KUBELET_CONFIG_DROPIN_DIR_ALPHA
    # The device manager looks at the NUMA nodes of its devices only (kubernetes#138244).
    "kubelet.few_device_hints": (1, 36),
    # admissionregistration.k8s.io/v1 (KEP-3488); OpenShift 4.17 is the first with it
    "api.validating_policy": (1, 30),
    # volumeMounts.recursiveReadOnly on by default (KEP-3857); alpha in 1.30
    "api.recursive_read_only": (1, 31),
    # tokens of pods name their node by default (KEP-4193)
    "api.node_of_token": (1, 30),
    "api.pod_resize": (1, 32),  # the subresource pods/resize (KEP-1287)
    "api.pod_level_resources": (1, 32),  # Pod spec.resources (KEP-2837)
    "api.device_classes": (1, 34),  # resource.k8s.io/v1 (KEP-4381)
    "api.node_allocatable_resources": (1, 37),  # of devices, with a gate (KEP-5517)
}

#: MutatingAdmissionPolicy (KEP-3962): the API version by the first Kubernetes version that has it.
MUTATING_POLICY: dict[str, Version] = {"v1alpha1": (1, 32), "v1beta1": (1, 34), "v1": (1, 36)}


def kubernetes_version(target: Release) -> Version | None:
    """The Kubernetes version of a target's release; None for a release that is not in the table."""
    return platforms.of(target).releases.get(target.version)


def has(target: Release, feature: str) -> bool:
    """Whether the target's release has `feature`; releases that are not in the table have none."""
    return reaches(target, FEATURES[feature])


def reaches(target: Release, since: Version) -> bool:
    """Whether the target's release has what came with a version of Kubernetes."""
    version = kubernetes_version(target)
    return version is not None and version >= since


def ships(target: Release, feature: Feature) -> bool:
    """Whether the platform's own parts have `feature` in the target's release.

    Without a PerformanceProfile, cpuplan may decide for itself (`features.Span.without`). Releases
    that are not in the table have nothing.
    """
    span = platforms.OPENSHIFT_FEATURES[feature]
    if span.without is not None and not target.is_profile:
        return span.without
    return bool(platforms.of(target).features) and operator_has(target.version, feature)


def operator_has(release: str, feature: Feature) -> bool:
    """Whether the parts of OpenShift have `feature` in the release, whatever cpuplan writes."""
    return includes(platforms.OPENSHIFT_FEATURES[feature], release)


def includes(span: Span, release: str) -> bool:
    """Whether a release of OpenShift is between the first and the last of a span."""
    releases = list(platforms.OPENSHIFT.releases)
    if release not in releases:
        return False
    last = releases[-1] if span.last is None else span.last
    at = releases.index(release)
    return releases.index(span.first) <= at <= releases.index(last)


def maturity(levels: Mapping[str, Version], version: Version) -> str | None:
    """The level that an option has in `version`; None where it does not exist yet."""
    reached = [level for level, since in levels.items() if since <= version]
    return reached[-1] if reached else None


def from_text(release: str) -> Version:
    """(1, 33) for `1.33`; of a platform's release too. ValueError for anything but two numbers."""
    major, minor = release.split(".")
    return int(major), int(minor)


def to_text(version: Version) -> str:
    """`1.33` for (1, 33)."""
    return f"{version[0]}.{version[1]}"

"""What each release of a target can do: the one table "feature, first version"."""

from collections.abc import Mapping
from typing import Protocol

#: Kubernetes versions as (major, minor). CRI-O's minor versions are those of Kubernetes.
Version = tuple[int, int]

#: The Kubernetes (and CRI-O) version in each OpenShift release.
OPENSHIFT: dict[str, Version] = {
    "4.14": (1, 27),
    "4.15": (1, 28),
    "4.16": (1, 29),
    "4.17": (1, 30),
    "4.18": (1, 31),
    "4.19": (1, 32),
    "4.20": (1, 33),
    "4.21": (1, 34),
    "4.22": (1, 35),
    "5.0": (1, 36),
    "5.1": (1, 37),
}
KUBERNETES: dict[str, Version] = {
    f"{major}.{minor}": (major, minor) for major, minor in OPENSHIFT.values()
}
RELEASES = {"openshift": OPENSHIFT, "kubernetes": KUBERNETES}

#: First versions. Backports to patch releases do not count: a minor version has releases without
#: them.
FEATURES: dict[str, Version] = {
    "crio.shared_cpuset": (1, 29),
    "crio.crun": (1, 31),  # the default runtime; runc before
    "crio.inherit_default_runtime": (1, 32),  # and default_annotations
    "crio.exec_cpu_affinity": (1, 34),
    "crio.min_injected_gomaxprocs": (1, 36),
    "kubelet.config_dir": (1, 30),  # 1.28 with KUBELET_CONFIG_DROPIN_DIR_ALPHA (KEP-3983)
    # gate DisableCPUQuotaWithExclusiveCPUs, on by default
    "kubelet.no_quota_with_exclusive_cpus": (1, 33),
    # admissionregistration.k8s.io/v1 (KEP-3488); OpenShift 4.17 is the first with it
    "api.validating_policy": (1, 30),
    "api.pod_level_resources": (1, 32),  # Pod spec.resources (KEP-2837)
}

#: MutatingAdmissionPolicy (KEP-3962): the API version by the first Kubernetes version that has it.
MUTATING_POLICY: dict[str, Version] = {"v1alpha1": (1, 32), "v1beta1": (1, 34), "v1": (1, 36)}

#: What OpenShift's own parts know, by the first release. Backports to patch releases do not count
#: here either.
OPENSHIFT_FEATURES: dict[str, str] = {
    "kernel.64k_pages": "4.15",  # kernelType 64k-pages (machine-config-operator#3903)
    "profile.hardware_tuning": "4.16",  # cluster-node-tuning-operator#908
    "profile.kernel_page_size": "4.19",  # cluster-node-tuning-operator#1262; backported to 4.18
    # Before, profiles of real-time workloads had it (cluster-node-tuning-operator#1370).
    "profile.no_rps_by_default": "4.20",
    # No pull request was found for the annotation; the operator of the 5.1 line has it.
    "profile.dynamic_resource_allocation": "5.1",
    # cluster-node-tuning-operator#1045; backported as far as 4.14
    "units.ocp_tuned_one_shot": "4.17",
    # cluster-node-tuning-operator#1515; before, sched_debug was stalld's own choice
    "units.stalld_backend": "4.22",
    # cluster-node-tuning-operator#1591: RHEL 10 enables the timer, RHEL 9 does not
    "tuned.fwupd_timer": "5.1",
    # TuneD 2.28 (redhat-performance/tuned#747); which release came with it was not found, the 5.1
    # line has it.
    "kernel.nohz_full_patience_delay": "5.1",
}


class Release(Protocol):
    """What says which release nodes run: the target of an intent."""

    @property
    def platform(self) -> str: ...

    @property
    def version(self) -> str: ...


def kubernetes_version(target: Release) -> Version | None:
    """The Kubernetes version of a target's release; None for a release that is not in the table."""
    return RELEASES[target.platform].get(target.version)


def has(target: Release, feature: str) -> bool:
    """Whether the target's release has `feature`; releases that are not in the table have none."""
    version = kubernetes_version(target)
    return version is not None and version >= FEATURES[feature]


def ships(target: Release, feature: str) -> bool:
    """Whether the target is an OpenShift release with `feature`; releases that are not in the table
    have none.
    """
    if target.platform != "openshift" or target.version not in OPENSHIFT:
        return False
    releases = list(OPENSHIFT)
    return releases.index(target.version) >= releases.index(OPENSHIFT_FEATURES[feature])


def maturity(levels: Mapping[str, Version], version: Version) -> str | None:
    """The level that an option has in `version`; None where it does not exist yet."""
    reached = [level for level, since in levels.items() if since <= version]
    return reached[-1] if reached else None


def to_text(version: Version) -> str:
    """`1.33` for (1, 33)."""
    return f"{version[0]}.{version[1]}"

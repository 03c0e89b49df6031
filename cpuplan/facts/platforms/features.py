"""What came to OpenShift's releases, changed in them, or went, one line each.

Paths are those of openshift/cluster-node-tuning-operator at the head of each release branch: `A` is
assets/performanceprofile, `P` pkg/performanceprofile/controller/performanceprofile/components, `V`
pkg/apis/performanceprofile/v2/performanceprofile_validation.go.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

#: What parts of a platform itself do in some releases and not in others.
Feature = Literal[
    "arguments.any_vendor",
    "arguments.arm_iommu_passthrough",
    "arguments.every_arm_vendor",
    "arguments.nohz_full_always",
    "arguments.nohz_full_patience_delay",
    "arguments.of_tuned_2_24",
    "cluster.cgroups_v1",
    "gates.mixed_cpus_dev_preview",
    "gates.mixed_cpus_tech_preview",
    "kernel.64k_pages",
    "one_shot.in_host_folder",
    "one_shot.may_fail",
    "one_shot.restarts",
    "ovs.dpdk",
    "profile.dynamic_resource_allocation",
    "profile.exec_affinity",
    "profile.hardware_tuning",
    "profile.hosted_clusters",
    "profile.kernel_page_size",
    "profile.mixed_cpus",
    "rps.enable_is_yes",
    "rps.for_real_time",
    "rps.false_is_no",
    "rps.short_masks",
    "tuned.bans_by_list",
    "tuned.conntrack_hashsize",
    "tuned.fwupd_timer",
    "tuned.timer_migration_by_kernel",
    "units.stalld_backend",
    "webhook.default_huge_page_size",
    "webhook.page_sizes",
    "webhook.same_capacity",
]


class Span(NamedTuple):
    """The releases with a feature, first and last; no last one where it still exists.

    Backports to patch releases do not count: a minor version has releases without them. `without`
    is whether cpuplan does the same where no PerformanceProfile is written, in every release; None
    where it follows the operator there too.
    """

    first: str
    last: str | None
    source: str
    without: bool | None = None


OPENSHIFT: Mapping[Feature, Span] = {
    "arguments.any_vendor": Span("4.14", "4.15", "A/tuned/openshift-node-performance", False),
    "arguments.arm_iommu_passthrough": Span("4.16", "4.18", "A/tuned/*-arm-aarch64", False),
    "arguments.every_arm_vendor": Span("4.18", None, "A/tuned/openshift-node-performance", True),
    "arguments.nohz_full_always": Span("4.23", None, "A/tuned/openshift-node-performance", True),
    # redhat-performance/tuned#747. No branch pins TuneD 2.28; the product of 5.1 may install it.
    "arguments.nohz_full_patience_delay": Span("5.1", None, "TuneD 2.28, network-latency"),
    "arguments.of_tuned_2_24": Span("4.16", None, "TuneD 2.24, network-latency", True),
    "cluster.cgroups_v1": Span("4.14", "4.15", "P/../performanceprofile_controller.go", False),
    # MixedCPUsAllocation (openshift/api, payload-manifests/featuregates): in no default set.
    "gates.mixed_cpus_dev_preview": Span("4.16", None, "openshift/api, DevPreviewNoUpgrade"),
    "gates.mixed_cpus_tech_preview": Span("4.15", None, "openshift/api, TechPreviewNoUpgrade"),
    "kernel.64k_pages": Span("4.15", None, "openshift/machine-config-operator#3903"),
    "one_shot.in_host_folder": Span("4.18", None, "A/configs/ocp-tuned-one-shot.service"),
    "one_shot.may_fail": Span("4.17", None, "A/configs/ocp-tuned-one-shot.service"),
    "one_shot.restarts": Span("4.16", None, "A/configs/ocp-tuned-one-shot.service"),
    "ovs.dpdk": Span("4.23", None, "CRD, P/machineconfig, P/profile", True),
    "profile.dynamic_resource_allocation": Span("4.22", None, "P/kubeletconfig/kubeletconfig.go"),
    "profile.exec_affinity": Span("4.21", None, "P/machineconfig/machineconfig.go"),
    "profile.hardware_tuning": Span("4.16", None, "CRD, P/tuned/tuned.go"),
    # Before, the controller of profiles does not run for hosted clusters.
    "profile.hosted_clusters": Span("4.17", None, "cmd/cluster-node-tuning-operator/main.go"),
    "profile.kernel_page_size": Span("4.18", None, "CRD, P/machineconfig/machineconfig.go"),
    "profile.mixed_cpus": Span("4.15", None, "CRD, P/kubeletconfig/kubeletconfig.go"),
    "rps.enable_is_yes": Span("4.20", None, "P/profile/profile.go", True),
    "rps.for_real_time": Span("4.14", "4.19", "P/profile/profile.go", False),
    "rps.false_is_no": Span("4.19", None, "P/profile/profile.go", True),
    "rps.short_masks": Span("4.14", "4.15", "P/utils.go", False),
    # redhat-performance/tuned#657: IRQBALANCE_BANNED_CPULIST.
    "tuned.bans_by_list": Span("4.16", None, "TuneD 2.24, plugin_irqbalance"),
    "tuned.conntrack_hashsize": Span("4.14", "4.21", "P/tuned/tuned.go", False),
    # RHEL 10 enables the timer, RHEL 9 does not.
    "tuned.fwupd_timer": Span("4.23", None, "A/tuned/openshift-node-performance"),
    "tuned.timer_migration_by_kernel": Span("4.20", "4.21", "A/tuned/*-rt", False),
    # Before, sched_debug was stalld's own choice.
    "units.stalld_backend": Span("4.22", None, "P/machineconfig/machineconfig.go"),
    "webhook.default_huge_page_size": Span("4.21", None, "V, validateHugePages"),
    "webhook.page_sizes": Span("4.18", None, "V, validateHugePages, validateKernelPageSize"),
    "webhook.same_capacity": Span("4.18", None, "V, validateAllNodesAreSameCpuCapacity"),
}

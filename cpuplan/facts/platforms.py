"""What differs between platforms before anything is written for them.

The stages below `backends` ask these values and never compare names of platforms. What is written
for a platform is in its backend.

Features are what came to OpenShift's releases, changed in them, or went, one line each. Paths are
those of openshift/cluster-node-tuning-operator at the head of each release branch: `A` is
assets/performanceprofile, `P` pkg/performanceprofile/controller/performanceprofile/components, `V`
pkg/apis/performanceprofile/v2/performanceprofile_validation.go.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple, Protocol, TypeAlias

from cpuplan.facts import programs
from cpuplan.facts.programs import kubernetes_of

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
    "profile.isolated_as_written",
    "profile.kernel_page_size",
    "profile.mixed_cpus",
    "profile.one_reboot",
    "profile.reserved_as_written",
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


OPENSHIFT_FEATURES: Mapping[Feature, Span] = {
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
    # Of later releases the list for TuneD is in normal form.
    "profile.isolated_as_written": Span("4.14", "4.15", "P/tuned/tuned.go"),
    "profile.kernel_page_size": Span("4.18", None, "CRD, P/machineconfig/machineconfig.go"),
    "profile.mixed_cpus": Span("4.15", None, "CRD, P/kubeletconfig/kubeletconfig.go"),
    # openshift/cluster-node-tuning-operator commit 53c744076.
    "profile.one_reboot": Span("4.22", None, "P/controller, waits for 50-nto-*"),
    # Of later releases the KubeletConfig has the list in normal form, as with shared CPUs always.
    "profile.reserved_as_written": Span("4.14", "4.22", "P/kubeletconfig/kubeletconfig.go"),
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


Version: TypeAlias = programs.Version
#: What a target may name; a test compares it with `PLATFORMS`.
Name = Literal["openshift", "kubernetes", "rke2", "k3s", "talos", "bottlerocket"]


class Host(NamedTuple):
    """A program that starts the kubelet, or runs it within itself, and gives it its flags.

    Flags are values of `--kubelet-arg`, and of `kubelet-arg` in the configuration of the program
    and its drop-ins. Variables begin with the program's name (k3s-io/k3s, pkg/configfilearg and
    pkg/cli/cmds; 28 November 2026).
    """

    program: str
    #: Those of an agent and of a server, of which a node runs one.
    units: tuple[str, ...]
    config: str
    data: str


class FlagFile(NamedTuple):
    """A file with flags of the kubelet, and the variables that it may name."""

    path: str
    variables: Mapping[str, str]


#: The snaps of Canonical (canonical/microk8s, microk8s-resources/default-args/kubelet, and
#: canonical/k8s-snap; 28 November 2026).
_OF_SNAPS = tuple(
    FlagFile(
        path,
        {
            "SNAP": f"/snap/{snap}/current",
            "SNAP_DATA": f"/var/snap/{snap}/current",
            "SNAP_COMMON": f"/var/snap/{snap}/common",
        },
    )
    for snap, path in (
        ("microk8s", "var/snap/microk8s/current/args/kubelet"),
        ("k8s", "var/snap/k8s/common/args/kubelet"),
    )
)


class Platform(NamedTuple):
    """A platform; each switch is off for upstream Kubernetes on an owner's operating system."""

    name: str
    title: str
    #: The Kubernetes (and CRI-O) version in each release.
    releases: Mapping[str, Version]
    #: What its own parts do, and in which releases.
    features: Mapping[Feature, Span]
    #: Nodes are in MachineConfigPools. The pool decides what a node gets, its kernel included.
    has_pools: bool = False
    #: The defaults of the node tuning operator are set.
    has_operator_defaults: bool = False
    #: A release brings the kernel.
    ships_kernel: bool = False
    #: Open vSwitch runs in units of the platform, and gets separate CPUs from cpuplan.
    manages_open_v_switch: bool = False
    #: An admission plugin of the API server annotates pods that request shared CPUs.
    annotates_sharing_pods: bool = False
    #: The kubelet is that of openshift/kubernetes.
    forks_kubelet: bool = False
    #: A unit removes the kubelet's state files before each of its starts.
    removes_state_files: bool = False
    #: All of the kubelet's configuration is known, and not only a drop-in.
    owns_kubelet_configuration: bool = False
    #: The kubelet's maxPods where nobody sets it.
    max_pods: int = 110
    #: Nodes take files and units of others; no operator or image keeps them away.
    takes_files: bool = True
    #: The unit that runs the kubelet.
    kubelet_unit: str = "kubelet.service"
    #: The container runtime that it brings; None where a target names it.
    runtime: Literal["crio", "containerd"] | None = None
    #: The container runtime has a unit, apart from the kubelet's.
    has_runtime_unit: bool = True
    #: What starts the kubelet; None where it has a unit and a command line of its own.
    kubelet_host: Host | None = None
    #: Files with all flags of the kubelet, where a program of another name runs it.
    flag_files: tuple[FlagFile, ...] = ()
    #: Where the kubelet's file is, below the root, in the order in which it is looked for where no
    #: command line names it; none where there are drop-ins only.
    kubelet_files: tuple[str, ...] = ()
    #: Where the kubelet's drop-ins are; "" where it reads none.
    kubelet_folder: str = "/etc/kubernetes/kubelet.conf.d"
    #: What lies under the drop-in may name cgroups for reservations, beside which the kubelet
    #: refuses reserved CPUs: which distribution made the node is not known.
    may_reserve_cgroups: bool = False
    #: The kubelet takes what is compiled without being told of a folder.
    reads_kubelet_folder: bool = False

    @property
    def has_runtime_choice(self) -> bool:
        """A target names the container runtime, whose configuration is cpuplan's to write."""
        return self.runtime is None


KUBERNETES = Platform(
    "kubernetes",
    "Kubernetes",
    releases=kubernetes_of(programs.KUBERNETES),
    features={},
    # kubeadm (and a kubeconfig in the second), Kubespray, EKS (twice), AKS, GKE.
    kubelet_files=(
        "var/lib/kubelet/config.yaml",
        "etc/kubernetes/kubelet.conf",
        "etc/kubernetes/kubelet.yaml",
        "etc/kubernetes/kubelet-config.yaml",
        "etc/kubernetes/kubelet/config.json",
        "etc/kubernetes/kubelet/kubelet-config.json",
        "etc/default/kubeletconfig.json",
        "home/kubernetes/kubelet-config.yaml",
    ),
    flag_files=_OF_SNAPS,
    # EKS (awslabs/amazon-eks-ami, nodeadm/internal/kubelet/config.go) and k0s (k0sproject/k0s,
    # pkg/component/controller/workerconfig); 28 November 2026.
    may_reserve_cgroups=True,
)
OPENSHIFT = Platform(
    "openshift",
    "OpenShift",
    releases=kubernetes_of(programs.OPENSHIFT),
    features=OPENSHIFT_FEATURES,
    has_pools=True,
    takes_files=False,
    has_operator_defaults=True,
    ships_kernel=True,
    manages_open_v_switch=True,
    annotates_sharing_pods=True,
    forks_kubelet=True,
    removes_state_files=True,
    owns_kubelet_configuration=True,
    runtime="crio",
    kubelet_files=("etc/kubernetes/kubelet.conf",),
    # The machine config operator's templates of kubelet.conf.
    max_pods=250,
)
#: K3s and RKE2 run the kubelet and containerd within their own process.
RKE2 = Platform(
    "rke2",
    "RKE2",
    releases=kubernetes_of(programs.RKE2),
    features={},
    kubelet_unit="rke2-agent.service",
    runtime="containerd",
    has_runtime_unit=False,
    kubelet_host=Host(
        "rke2",
        ("rke2-agent.service", "rke2-server.service"),
        config="/etc/rancher/rke2/config.yaml",
        data="/var/lib/rancher/rke2",
    ),
    kubelet_folder="/var/lib/rancher/rke2/agent/etc/kubelet.conf.d",
    reads_kubelet_folder=True,
)
K3S = Platform(
    "k3s",
    "K3s",
    releases=kubernetes_of(programs.K3S),
    features={},
    kubelet_unit="k3s-agent.service",
    runtime="containerd",
    has_runtime_unit=False,
    kubelet_host=Host(
        "k3s",
        ("k3s-agent.service", "k3s.service"),
        config="/etc/rancher/k3s/config.yaml",
        data="/var/lib/rancher/k3s",
    ),
    kubelet_folder="/var/lib/rancher/k3s/agent/etc/kubelet.conf.d",
    reads_kubelet_folder=True,
)
TALOS = Platform(
    "talos",
    "Talos",
    releases=kubernetes_of(programs.TALOS),
    features={},
    takes_files=False,
    runtime="containerd",
    has_runtime_unit=False,
    # internal/app/machined/pkg/controllers/k8s/kubelet_spec.go
    kubelet_files=("etc/kubernetes/kubelet.yaml",),
    kubelet_folder="",
    reads_kubelet_folder=True,
)
BOTTLEROCKET = Platform(
    "bottlerocket",
    "Bottlerocket",
    releases=kubernetes_of(programs.BOTTLEROCKET),
    features={},
    takes_files=False,
    runtime="containerd",
    has_runtime_unit=False,
    # bottlerocket-core-kit, packages/kubernetes-*/kubelet-exec-start-conf
    kubelet_files=("etc/kubernetes/kubelet/config",),
    kubelet_folder="",
    reads_kubelet_folder=True,
)
PLATFORMS: dict[str, Platform] = {
    platform.name: platform for platform in (OPENSHIFT, KUBERNETES, RKE2, K3S, TALOS, BOTTLEROCKET)
}


class Release(Protocol):
    """What says which release nodes run: the target of an intent."""

    @property
    def platform(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def is_profile(self) -> bool: ...


def of(target: Release) -> Platform:
    """The platform of a target."""
    return PLATFORMS[target.platform]

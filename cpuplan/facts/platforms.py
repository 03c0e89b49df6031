"""What differs between platforms before anything is written for them.

The stages below `backends` ask these values and never compare names of platforms. What is written
for a platform is in its backend.

Features are what came to OpenShift's releases, changed in them, or went, one line each. Paths are
those of openshift/cluster-node-tuning-operator at the head of each release branch: `A` is
assets/performanceprofile, `P` pkg/performanceprofile/controller/performanceprofile/components, `V`
pkg/apis/performanceprofile/v2/performanceprofile_validation.go.
"""

from collections.abc import Callable, Mapping
from datetime import date
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, TypedDict

from cpuplan.facts import programs
from cpuplan.facts.programs import Program, kubernetes_of

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
Name = Literal[
    "openshift",
    "kubernetes",
    "kubeadm",
    "eks",
    "k0s",
    "microk8s",
    "kubespray",
    "kops",
    "gke",
    "aks",
    "rke2",
    "k3s",
    "talos",
    "bottlerocket",
]


class Source(NamedTuple):
    """What the facts of a row were read in, and when: a test refuses what is older than a year."""

    text: str
    seen: date


class Host(NamedTuple):
    """A program that runs the kubelet within itself, and gives it its flags.

    Flags are values of `--kubelet-arg`, and of `kubelet-arg` in the configuration of the program
    and its drop-ins. Variables begin with the program's name.
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


#: The snaps of Canonical.
_MICROK8S_SNAP, _K8S_SNAP = (
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


class Supervisor(NamedTuple):
    """A program whose child the kubelet is: `argument` has its flags, beside those of the program.

    `{data}` is the folder of its data, `{root}` that of the kubelet's, which are flags too.
    """

    program: str
    units: tuple[str, ...]
    argument: str
    data: tuple[str, str]
    root: tuple[str, str]
    flags: tuple[str, ...]


class FolderFlag(NamedTuple):
    """What gives a kubelet the flag with the folder of drop-ins.

    A variable that its unit hands on and nothing else sets, with the flags that it has by default;
    or a command line in place of the unit's own, to which the flag is added; else somebody does it.
    """

    variable: str = ""
    flags: str = ""
    command: str = ""
    by_hand: str = ""


class Base(NamedTuple):
    """Fields of the configuration that a platform writes, in a version and those after it.

    Only those that a drop-in must go with: cgroups, what is enforced, gates and thresholds.
    """

    since: Version
    fields: Mapping[str, Any]


class Platform(NamedTuple):
    """A platform; each switch is off for upstream Kubernetes on an owner's operating system."""

    name: str
    title: str
    #: The Kubernetes (and CRI-O) version in each release.
    releases: Mapping[str, Version]
    #: What its own parts do, and in which releases.
    features: Mapping[Feature, Span]
    #: Where its facts are from.
    sources: tuple[Source, ...]
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
    #: A state file of the CPU manager goes where its policy is another one, and no other file.
    removes_state_of_other_policy: bool = False
    #: The first release that may remove state files itself; "" where none does.
    may_remove_state_since: str = ""
    #: The unit that runs the kubelet.
    kubelet_unit: str = "kubelet.service"
    #: The kubelet's folder, where its state files are.
    root_directory: str = "/var/lib/kubelet"
    #: Further folders with the kubelet's files and flags, which an agent needs.
    kubelet_places: tuple[str, ...] = ()
    #: Files that only its nodes have, in folders that all may read; kubeadm's may be on others too.
    marks: tuple[str, ...] = ()
    #: What pods' control groups are made with, where the configuration does not say it.
    cgroup_driver: Literal["systemd", "cgroupfs"] = "systemd"
    #: The container runtime that it brings; None where a target names it.
    runtime: Literal["crio", "containerd"] | None = None
    #: A target must name the runtime: none is the usual one.
    asks_for_runtime: bool = False
    #: The container runtime has a unit, apart from the kubelet's.
    has_runtime_unit: bool = True
    #: What runs the kubelet; None where it has a process and a command line of its own.
    kubelet_host: Host | None = None
    #: What starts the kubelet where no unit does.
    supervisor: Supervisor | None = None
    #: Files with all flags of the kubelet, where a program of another name runs it.
    flag_files: tuple[FlagFile, ...] = ()
    #: Where the kubelet's file is, below the root, in the order in which it is looked for where no
    #: command line names it; none where there are drop-ins only.
    kubelet_files: tuple[str, ...] = ()
    #: Where the kubelet's drop-ins are; "" where it reads none.
    kubelet_folder: str = "/etc/kubernetes/kubelet.conf.d"
    #: How the kubelet is told of the folder.
    folder_flag: FolderFlag = FolderFlag()
    #: What lies under the drop-in, by version.
    bases: tuple[Base, ...] = ()
    #: The kubelet takes what is compiled without being told of a folder.
    reads_kubelet_folder: bool = False
    #: Why its nodes can hold no plan; "" where they can.
    cannot: str = ""
    #: Why it does not take a delivery, by name.
    refused_deliveries: Mapping[str, str] = MappingProxyType({})

    @property
    def has_runtime_choice(self) -> bool:
        """A target names the container runtime, whose configuration is cpuplan's to write."""
        return self.runtime is None

    def may_remove_state(self, release: str) -> bool:
        """Whether a release may remove a state file that the kubelet would refuse."""
        names = list(self.releases)
        since = self.may_remove_state_since
        if not since or release not in names:
            return bool(since)
        return names.index(release) >= names.index(since)

    def base(self, version: Version | None = None) -> dict[str, Any]:
        """What lies under a drop-in of a version; without one, whatever any version has."""
        fields: dict[str, Any] = {}
        for base in self.bases:
            if version is None or base.since <= version:
                fields |= base.fields
        return fields


class _Named(TypedDict):
    name: str
    title: str
    releases: Mapping[str, Version]


def _of(program: Program) -> _Named:
    """What a row shares with the program whose releases are its own."""
    return {"name": program.name, "title": program.title, "releases": kubernetes_of(program)}


_DAY = date(2026, 11, 28)
_ALL = (1, 0)
#: By which nodes of EKS reserve (also those with Bottlerocket).
_EKS_CGROUPS = {"kubeReservedCgroup": "/runtime", "systemReservedCgroup": "/system"}
_EVICTION = {"memory.available": "100Mi", "nodefs.available": "10%", "nodefs.inodesFree": "5%"}
KUBERNETES = Platform(
    **_of(programs.KUBERNETES),
    features={},
    sources=(Source("kubernetes/release cmd/krel/templates/latest/kubeadm @ f618b2a3", _DAY),),
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
    flag_files=(_MICROK8S_SNAP, _K8S_SNAP),
    folder_flag=FolderFlag("KUBELET_CONFIG_ARGS", "--config=/var/lib/kubelet/config.yaml"),
    # Which distribution made a node is not known: what any of them has.
    bases=(Base(_ALL, _EKS_CGROUPS),),
)


_NO_TEMPLATE = {"clusterApi": "a KubeadmConfigTemplate sets up nodes with kubeadm"}
KUBEADM = KUBERNETES._replace(
    **_of(programs.KUBEADM),
    sources=(
        Source("kubernetes/release cmd/krel/templates/latest/kubeadm @ f618b2a3", _DAY),
        Source("kubernetes/kubernetes cmd/kubeadm/app/componentconfigs @ 046d201c", _DAY),
    ),
    asks_for_runtime=True,
    marks=tuple(
        f"{folder}/systemd/system/kubelet.service.d/10-kubeadm.conf"
        for folder in ("etc", "usr/lib", "lib")
    ),
    kubelet_files=("var/lib/kubelet/config.yaml",),
    flag_files=(),
    bases=(Base(_ALL, {"cgroupDriver": "systemd"}),),
)
#: The image with Amazon Linux 2023. nodeadm writes the file at each boot, and gives the folder
#: below it by flag if a NodeConfig has a configuration: 40-nodeadm.conf is merged before ours.
EKS = KUBERNETES._replace(
    **_of(programs.EKS),
    sources=(
        Source("awslabs/amazon-eks-ami nodeadm/internal/kubelet @ 81fec2e8", _DAY),
        Source("awslabs/amazon-eks-ami templates/al2023/runtime/rootfs @ 81fec2e8", _DAY),
    ),
    runtime="containerd",
    marks=("etc/eks/kubelet",),
    kubelet_files=("etc/kubernetes/kubelet/config.json",),
    flag_files=(),
    kubelet_folder="/etc/kubernetes/kubelet/config.json.d",
    folder_flag=FolderFlag(command="/usr/bin/kubelet $NODEADM_KUBELET_ARGS"),
    bases=(
        Base(
            _ALL,
            {
                "cgroupDriver": "systemd",
                "cgroupRoot": "/",
                "evictionHard": _EVICTION,
                "featureGates": {"RotateKubeletServerCertificate": True},
                "protectKernelDefaults": True,
                **_EKS_CGROUPS,
            },
        ),
        Base((1, 34), {"shutdownGracePeriod": "150s", "shutdownGracePeriodCriticalPods": "30s"}),
    ),
    refused_deliveries=_NO_TEMPLATE,
)
#: The configuration is in /run since 1.32 (commit 21396900).
K0S = KUBERNETES._replace(
    **_of(programs.K0S),
    sources=(
        Source("k0sproject/k0s pkg/component/worker/kubelet.go @ dff90cee", _DAY),
        Source("k0sproject/k0s pkg/component/controller/workerconfig @ dff90cee", _DAY),
    ),
    runtime="containerd",
    has_runtime_unit=False,
    kubelet_unit="k0sworker.service",
    root_directory="/var/lib/k0s/kubelet",
    kubelet_places=("/run/k0s/kubelet",),
    marks=("var/lib/k0s", "run/k0s"),
    cgroup_driver="cgroupfs",
    kubelet_files=("run/k0s/kubelet/config.yaml",),
    flag_files=(),
    supervisor=Supervisor(
        "k0s",
        ("k0sworker.service", "k0scontroller.service"),
        argument="kubelet-extra-args",
        data=("data-dir", "/var/lib/k0s"),
        root=("kubelet-root-dir", "{data}/kubelet"),
        flags=("--root-dir={root}", "--config=/run/k0s/kubelet/config.yaml"),
    ),
    folder_flag=FolderFlag(
        by_hand="install the worker with --kubelet-extra-args=--config-dir={folder}"
    ),
    bases=(Base(_ALL, {"kubeReservedCgroup": "system.slice"}),),
    refused_deliveries=_NO_TEMPLATE,
)
MICROK8S = KUBERNETES._replace(
    **_of(programs.MICROK8S),
    sources=(Source("canonical/microk8s microk8s-resources @ d099c907", _DAY),),
    runtime="containerd",
    has_runtime_unit=False,
    kubelet_unit="snap.microk8s.daemon-kubelite.service",
    root_directory="/var/snap/microk8s/common/var/lib/kubelet",
    kubelet_places=("/var/snap/microk8s/current/args",),
    marks=("var/snap/microk8s",),
    cgroup_driver="cgroupfs",
    kubelet_files=(),
    flag_files=(_MICROK8S_SNAP,),
    bases=(),
    folder_flag=FolderFlag(
        by_hand="add the line --config-dir={folder} to /var/snap/microk8s/current/args/kubelet"
    ),
    refused_deliveries=_NO_TEMPLATE,
)
#: What is reserved and enforced is asked for in an inventory (`kube_reserved`, `system_reserved`).
KUBESPRAY = KUBERNETES._replace(
    **_of(programs.KUBESPRAY),
    sources=(Source("kubernetes-sigs/kubespray roles/kubernetes/node @ 46dbdd39", _DAY),),
    asks_for_runtime=True,
    marks=("etc/kubernetes/kubelet.env",),
    kubelet_files=("etc/kubernetes/kubelet-config.yaml",),
    flag_files=(),
    # Handed on by its unit, and set by none of its files.
    folder_flag=FolderFlag("KUBELET_API_SERVER"),
    bases=(
        Base(
            _ALL,
            {
                "cgroupDriver": "systemd",
                "kubeReservedCgroup": "/kube.slice",
                "systemReservedCgroup": "/system.slice",
                "enforceNodeAllocatable": ["pods", "kube-reserved", "system-reserved"],
            },
        ),
    ),
    refused_deliveries=_NO_TEMPLATE,
)
#: Since kOps 1.36 its settings of the kubelet are in a file (commit 5b0bf6b3); before, they are
#: flags, above which no drop-in counts.
KOPS = KUBERNETES._replace(
    **_of(programs.KOPS),
    sources=(Source("kubernetes/kops nodeup/pkg/model/kubelet.go @ 268927e2", _DAY),),
    runtime="containerd",
    marks=("opt/kops",),
    kubelet_files=("var/lib/kubelet/kubelet.conf",),
    flag_files=(),
    folder_flag=FolderFlag(command='/usr/local/bin/kubelet "$DAEMON_ARGS"'),
    bases=(
        Base(
            _ALL,
            {
                "cgroupDriver": "systemd",
                "cgroupRoot": "/",
                "evictionHard": {
                    **_EVICTION,
                    "imagefs.available": "10%",
                    "imagefs.inodesFree": "5%",
                },
                "protectKernelDefaults": True,
                "kubeReservedCgroup": "/kube",
                "systemReservedCgroup": "/system",
                "enforceNodeAllocatable": ["pods", "kube-reserved", "system-reserved"],
            },
        ),
    ),
    refused_deliveries=_NO_TEMPLATE,
)
#: A node system configuration sets policies, options of none, and no CPUs.
GKE = KUBERNETES._replace(
    **_of(programs.GKE),
    sources=(
        Source("cloud.google.com/kubernetes-engine reference/rest/v1/NodeKubeletConfig", _DAY),
    ),
    takes_files=False,
    runtime="containerd",
    kubelet_files=("home/kubernetes/kubelet-config.yaml",),
    kubelet_folder="",
    flag_files=(),
    folder_flag=FolderFlag(),
    bases=(),
    cannot="a node system configuration (kubeletConfig) does not say which CPUs are reserved",
)
#: A custom node configuration sets two policies. The agent of a node may enforce reservations.
AKS = GKE._replace(
    **_of(programs.AKS),
    sources=(
        Source("Azure/AgentBaker pkg/agent/utils.go, pkg/agent/datamodel @ 06836ee2", _DAY),
        Source("learn.microsoft.com/azure/aks/custom-node-configuration-reference", _DAY),
    ),
    kubelet_files=("etc/default/kubeletconfig.json",),
    bases=(
        Base(
            _ALL,
            {
                "kubeReservedCgroup": "/kubereserved.slice",
                "systemReservedCgroup": "/system.slice",
                "enforceNodeAllocatable": ["pods", "kube-reserved", "system-reserved"],
            },
        ),
    ),
    cannot="a custom node configuration (--kubelet-config) does not say which CPUs are reserved",
)
OPENSHIFT = Platform(
    **_of(programs.OPENSHIFT),
    features=OPENSHIFT_FEATURES,
    sources=(
        Source("openshift/machine-config-operator templates/*/01-*-kubelet @ 0195012b", _DAY),
        Source("openshift/cluster-node-tuning-operator, release branches to 5.1", _DAY),
    ),
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
    **_of(programs.RKE2),
    features={},
    sources=(
        Source("k3s-io/k3s pkg/configfilearg, pkg/daemons/agent/agent_linux.go @ 00014d28", _DAY),
        Source("rancher/rke2 pkg/cli/cmds @ 6ce1a801", _DAY),
    ),
    kubelet_unit="rke2-agent.service",
    runtime="containerd",
    has_runtime_unit=False,
    kubelet_host=Host(
        "rke2",
        ("rke2-agent.service", "rke2-server.service"),
        config="/etc/rancher/rke2/config.yaml",
        data="/var/lib/rancher/rke2",
    ),
    marks=("etc/rancher/rke2", "var/lib/rancher/rke2"),
    kubelet_folder="/var/lib/rancher/rke2/agent/etc/kubelet.conf.d",
    reads_kubelet_folder=True,
)
K3S = Platform(
    **_of(programs.K3S),
    features={},
    sources=(
        Source("k3s-io/k3s pkg/configfilearg, pkg/daemons/agent/agent_linux.go @ 00014d28", _DAY),
        Source("docs.k3s.io/installation/configuration (k3s-io/docs#433)", _DAY),
    ),
    kubelet_unit="k3s-agent.service",
    runtime="containerd",
    has_runtime_unit=False,
    kubelet_host=Host(
        "k3s",
        ("k3s-agent.service", "k3s.service"),
        config="/etc/rancher/k3s/config.yaml",
        data="/var/lib/rancher/k3s",
    ),
    marks=("etc/rancher/k3s", "var/lib/rancher/k3s"),
    kubelet_folder="/var/lib/rancher/k3s/agent/etc/kubelet.conf.d",
    reads_kubelet_folder=True,
)
TALOS = Platform(
    **_of(programs.TALOS),
    features={},
    sources=(
        Source("siderolabs/talos internal/app/machined/pkg/controllers/k8s @ ad882317", _DAY),
        Source("siderolabs/talos, release notes of 1.14.2 (29 September 2026)", _DAY),
    ),
    takes_files=False,
    runtime="containerd",
    has_runtime_unit=False,
    removes_state_of_other_policy=True,
    # From 1.14.2 on each that the kubelet would refuse.
    may_remove_state_since="1.14",
    kubelet_files=("etc/kubernetes/kubelet.yaml",),
    kubelet_folder="",
    reads_kubelet_folder=True,
    bases=(
        Base(
            _ALL,
            {
                "cgroupRoot": "/",
                "failSwapOn": False,
                "protectKernelDefaults": True,
                "shutdownGracePeriod": "30s",
                "shutdownGracePeriodCriticalPods": "10s",
                "systemCgroups": "/system",
                "systemReserved": {
                    "cpu": "50m",
                    "ephemeral-storage": "256Mi",
                    "memory": "384Mi",
                    "pid": "100",
                },
            },
        ),
    ),
)
BOTTLEROCKET = Platform(
    **_of(programs.BOTTLEROCKET),
    features={},
    sources=(
        Source("bottlerocket-os/bottlerocket-core-kit packages/kubernetes-1.30 @ a10182f9", _DAY),
        Source("bottlerocket-os/bottlerocket#4690, #4778, #4787 (1.51.0, 1.57.0)", _DAY),
    ),
    takes_files=False,
    runtime="containerd",
    has_runtime_unit=False,
    # A boot removes that of the CPU manager (kubernetes-tmpfiles.conf), another start does not.
    may_remove_state_since="1.27",
    kubelet_files=("etc/kubernetes/kubelet/config",),
    kubelet_folder="",
    reads_kubelet_folder=True,
    # Without cgroups for reservations where there are reserved CPUs.
    bases=(Base(_ALL, {"cgroupDriver": "systemd", "cgroupRoot": "/"}),),
)
_DISTRIBUTIONS = (KUBEADM, EKS, K0S, MICROK8S, KUBESPRAY, KOPS, GKE, AKS, RKE2, K3S)
PLATFORMS: dict[str, Platform] = {
    platform.name: platform
    for platform in (OPENSHIFT, KUBERNETES, *_DISTRIBUTIONS, TALOS, BOTTLEROCKET)
}


class Release(Protocol):
    """What says which release nodes run: the target of an intent."""

    @property
    def platform(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def is_profile(self) -> bool: ...


def seen(is_there: Callable[[str], bool]) -> Platform | None:
    """The platform of a node by the files that it has; None where none tells."""
    rows = [row for row in PLATFORMS.values() if any(map(is_there, row.marks))]
    others = [row for row in rows if row != KUBEADM]
    return next(iter(others or rows), None) if len(others) <= 1 else None


def of(target: Release) -> Platform:
    """The platform of a target."""
    return PLATFORMS[target.platform]

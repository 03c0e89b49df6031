"""The document of what CPUs are for: Intent, with the rules and defaults that it switches."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from cpuplan.facts import platforms
from cpuplan.language.model.allocators import Dra, Koordinator, KoordinatorRelease
from cpuplan.language.model.base import (
    FeatureSet,
    LabelKey,
    Labels,
    Later,
    Listed,
    Model,
    Name,
    OciRuntime,
    PoolName,
    ProgramRelease,
    Reason,
    Release,
    ServiceName,
    Words,
    WrittenList,
    matching,
    problem,
)
from cpuplan.language.model.pools import GOAL_ORDER, Objective, Pools, QosSets, Workloads
from cpuplan.language.model.rollout import Rollout, Selector, Verify
from cpuplan.language.model.tuning import (
    HardwareTuning,
    HugePagesSpec,
    Isolation,
    Kernel,
    Kubelet,
    Net,
    OpenVSwitch,
    Runtime,
    WorkloadHints,
)

#: The names of `settings.table.SWITCHES`.
DefaultName = Literal[
    "infra-containers",
    "gomaxprocs",
    "handler",
    "latency",
    "tuned",
    "system-services",
    "kubelet-drop-ins",
    "iommu",
    "frequency-driver",
    "cpu-frequencies",
    "firmware-updates",
    "transparent-hugepages",
    "tcp-fastopen",
    "dirty-pages",
    "swappiness",
    "timer-migration",
    "avc-cache",
    "tuned-scheduler",
    "kernel-threads",
    "time-stamps",
    "irqbalance-start",
    "cgroup-v1",
    "scripts",
    "ovs-slice",
    "stalld-backend",
    "tuned-first",
]
RuleName = Literal[
    "cpu0-reserved",
    "whole-cores",
    "reserved-not-empty",
    "isolated-not-empty",
    "reserved-on-every-numa-node",
    "strict-cpu-reservation",
    "memory-adds-up",
    "numa-nodes-fit",
]


class _Switch(Model):
    """What all switches have."""

    disable: str | None
    enable: str | None

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        """Find what contradicts itself."""
        if (self.disable is None) == (self.enable is None):
            raise problem("rule_switch", "one of disable and enable")
        return self


class RuleSwitch(_Switch):
    """A built-in rule that is disabled or enabled, and the reason for later readers."""

    disable: RuleName | None = Field(default=None, description="the rule to disable")
    enable: RuleName | None = Field(
        default=None, description="the rule to enable, if it is off by default"
    )
    because: Reason = Field(
        description="the reason, for later readers",
        examples=["the vendor's guide pins its own threads"],
    )


class DefaultSwitch(_Switch):
    """A default that is disabled, or enabled where the platform has it off, and the reason."""

    disable: DefaultName | None = Field(default=None, description="the default to disable")
    enable: DefaultName | None = Field(default=None, description="the default to enable")
    because: Reason = Field(
        description="the reason", examples=["devices are given to pods by VFIO"]
    )


Rules = Annotated[tuple[Annotated[RuleSwitch, Later(RuleSwitch)], ...], Listed]
Defaults = Annotated[tuple[Annotated[DefaultSwitch, Later(DefaultSwitch)], ...], Listed]


NamespacePattern = Annotated[
    str,
    matching(
        r"^[a-z0-9*]([-a-z0-9*]{0,61}[a-z0-9*])?$",
        "the name of a namespace, in which * stands for any text",
        "infra-*",
    ),
]
#: How files reach nodes that no operator configures; each but the tree is a module of
#: `backends/deliveries/`.
Delivery = Literal["tree", "ansible", "butane", "cloudInit", "clusterApi", "ignition", "nodeWright"]


#: The mode in which the node tuning operator makes the objects.
PROFILE_MODE: Literal["performanceProfile"] = "performanceProfile"


class ProfileLists(Model):
    """The texts of CPU lists; each counts as long as its pool has the same CPUs."""

    reserved: WrittenList | None = Field(default=None, description="list of the reserved CPUs")
    isolated: WrittenList | None = Field(default=None, description="list of the isolated CPUs")
    shared: WrittenList | None = Field(default=None, description="list of the shared CPUs")
    offlined: WrittenList | None = Field(default=None, description="list of the offlined CPUs")
    ovs_dpdk: WrittenList | None = Field(
        default=None, description="list of the CPUs of Open vSwitch with DPDK"
    )


class ProfileText(Model):
    """What a PerformanceProfile had before it was imported, and means nothing for a layout."""

    labels: Labels = Field(default={}, description="mode performanceProfile: labels of the profile")
    annotations: dict[LabelKey, Words] = Field(
        default={},
        description="mode performanceProfile: annotations of the profile, in place of cpuplan's "
        "own of the same name; those that the operator reads are fields of the intent",
    )
    lists: ProfileLists = Field(default_factory=ProfileLists.model_construct)


class Target(Model):
    """The platform of the compiled files."""

    platform: platforms.Name = Field(
        description="platform of the nodes; kubernetes: of which it is not known what set them up"
    )
    version: Release = Field(description="release of the platform, as text with two numbers")
    mode: Literal["mco", "performanceProfile"] = Field(
        default="mco",
        description="openshift: MachineConfig, KubeletConfig and Tuned objects, or the "
        "PerformanceProfile from which the node tuning operator makes them",
    )
    clusters: Annotated[tuple[Name, ...], Listed] = Field(
        default=(), description="only in these clusters; default: all"
    )
    os_family: Literal["debian", "flatcar", "redhat", "suse"] | None = Field(
        default=None,
        description="where files of the node are ours: the operating system, where they lie "
        "elsewhere. Default: what is right or harmless on all",
    )
    kubelet_unit: ServiceName | None = Field(
        default=None,
        description="where files of the node are ours: the unit that runs the kubelet, such as "
        "rke2-server.service. Default: that of the platform, see docs/kubernetes.md",
        examples=["rke2-server.service"],
    )
    pool: PoolName | None = Field(default=None, description="openshift: the MachineConfigPool")
    mixed_hardware: Literal["split", "common"] | None = Field(
        default=None,
        description="openshift, for nodes with different hardware. split: a pool for each "
        "hardware, <pool>-<hardware>; common: one layout that is valid on all; "
        "default: an error",
    )
    node_selector: Labels = Field(default={}, description="openshift: labels of the pool's nodes")
    machine_config_label: Labels = Field(
        default={}, description="openshift: label of the MachineConfig"
    )
    machine_config_pool_selector: Labels = Field(
        default={}, description="openshift: labels of the MachineConfigPool"
    )
    delivery: Annotated[tuple[Delivery, ...], Field(min_length=1), Listed] = Field(
        default=("tree",),
        description="where files of the node are ours: the forms in which nodes get them; see "
        "docs/delivery.md",
    )
    mechanism: Literal["kubelet", "balloons", "topology-aware", "dra", "koordinator"] = Field(
        default="kubelet",
        description="what gives CPUs to containers. kubelet: its CPU manager; balloons: "
        "kubernetes, the NRI balloons policy, which keeps pods to partitions and QoS sets; "
        "topology-aware: kubernetes, the NRI policy of that name, which gives integer Guaranteed "
        "containers exclusive CPUs of one part of the machine, see docs/nri.md; "
        "dra: kubernetes, the DRA CPU driver, for claims of pods, see docs/dra.md; "
        "koordinator: kubernetes, its scheduler and node agent, see docs/koordinator.md",
    )
    koordinator: KoordinatorRelease = Field(
        default="1.8",
        description="with mechanism koordinator: its release in the cluster. proposal: the names "
        "of its proposal of 2022, which no release reads in full",
    )
    reserved_namespaces: Annotated[tuple[NamespacePattern, ...], Listed] = Field(
        default=(),
        description="with mechanism balloons or topology-aware: namespaces whose pods run on the "
        "reserved CPUs, beside kube-system; * stands for any text",
        examples=[["infra-*"]],
    )
    nri_plugins: ProgramRelease = Field(
        default="0.14",
        description="with mechanism balloons or topology-aware: release of the NRI plugins",
    )
    dra: Annotated[Dra, Later(Dra)] = Field(default_factory=Dra.model_construct)
    runtime: Literal["crio", "containerd"] = Field(
        default="crio",
        description="container runtime, where the platform does not bring one. kubeadm and "
        "kubespray: it must be stated",
    )
    containerd: ProgramRelease = Field(
        default="2.0", description="with runtime containerd: its oldest release on the nodes"
    )
    oci_runtime: OciRuntime | None = Field(
        default=None,
        description="openshift before 4.18: defaultRuntime of the pool's ContainerRuntimeConfig. "
        "Default: runc",
    )
    tuned: Release | None = Field(
        default=None,
        description="openshift, mode performanceProfile: TuneD on the nodes. Default: the one "
        "that the release's operator names",
        examples=["2.28"],
    )
    feature_set: FeatureSet | None = Field(
        default=None,
        description="openshift: feature set of the cluster, where no Cluster document states it; "
        "it must be the same in all targets of a cluster",
    )
    cpu_partitioning: bool = Field(
        default=False,
        description="openshift: installed with workload partitioning (Infrastructure: "
        "cpuPartitioning AllNodes)",
    )
    pinned_pools: Annotated[tuple[PoolName, ...], Listed] = Field(
        default=(), description="openshift: other pools of a cluster with workload partitioning"
    )
    control_plane_topology: Literal[
        "HighlyAvailable", "HighlyAvailableArbiter", "SingleReplica", "External"
    ] = Field(
        default="HighlyAvailable",
        description="openshift: as in the Infrastructure object. External: a hosted cluster, "
        "whose pool is a NodePool",
    )
    hosting_cluster: Name = Field(
        default="in-cluster",
        description="openshift, hosted clusters, and delivery clusterApi: the name by which Argo "
        "CD knows the cluster that hosts the control plane or manages the machines. Default: the "
        "cluster that Argo CD runs in",
    )
    hosting_namespace: Name = Field(
        default="clusters",
        description="openshift, hosted clusters: the namespace of the HostedCluster and NodePool "
        "objects in the hosting cluster; delivery clusterApi, where it has no default: that of the "
        "Cluster object",
    )
    ignore_cgroups_version: bool = Field(
        default=False,
        description="openshift 4.14 and 4.15, mode performanceProfile: the operator does not "
        "change the cluster to cgroups v1",
    )

    profile: ProfileText = Field(default_factory=ProfileText.model_construct)

    @property
    def kubelet_service(self) -> str:
        """The unit that runs the kubelet."""
        return self.kubelet_unit or platforms.of(self).kubelet_unit

    @property
    def is_hosted(self) -> bool:
        """Whether the control plane is in another cluster."""
        return self.control_plane_topology == "External"

    @property
    def has_balloons(self) -> bool:
        """Whether the NRI balloons policy gives CPUs to containers."""
        return self.mechanism == "balloons"

    @property
    def has_topology_aware(self) -> bool:
        """Whether the NRI topology-aware policy gives CPUs to containers."""
        return self.mechanism == "topology-aware"

    @property
    def has_nri_policy(self) -> bool:
        """Whether a resource policy of the NRI plugins does."""
        return self.has_balloons or self.has_topology_aware

    @property
    def has_dra(self) -> bool:
        """Whether the DRA CPU driver gives CPUs to containers."""
        return self.mechanism == "dra"

    @property
    def has_koordinator(self) -> bool:
        """Whether Koordinator gives CPUs to pods."""
        return self.mechanism == "koordinator"

    @property
    def has_other_mechanism(self) -> bool:
        """Whether something beside the kubelet writes the cpusets of containers."""
        return self.mechanism != "kubelet"

    @property
    def is_profile(self) -> bool:
        """Whether a PerformanceProfile is written, and the node tuning operator makes the rest."""
        return self.mode == PROFILE_MODE


class IntentSpec(Model):
    """One purpose: nodes, their platform, and the use of their CPUs."""

    selector: Selector
    targets: Annotated[tuple[Target, ...], Field(min_length=1), Listed] = Field(
        description="platforms of the compiled files; of several, the first that lists a node's "
        "cluster"
    )
    pools: Pools
    qos: Annotated[QosSets, Later(QosSets)] = Field(default_factory=QosSets.model_construct)
    workloads: Workloads = Field(
        default=(), description="pods with exclusive CPUs for which each node must have room"
    )
    rules: Rules = Field(
        default=(), description="built-in rules that are disabled or enabled; see docs/layout.md"
    )
    objective: Objective = Field(
        default=GOAL_ORDER, description="what makes a layout better, most important goal first"
    )
    # Made when they are needed: an instance made here would build its model's validators at every
    # start.
    isolation: Annotated[Isolation, Later(Isolation)] = Field(
        default_factory=Isolation.model_construct
    )
    kubelet: Kubelet = Field(default_factory=Kubelet.model_construct)
    koordinator: Annotated[Koordinator, Later(Koordinator)] = Field(
        default_factory=Koordinator.model_construct
    )
    huge_pages: Annotated[HugePagesSpec, Later(HugePagesSpec)] = Field(
        default_factory=HugePagesSpec.model_construct
    )
    kernel: Annotated[Kernel, Later(Kernel)] = Field(default_factory=Kernel.model_construct)
    workload_hints: Annotated[WorkloadHints, Later(WorkloadHints)] = Field(
        default_factory=WorkloadHints.model_construct
    )
    runtime: Annotated[Runtime, Later(Runtime)] = Field(default_factory=Runtime.model_construct)
    net: Annotated[Net, Later(Net)] = Field(default_factory=Net.model_construct)
    open_v_switch: Annotated[OpenVSwitch, Later(OpenVSwitch)] = Field(
        default_factory=OpenVSwitch.model_construct
    )
    hardware_tuning: Annotated[HardwareTuning, Later(HardwareTuning)] | None = Field(
        default=None, description="highest CPU frequencies, set by TuneD"
    )
    defaults: Defaults = Field(
        default=(),
        description="settings that cpuplan adds, disabled or enabled by name; see docs/defaults.md",
    )
    verify: Annotated[Verify, Later(Verify)] | None = Field(
        default=None,
        description="objects with which a cluster verifies its nodes; default: none. See "
        "docs/checking.md",
    )
    rollout: Annotated[Rollout, Later(Rollout)] = Field(
        default_factory=Rollout.model_construct,
        description="how a change reaches the nodes; see docs/rollout.md",
    )
    paused: bool = Field(
        default=False,
        description="the compiled files of these nodes in out/ stay unchanged until this is "
        "false again",
    )

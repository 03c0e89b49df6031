"""What gives CPUs to pods beside the kubelet: Koordinator and the DRA CPU driver.

Values that Koordinator's releases know but that do nothing, such as DistributeEvenly, are read too,
so that a finding can say why they are refused.
"""

from typing import Annotated, Literal

from pydantic import Field

from cpuplan.language.model.base import (
    Key,
    Labels,
    Listed,
    Model,
    Name,
    ProgramRelease,
    matching,
)
from cpuplan.language.model.pools import SetName

#: `proposal` has the names of the text of 2022 that Koordinator began with.
KoordinatorRelease = Annotated[
    str,
    matching(
        r"^(proposal|[0-9]{1,2}\.[0-9]{1,2})$",
        "proposal, or two numbers with a dot, such as 1.8",
        "1.8",
    ),
]
QosClass = Literal["LSE", "LSR", "LS", "BE", "SYSTEM"]
#: Classes whose pods are bound to CPUs that koord-scheduler chooses.
BOUND: tuple[QosClass, ...] = ("LSE", "LSR")
PriorityClass = Literal["koord-prod", "koord-mid", "koord-batch", "koord-free"]
PodBindPolicy = Literal["FullPCPUs", "SpreadByPCPUs", "ConstrainedBurst"]
NumaTopologyPolicy = Literal["BestEffort", "Restricted", "SingleNUMANode", "None"]
_Ratio = Annotated[
    str,
    matching(r"^[1-9][0-9]?(\.[0-9]{1,2})?$", "a number from 1 on as text, such as 1.5", "1.5"),
]


class Weight(Model):
    """How much a resource counts."""

    name: Key = Field(description="the resource", examples=["cpu"])
    weight: Annotated[int, Field(ge=1, le=100)] = Field(default=1, description="its weight")


class Scoring(Model):
    """How koord-scheduler compares nodes, or NUMA nodes of one node."""

    type: Literal["LeastAllocated", "MostAllocated", "BalancedAllocation"] = Field(
        description="MostAllocated fills up first what is in use; LeastAllocated spreads pods"
    )
    resources: Annotated[tuple[Weight, ...], Listed] = Field(
        default=(), description="the resources that count; default: cpu and memory alike"
    )


class Scheduler(Model):
    """Arguments of the plugin NodeNUMAResource of koord-scheduler, for the whole cluster."""

    default_cpu_bind_policy: Literal["FullPCPUs", "SpreadByPCPUs"] | None = Field(
        default=None,
        alias="defaultCPUBindPolicy",
        description="for LSE and LSR pods that name no policy. Default: FullPCPUs",
    )
    scoring_strategy: Scoring | None = Field(default=None, description="which node is better")
    numa_scoring_strategy: Scoring | None = Field(
        default=None,
        description="which NUMA node is better; its type is the allocate strategy of nodes "
        "without numaAllocateStrategy",
    )


class KoordinatorWorkload(Model):
    """Pods of the cluster that get a QoS class, by a ClusterColocationProfile."""

    name: Name = Field(description="name of the workload in objects and messages")
    match_labels: Labels = Field(default={}, description="labels of its pods")
    namespace_labels: Labels = Field(default={}, description="labels of the namespaces of its pods")
    qos_class: QosClass = Field(
        description="LSE: CPUs of its own; LSR: the same, but BE pods may run there; LS: the CPU "
        "shared pool; BE: what is idle; SYSTEM: the CPUs of systemQos"
    )
    priority_class_name: PriorityClass | None = Field(
        default=None, description="default: koord-batch for BE, koord-prod for others"
    )
    cpus: Annotated[int, Field(ge=1)] | None = Field(
        default=None,
        description="CPUs that a pod requests: an empty node must have them, by the policies",
    )
    required_cpu_bind_policy: PodBindPolicy | None = Field(
        default=None,
        alias="requiredCPUBindPolicy",
        description="LSE and LSR: a node that cannot keep the policy is no choice",
    )
    preferred_cpu_bind_policy: PodBindPolicy | None = Field(
        default=None,
        alias="preferredCPUBindPolicy",
        description="LSE and LSR: the policy as long as there are such CPUs",
    )
    preferred_cpu_exclusive_policy: Literal["PCPULevel", "NUMANodeLevel"] | None = Field(
        default=None,
        alias="preferredCPUExclusivePolicy",
        description="LSE and LSR: away from the cores or NUMA nodes of pods with the same policy",
    )
    numa_topology_policy: NumaTopologyPolicy | None = Field(
        default=None, description="alignment of these pods, on nodes with the same policy or none"
    )


class Koordinator(Model):
    """With mechanism koordinator: what koord-scheduler and koordlet do on these nodes."""

    cpu_bind_policy: Literal["FullPCPUsOnly", "SpreadByPCPUs", "None"] | None = Field(
        default=None,
        description="for every pod of the nodes with CPU requests, of whatever class; default: "
        "what pods ask for",
    )
    numa_allocate_strategy: (
        Literal["MostAllocated", "LeastAllocated", "DistributeEvenly"] | None
    ) = Field(
        default=None, description="which NUMA node is taken first; default: that of the scheduler"
    )
    numa_topology_policy: NumaTopologyPolicy | None = Field(
        default=None, description="alignment of pods on NUMA nodes; default: none"
    )
    numa_reservation: bool = Field(
        default=False,
        description="take what the kubelet reserves from the NUMA nodes too (1.8)",
    )
    system_qos: SetName | None = Field(
        default=None,
        description="partition of the pool reserved for pods of the QoS class SYSTEM (1.3)",
        examples=["reserved.daemons"],
    )
    cpu_suppress_threshold_percent: Annotated[int, Field(ge=1, le=100)] | None = Field(
        default=None,
        description="BE pods get what is left of this share of the node. Default: 65, by koordlet",
    )
    cpu_suppress_policy: Literal["cpuset", "cfsQuota"] | None = Field(
        default=None, description="how BE pods are kept to it. Default: cpuset, by koordlet"
    )
    cpu_amplification_ratio: _Ratio | None = Field(
        default=None,
        description="the scheduler sees this many times the CPUs (1.6)",
    )
    scheduler: Scheduler = Field(default_factory=Scheduler.model_construct)
    workloads: Annotated[tuple[KoordinatorWorkload, ...], Listed] = Field(
        default=(), description="QoS classes and policies of pods, for the whole cluster"
    )


Mode = Literal["grouped", "individual"]
Accounting = Literal["requests", "podResources", "mapping"]


class Dra(Model):
    """With mechanism dra: the driver in the cluster, and how pods claim CPUs of it."""

    release: ProgramRelease = Field(
        default="0.2",
        description="release of the driver. 0.2 takes flags; 0.3 reads a configuration file",
    )
    mode: Mode | None = Field(
        default=None,
        description="individual: each CPU is a device; grouped: each NUMA node or socket is one, "
        "with CPUs as its capacity. Default: individual where the isolated pool has partitions, "
        "which grouped devices cannot keep apart; else grouped",
    )
    group_by: Literal["numanode", "socket"] = Field(
        default="numanode",
        description="mode grouped: what is one device. The driver's `machine` is left out: no "
        "scheduler of Kubernetes writes the CPUs that it needs",
    )
    accounting: Accounting = Field(
        default="requests",
        description="how the CPUs of claims are counted. requests: containers request as many "
        "CPUs as they claim; podResources: the pod does (spec.resources); mapping: the driver "
        "tells the scheduler and the kubelet (KEP-5517: Kubernetes 1.37 and driver 0.3)",
    )
    align: Literal["numaNode", "cache"] | None = Field(
        default=None,
        description="all CPUs of a claim are on one NUMA node, or have one last-level cache (mode "
        "individual). Default: no such condition",
    )
    namespaces: dict[Name, Annotated[tuple[Name, ...], Field(min_length=1), Listed]] = Field(
        default={},
        description="by partition of the isolated pool: the namespaces whose pods may claim its "
        "CPUs. Default: all",
        examples=[{"dpdk": ["upf"]}],
    )

"""Fields of objects of the API, which no file of a node has."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from cpuplan.facts.settings import kubelet
from cpuplan.facts.settings.costs import UNREAD, Impact, Rule
from cpuplan.facts.settings.crio import HANDLER, SHARING_HANDLER
from cpuplan.facts.settings.row import Row, everywhere

RUNTIME_CLASS = "runtimeclass"
_RUNTIME_CLASS = Rule(
    "runtime-class",
    Impact.LIVE,
    "nothing on nodes: pods made from now on use the object",
    "A RuntimeClass is read when a pod is admitted and when it starts. The API server refuses "
    "another handler: the object must be removed first.",
    "kubernetes.io/docs/concepts/containers/runtime-class",
)
_runtime_class = partial(
    Row,
    RUNTIME_CLASS,
    shown_by="kubectl get runtimeclass -o yaml",
    cost=_RUNTIME_CLASS,
    field="runtime.handler",
)
RUNTIME_CLASS_NAME = _runtime_class("metadata.name", defaults=(HANDLER, SHARING_HANDLER))
RUNTIME_CLASS_HANDLER = _runtime_class("handler", defaults=(HANDLER, SHARING_HANDLER))
RUNTIME_CLASS_SELECTOR = _runtime_class("scheduling.nodeSelector.{label}")

# Policies of NRI: one object for the nodes of a class.
BALLOONS, TOPOLOGY_AWARE = "balloons", "topology-aware"
_BALLOONS = Rule(
    "balloons-policy",
    Impact.LIVE,
    "the NRI balloons policy gives containers their CPUs anew",
    "The policy takes a changed object while it runs, and moves containers.",
    "containers/nri-plugins docs/resource-policy/policy/balloons.md",
)
_TOPOLOGY_AWARE = Rule(
    "topology-aware-policy",
    Impact.LIVE,
    "the NRI topology-aware policy keeps what containers have, or gives them CPUs anew",
    "The policy takes a changed object while it runs. What every container has is kept if that "
    "is still possible; else all are placed again, as near to their pools as they can be.",
    "containers/nri-plugins cmd/plugins/topology-aware/policy/cache.go",
)
_POLICY_COMES = Rule(
    "nri-policy-installed",
    Impact.LIVE,
    "the node gets the label config.nri/group, and the NRI policy {policy}, which gives "
    "containers their CPUs anew",
    "A policy that starts places all containers that run. NRI refuses containers that two "
    "programs want to place: one that was there before must be gone.",
    "containers/nri-plugins pkg/resmgr/nri.go, containerd/nri pkg/api/owners.go",
)
_POLICY_GOES = Rule(
    "nri-policy-removed",
    Impact.LIVE,
    "the NRI policy {policy} is uninstalled from the node; containers that run keep their CPUs",
    "What the policy wrote stays on running containers until something else writes it.",
    "containers/nri-plugins docs/resource-policy/installation.md",
)
_balloons = partial(
    Row,
    BALLOONS,
    shown_by="kubectl get balloonspolicies -A -o yaml",
    cost=_BALLOONS,
    field="targets.mechanism",
)
_topology_aware = partial(
    Row,
    TOPOLOGY_AWARE,
    shown_by="kubectl get topologyawarepolicies -A -o yaml",
    cost=_TOPOLOGY_AWARE,
    field="targets.mechanism",
)


class Policy(NamedTuple):
    """Rows that the objects of both policies have."""

    name: Row
    available: Row
    reserved: Row
    namespaces: Row
    pin_cpu: Row
    pin_memory: Row
    exporter: Row


def _policy(row: Callable[..., Row]) -> Policy:
    return Policy(
        row("metadata.name", program=(_POLICY_COMES, _POLICY_GOES)),
        row("availableResources.cpu", field="pools"),
        row("reservedResources.cpu", field="pools.reserved"),
        row("reservedPoolNamespaces", field="targets.reservedNamespaces"),
        row("pinCPU"),
        row("pinMemory"),
        row("agent.nodeResourceTopology"),
    )


BALLOONS_POLICY = _policy(_balloons)
BALLOON_TYPE = _balloons("balloonTypes.{type}", field="pools.isolated.partitions and qos")
TOPOLOGY_AWARE_POLICY = _policy(_topology_aware)
PREFER_ISOLATED = _topology_aware("preferIsolatedCPUs", field="isolation.domain")
CPU_PRIORITY = _topology_aware("defaultCPUPriority")
UNLIMITED_BURSTABLE = _topology_aware("unlimitedBurstable")
CONTROLLABLE_INTERRUPTS = _topology_aware("controllableInterrupts")

# The DRA CPU driver, what it publishes, and what claims name.
DRA_DRIVER, DEVICE_CLASSES = "dra-driver", "device-classes"
RESOURCE_CLAIMS, RESOURCE_SLICES = "resource-claims", "resource-slices"
_DRA_DRIVER = Rule(
    "dra-driver",
    Impact.DRAIN,
    "the node is drained, and the DRA CPU driver starts with the new configuration",
    "The driver reads its configuration when it starts. With other reserved CPUs or another "
    "mode, names of devices mean other CPUs, and claims of running pods are not found again.",
    "kubernetes-sigs/dra-driver-cpu pkg/device/builder.go, pkg/driver/dra_hooks.go",
)
_DRIVER_COMES = Rule(
    "dra-driver-installed",
    Impact.DRAIN,
    "the node is drained, and gets the label cpuplan.io/class and the DRA CPU driver",
    "Containers without a claim share what no claim has: those that run keep the CPUs that "
    "something else gave them until they are created again.",
    "kubernetes-sigs/dra-driver-cpu docs/user/installation.md, pkg/driver/nri_hooks.go",
)
_DRIVER_GOES = Rule(
    "dra-driver-removed",
    Impact.DRAIN,
    "the node is drained, and the DRA CPU driver is uninstalled from it",
    "What the driver wrote stays on running containers, and nobody prepares new claims.",
    "kubernetes-sigs/dra-driver-cpu docs/user/installation.md",
)
_DEVICE_CLASSES = Rule(
    "device-classes",
    Impact.LIVE,
    "nothing on nodes: the scheduler chooses CPUs of new claims by the changed DeviceClass",
    "A DeviceClass is read when a claim is allocated. Claims that have CPUs keep them.",
    "kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation",
)
_dra_driver = partial(
    Row, DRA_DRIVER, shown_by="kubectl get resourceslices -o yaml", cost=_DRA_DRIVER
)
DRA_MODE = _dra_driver(
    "cpuDeviceMode", field="targets.dra.mode", program=(_DRIVER_COMES, _DRIVER_GOES)
)
DRA_GROUP_BY = _dra_driver("groupBy", field="targets.dra.groupBy")
DRA_RESERVED = _dra_driver("reservedCPUs", field="pools.reserved and pools.isolcpus")
DRA_MAPPING = _dra_driver("publishNodeAllocatableResourceMapping", field="targets.dra.accounting")
DEVICE_CLASS = Row(
    DEVICE_CLASSES,
    "{name}",
    shown_by="kubectl get deviceclasses -o yaml",
    cost=_DEVICE_CLASSES,
    field="pools.isolated.partitions",
)
RESOURCE_CLAIM = Row(
    RESOURCE_CLAIMS,
    "{name}",
    shown_by="kubectl get resourceclaims -A -o yaml",
    cost=UNREAD,
    field="workloads",
)
_resource_slices = partial(
    Row, RESOURCE_SLICES, shown_by="kubectl get resourceslices -o yaml", cost=UNREAD
)
SLICE_CPUS = _resource_slices("cpus")
SLICE_DEVICES = _resource_slices("devices")
SLICE_ATTRIBUTES = _resource_slices("attributes")

# Koordinator: labels and annotations of nodes have the names of its port.
KOORDINATOR, KOORD_SCHEDULER = "koordinator", "koord-scheduler"
SLO_CONTROLLER, COLOCATION = "slo-controller", "colocation"
_KOORDINATOR = Rule(
    "koordinator-node",
    Impact.LIVE,
    "koord-scheduler and koordlet read the labels and annotations of the node",
    "Labels and annotations of nodes are watched. Pods that run keep their CPUs.",
    "koordinator-sh/koordinator apis/extension",
)
_KOORD_SCHEDULER = Rule(
    "koordinator-scheduler",
    Impact.NOTHING,
    "restart of koord-scheduler, which no node notices",
    "koord-scheduler reads its configuration when it starts.",
    "koordinator-sh/charts koord-scheduler-config",
)
_SLO_CONTROLLER = Rule(
    "koordinator-slo",
    Impact.LIVE,
    "koord-manager changes the NodeSLO, which koordlet applies",
    "koord-manager watches the ConfigMap slo-controller-config.",
    "koordinator-sh/koordinator pkg/slo-controller",
)
_COLOCATION = Rule(
    "koordinator-profile",
    Impact.LIVE,
    "nothing on nodes: the webhook applies the profile to pods made from now on",
    "A ClusterColocationProfile is read when a pod is created.",
    "koordinator-sh/koordinator pkg/webhook/pod/mutating",
)
KOORDINATOR_NODE = Row(
    KOORDINATOR,
    "{name}",
    shown_by="kubectl get nodes -o yaml",
    cost=_KOORDINATOR,
    field="koordinator",
)
_koord_scheduler = partial(
    Row,
    KOORD_SCHEDULER,
    shown_by="kubectl -n koordinator-system get configmap koord-scheduler-config -o yaml",
    cost=_KOORD_SCHEDULER,
)
BIND_POLICY = _koord_scheduler(
    "defaultCPUBindPolicy", field="koordinator.scheduler.defaultCPUBindPolicy"
)
SCORING = _koord_scheduler("scoringStrategy", field="koordinator.scheduler.scoringStrategy")
NUMA_SCORING = _koord_scheduler(
    "numaScoringStrategy", field="koordinator.scheduler.numaScoringStrategy"
)
_slo_controller = partial(
    Row,
    SLO_CONTROLLER,
    shown_by="kubectl -n koordinator-system get configmap slo-controller-config -o yaml",
    cost=_SLO_CONTROLLER,
)
SUPPRESS_ENABLE = _slo_controller(
    "resource-threshold-config.enable", field="koordinator.cpuSuppressPolicy"
)
SUPPRESS_PERCENT = _slo_controller(
    "resource-threshold-config.cpuSuppressThresholdPercent",
    field="koordinator.cpuSuppressThresholdPercent",
)
SUPPRESS_POLICY = _slo_controller(
    "resource-threshold-config.cpuSuppressPolicy", field="koordinator.cpuSuppressPolicy"
)
AMPLIFICATION_ENABLE = _slo_controller(
    "resource-amplification-config.enable", field="koordinator.cpuAmplificationRatio"
)
AMPLIFICATION_RATIO = _slo_controller(
    "resource-amplification-config.resourceAmplificationRatio",
    field="koordinator.cpuAmplificationRatio",
)
COLOCATION_PROFILE = Row(
    COLOCATION,
    "{workload}",
    shown_by="kubectl get clustercolocationprofiles -o yaml",
    cost=_COLOCATION,
    field="koordinator.workloads",
)

# NodeResourceTopology, as exporters publish it.
NRT = "nrt"
_EXPECTED = everywhere(
    "expected-policy",
    "what exporters report for a kubelet with default settings",
    off=f"kubelet: {{{kubelet.TOPOLOGY_MANAGER_POLICY.key}: none, "
    f"{kubelet.TOPOLOGY_MANAGER_SCOPE.key}: pod}}",
)
_nrt = partial(Row, NRT, shown_by="kubectl get noderesourcetopologies -o yaml", cost=UNREAD)
NRT_VERSION = _nrt("apiVersion", defaults=(_EXPECTED,))
NRT_POLICY = _nrt(f"attributes.{kubelet.TOPOLOGY_MANAGER_POLICY.key}", defaults=(_EXPECTED,))
NRT_SCOPE = _nrt(f"attributes.{kubelet.TOPOLOGY_MANAGER_SCOPE.key}", defaults=(_EXPECTED,))
NRT_POLICIES = _nrt("topologyPolicies", defaults=(_EXPECTED,))
NRT_MEMORY = _nrt(
    "zones.{zone}.resources.memory",
    defaults=(
        everywhere(
            "expected-memory",
            f"what exporters report: memory minus huge pages and {kubelet.RESERVED_MEMORY.key}",
            off=f"{kubelet.RESERVED_MEMORY.field}, hugePages",
        ),
    ),
)
#: Labels, annotations, and what each zone has.
NRT_FURTHER = _nrt("{field}")

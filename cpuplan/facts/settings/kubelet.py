"""The kubelet: fields of KubeletConfiguration; entries of maps stand by `field.key`."""

from collections.abc import Mapping
from functools import partial

from cpuplan.facts.settings.costs import Cost, Impact, Rule
from cpuplan.facts.settings.crio import MIXED_CPUS
from cpuplan.facts.settings.row import Row, everywhere, with_operator

NAME = "kubelet"
CONFIG = Rule(
    "kubelet-config",
    Impact.RESTART,
    "restart of {unit}",
    "The kubelet reads its configuration when it starts. Pods go on.",
    "kubernetes.io/docs/tasks/administer-cluster/kubelet-config-file",
    costs=Cost.KUBELET_RESTART,
)
_row = partial(
    Row, NAME, shown_by="kubectl get --raw /api/v1/nodes/NODE/proxy/configz", cost=CONFIG
)

MEMORY_MANAGER = with_operator(
    "memory-manager",
    "memory is aligned to NUMA nodes like the CPUs, as under the node tuning operator",
    off="kubelet: {memoryManagerPolicy: None}",
    on="kubelet: {memoryManagerPolicy: Static}",
).by("kubelet.memoryManagerPolicy", "memory is aligned with CPUs")
RESERVATION = everywhere(
    "reserved-memory",
    "the memory manager starts only with kubeReserved, systemReserved and evictionHard together",
    off="kubelet: {memoryManagerPolicy: None}, or kubelet: {reservedMemory: [...]}",
)

CPU_MANAGER_POLICY = _row(
    "cpuManagerPolicy",
    field="kubelet.cpuManagerPolicy",
    usually="static",
    defaults=(
        everywhere(
            "static-policy",
            "no other policy gives pods exclusive CPUs",
            off="kubelet: {cpuManagerPolicy: none}",
        ),
    ),
)
RECONCILE_PERIOD = _row(
    "cpuManagerReconcilePeriod",
    field="kubelet.cpuManagerReconcilePeriod",
    usually="5s",
    defaults=(
        with_operator(
            "reconcile-period",
            "cpusets are compared as often as under the node tuning operator",
            off="kubelet: {cpuManagerReconcilePeriod: 10s}",
            on="kubelet: {cpuManagerReconcilePeriod: 5s}",
        ),
    ),
)
TOPOLOGY_MANAGER_POLICY = _row(
    "topologyManagerPolicy",
    field="kubelet.topologyManagerPolicy",
    usually="best-effort",
    defaults=(
        with_operator(
            "topology-policy",
            "resources are aligned to NUMA nodes if possible, as under the node tuning operator",
            off="kubelet: {topologyManagerPolicy: none}",
            on="kubelet: {topologyManagerPolicy: best-effort}",
        ),
    ),
)
CPU_MANAGER_OPTIONS = _row(
    "cpuManagerPolicyOptions.{option}",
    field="kubelet.cpuManagerPolicyOptions.{option}",
    usually="full-pcpus-only: true",
    defaults=(
        with_operator(
            "whole-cores",
            "containers get whole cores with single-numa-node, as under the node tuning operator",
            off='kubelet: {cpuManagerPolicyOptions: {full-pcpus-only: "false"}}',
            on='kubelet: {cpuManagerPolicyOptions: {full-pcpus-only: "true"}}',
        ),
    ),
)
MEMORY_MANAGER_POLICY = _row(
    "memoryManagerPolicy",
    field="kubelet.memoryManagerPolicy",
    usually="Static",
    defaults=(MEMORY_MANAGER,),
)
RESERVED_MEMORY = _row(
    "reservedMemory", field="kubelet.reservedMemory", defaults=(MEMORY_MANAGER, RESERVATION)
)
KUBE_RESERVED = _row(
    "kubeReserved.{resource}",
    field="kubelet.kubeReserved.{resource}",
    usually="memory 500Mi",
    defaults=(
        with_operator(
            "kube-reserved",
            "kept for the kubelet and the runtime, as under the node tuning operator",
            off="kubelet: {kubeReserved: {}}",
            on="kubelet: {kubeReserved: {memory: 500Mi}}",
        ),
    ),
)
SYSTEM_RESERVED = _row(
    "systemReserved.{resource}",
    field="kubelet.systemReserved.{resource}",
    usually="memory 500Mi",
    defaults=(
        with_operator(
            "system-reserved",
            "kept for system services, as under the node tuning operator",
            off="kubelet: {systemReserved: {}}",
            on="kubelet: {systemReserved: {memory: 500Mi}}",
        ),
    ),
)
EVICTION_HARD = _row(
    "evictionHard.{signal}",
    field="kubelet.evictionHard.{signal}",
    usually="the kubelet's own thresholds",
    defaults=(
        with_operator(
            "eviction",
            "pods are evicted below this, as under the node tuning operator",
            off="kubelet: {evictionHard: {}}",
            on="kubelet: {evictionHard: {memory.available: 100Mi, ...}}",
        ),
    ),
)
RESERVED_CPUS = _row(
    "reservedSystemCPUs", field="pools.reserved and pools.shared", defaults=(MIXED_CPUS,)
)
TOPOLOGY_MANAGER_SCOPE = _row("topologyManagerScope", field="kubelet.topologyManagerScope")
TOPOLOGY_MANAGER_OPTIONS = _row(
    "topologyManagerPolicyOptions.{option}", field="kubelet.topologyManagerPolicyOptions.{option}"
)
FEATURE_GATES = _row("featureGates.{gate}", field="targets.mechanism")
#: Of `kube` and `system`: empty, since the base configuration may have one (`Platform.bases`).
RESERVED_CGROUP = _row("{reserver}ReservedCgroup", field="targets.platform")
#: Of pods alone, since the base configuration may enforce reservations in these cgroups.
ENFORCED = _row("enforceNodeAllocatable", field="targets.platform")
#: All that an intent says in the words of KubeletConfiguration.
FURTHER = _row("{field}", field="kubelet.configuration.{field}")

#: Amounts that the node tuning operator adds to a configuration without the entry, by field.
AMOUNTS: Mapping[Row, Mapping[str, str]] = {
    KUBE_RESERVED: {"memory": "500Mi"},
    SYSTEM_RESERVED: {"memory": "500Mi"},
    EVICTION_HARD: {
        "imagefs.available": "15%",
        "memory.available": "100Mi",
        "nodefs.available": "10%",
        "nodefs.inodesFree": "5%",
    },
}

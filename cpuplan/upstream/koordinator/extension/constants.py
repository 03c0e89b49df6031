"""Names of labels, annotations and resources.

Upstream: koordinator-sh/koordinator apis/extension/constants.go apis/extension/numa_aware.go
  apis/extension/resource.go @ 989ca85c62abcca92b303aa12fd2ccff2ed30fed
"""

DOMAIN, NODE, SCHEDULING = (
    "koordinator.sh/",
    "node.koordinator.sh/",
    "scheduling.koordinator.sh/",
)

# Of pods.
QOS = f"{DOMAIN}qosClass"
PRIORITY_CLASS = f"{DOMAIN}priority-class"
PRIORITY = f"{DOMAIN}priority"
RESOURCE_SPEC = f"{SCHEDULING}resource-spec"
RESOURCE_STATUS = f"{SCHEDULING}resource-status"
NUMA_TOPOLOGY_SPEC = f"{SCHEDULING}numa-topology-spec"
BATCH_CPU, BATCH_MEMORY = "kubernetes.io/batch-cpu", "kubernetes.io/batch-memory"
MID_CPU, MID_MEMORY = "kubernetes.io/mid-cpu", "kubernetes.io/mid-memory"

# Labels of nodes.
CPU_BIND_POLICY = f"{NODE}cpu-bind-policy"
NUMA_ALLOCATE_STRATEGY = f"{NODE}numa-allocate-strategy"
NUMA_TOPOLOGY_POLICY = f"{NODE}numa-topology-policy"
ENABLE_NUMA_RESERVATION = f"{NODE}enable-numa-reservation"
CPU_NORMALIZATION_ENABLED = f"{NODE}cpu-normalization-enabled"

# Annotations of nodes.
RESERVATION = f"{NODE}reservation"
SYSTEM_QOS_RESOURCE = f"{NODE}system-qos-resource"
AMPLIFICATION_RATIO = f"{NODE}resource-amplification-ratio"
RAW_ALLOCATABLE = f"{NODE}raw-allocatable"
NORMALIZATION_RATIO = f"{NODE}cpu-normalization-ratio"

# Annotations of NodeResourceTopologies.
CPU_BASIC_INFO = f"{NODE}cpu-basic-info"
CPU_TOPOLOGY = f"{NODE}cpu-topology"
CPU_SHARED_POOLS = f"{NODE}cpu-shared-pools"
BE_CPU_SHARED_POOLS = f"{NODE}be-cpu-shared-pools"
POD_CPU_ALLOCS = f"{NODE}pod-cpu-allocs"
CPU_MANAGER_POLICY = "kubelet.koordinator.sh/cpu-manager-policy"

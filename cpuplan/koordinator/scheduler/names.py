"""Values of the scheduler's policies; any others are compared as texts and mean nothing."""

FULL_PCPUS, SPREAD_BY_PCPUS, DEFAULT = "FullPCPUs", "SpreadByPCPUs", "Default"
PCPU_LEVEL, NUMA_NODE_LEVEL = "PCPULevel", "NUMANodeLevel"
MOST_ALLOCATED, LEAST_ALLOCATED = "MostAllocated", "LeastAllocated"
BEST_EFFORT, RESTRICTED, SINGLE_NUMA_NODE = "BestEffort", "Restricted", "SingleNUMANode"
#: Of the label node.koordinator.sh/cpu-bind-policy, besides SpreadByPCPUs.
FULL_PCPUS_ONLY, NO_POLICY = "FullPCPUsOnly", "None"

NOT_ENOUGH_CPUS = "not enough cpus available to satisfy request"

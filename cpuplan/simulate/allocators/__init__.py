"""Allocators: what gives CPUs to the pods of a node. `registry` starts them by these names."""

#: Who gives out CPUs: what the nodes have, or cpuplan's own policy.
KUBELET, DYNAMIC = "kubelet", "dynamic"
POLICIES = (KUBELET, DYNAMIC)
#: Who binds pods to nodes.
PLANNED, KOORDINATOR, BOTH, TOPOLOGY_AWARE = "planned", "koordinator", "both", "topology-aware"
SCHEDULING = (PLANNED, KOORDINATOR, BOTH, TOPOLOGY_AWARE)

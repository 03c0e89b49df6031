"""The version of a node's control groups: what is known of its cluster, else version 2."""

from cpuplan.plan import NodePlan


def is_v1(plan: NodePlan) -> bool:
    """Whether the nodes of a plan have control groups of version 1: all nodes of a cluster have."""
    return plan.node_class.cluster_facts.cgroup_mode == "v1"

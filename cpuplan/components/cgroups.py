"""The version of a node's control groups: what its cluster states, else the platform's default."""

from cpuplan import versions
from cpuplan.model.intent import Target
from cpuplan.plan import NodePlan


def is_v1(plan: NodePlan) -> bool:
    """Whether the nodes of a plan have control groups of version 1."""
    stated = plan.node_class.cluster_facts.cgroup_mode
    if stated is not None:
        return stated == "v1"
    return operator_sets_v1(plan.node_class.target)


def operator_sets_v1(target: Target) -> bool:
    """Whether the node tuning operator changes the whole cluster to version 1."""
    return versions.ships(target, "cluster.cgroups_v1") and not target.ignore_cgroups_version

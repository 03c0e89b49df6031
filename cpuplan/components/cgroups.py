"""The version of a node's control groups: what is known of its cluster, else version 2."""

import re

from cpuplan.plan import NodePlan

#: What makes systemd set up version 1 at boot (systemd(1), up to 257).
_V1 = re.compile(r"systemd\.unified_cgroup_hierarchy=(?:0|no|n|false|f|off)\Z", re.IGNORECASE)


def is_v1(plan: NodePlan) -> bool:
    """Whether the nodes of a plan have control groups of version 1.

    All nodes of a cluster have, or the intent has a boot argument for it.
    """
    is_asked = any(map(_V1.match, plan.spec.kernel.extra_arguments))
    return is_asked or plan.node_class.cluster_facts.cgroup_mode == "v1"

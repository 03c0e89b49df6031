"""Which policies count on a node for a pod, and how the scheduler's framework refuses.

Upstream: koordinator-sh/koordinator pkg/scheduler/plugins/nodenumaresource/util.go
  @ 989ca85c62abcca92b303aa12fd2ccff2ed30fed
"""

from collections.abc import Iterable, Mapping

from cpuplan.upstream.koordinator.extension.constants import (
    NUMA_ALLOCATE_STRATEGY,
    NUMA_TOPOLOGY_POLICY,
)
from cpuplan.upstream.koordinator.extension.numa_aware import (
    FULL_PCPUS,
    FULL_PCPUS_ONLY,
    SPREAD_BY_PCPUS,
    CpuManagerPolicy,
    node_bind_policy,
)
from cpuplan.upstream.koordinator.nodenumaresource.topology_options import TopologyOptions

#: Another pod that ends can change it; nothing of this node can; something is wrong.
UNSCHEDULABLE, UNRESOLVABLE = "Unschedulable", "UnschedulableAndUnresolvable"
ERROR = "Error"


class StatusError(Exception):
    """A status other than success, with its reasons in the order of the alphabet."""

    def __init__(self, code: str, reasons: Iterable[str]) -> None:
        self.code, self.reasons = code, tuple(sorted(reasons))
        super().__init__(", ".join(self.reasons))


Labels = Mapping[str, str]


def bind_policy(
    labels: Labels, kubelet: CpuManagerPolicy | None, required: str, preferred: str
) -> tuple[str, bool]:
    """(policy, whether nothing else will do): the pod's required one, the node's, the preferred."""
    if required:
        return required, True
    of_node = node_policy(labels, kubelet)
    return (of_node, True) if of_node else (preferred, False)


def node_policy(labels: Labels, kubelet: CpuManagerPolicy | None) -> str:
    """What the node's label or the kubelet's option requires of all pods; empty for nothing."""
    policy = node_bind_policy(labels, kubelet or CpuManagerPolicy())
    return {FULL_PCPUS_ONLY: FULL_PCPUS, SPREAD_BY_PCPUS: SPREAD_BY_PCPUS}.get(policy, "")


def numa_strategy(labels: Labels, default: str) -> str:
    """The label's, whatever it says, else the default."""
    return labels.get(NUMA_ALLOCATE_STRATEGY) or default


def node_numa_policy(labels: Labels, options: TopologyOptions) -> str:
    """The label's, whatever it says, else the kubelet's as far as it is known."""
    return labels.get(NUMA_TOPOLOGY_POLICY) or options.numa_policy


def merged_numa_policy(of_node: str, of_pod: str) -> str:
    """The pod's policy or the node's; StatusError where they differ."""
    if of_node and of_pod and of_pod != of_node:
        raise StatusError(UNRESOLVABLE, ["node(s) NUMA Topology policy not match"])
    return of_pod or of_node

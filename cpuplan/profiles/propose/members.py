"""Which nodes a pool has, as the machine config operator and the profile creator see it.

Rules: openshift/machine-config-operator pkg/controller/node (pools of a node), and the creator's
own for taints.
"""

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from cpuplan.base.text import joined
from cpuplan.fleet.cluster import ClusterNode, MachineConfigPool
from cpuplan.profiles.propose.dump import NODE_POOL, Dump


class Members(NamedTuple):
    """The nodes of a pool, ascending by name, and remarks on others that its selector fits."""

    nodes: tuple[ClusterNode, ...]
    remarks: tuple[str, ...] = ()


def pool_names(dump: Dump) -> list[str]:
    """The pools of the cluster: node pools where it is hosted."""
    if dump.hosted:
        return sorted({node.labels[NODE_POOL] for node in dump.nodes if NODE_POOL in node.labels})
    return [pool.name for pool in dump.pools]


def members(dump: Dump, name: str) -> Members:
    """The nodes of the pool `name`, which must exist."""
    if dump.hosted:
        return Members(tuple(node for node in dump.nodes if node.labels.get(NODE_POOL) == name))
    pool = next(pool for pool in dump.pools if pool.name == name)
    nodes: list[ClusterNode] = []
    remarks: list[str] = []
    for node in dump.nodes:
        problem = _why_not(node, pool, dump.pools)
        if problem is None:
            nodes.append(node)
        elif pool.selects(node.labels):
            remarks.append(f"node {node.name} is not in pool {name}: {problem}")
    return Members(tuple(nodes), tuple(remarks))


def _why_not(
    node: ClusterNode, pool: MachineConfigPool, pools: Sequence[MachineConfigPool]
) -> str | None:
    """Why a node is not in a pool; None if it is."""
    if node.labels.get("kubernetes.io/os") == "windows":
        return "it runs Windows"
    fitting = [
        known.name for known in pools if not known.selects_all and known.selects(node.labels)
    ]
    custom = [name for name in fitting if name not in ("master", "worker")]
    if len(custom) > 1:
        return f"it matches several custom pools, {joined(custom)}"
    if custom and "master" in fitting:
        return f"a control plane node cannot be in the custom pool {custom[0]}"
    # A custom pool is made of workers, so both selectors fit its nodes; a master may be a worker
    # too.
    owner = next(iter(custom or [name for name in ("master", "worker") if name in fitting]), None)
    if owner != pool.name:
        return f"it is in pool {owner}"
    if any(pool.selects({key: value}) for key, value in node.taints.items()):
        return "its taint keeps pods away"
    return None


def own_label(pool: MachineConfigPool, pools: Sequence[MachineConfigPool]) -> dict[str, str]:
    """A label that only this pool has, by which a KubeletConfig finds it; empty if there is none.

    If there are several, the first one whose key ends with the pool's name, else the first one.
    """
    others = [other.labels for other in pools if other.name != pool.name]
    taken = set(chain.from_iterable(labels.items() for labels in others))
    own = sorted(pool.labels.items() - taken)
    named = [item for item in own if item[0].endswith(pool.name)]
    return dict([*named, *own][:1])

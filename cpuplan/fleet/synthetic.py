"""Synthetic machines for intents without an inventory, with just the CPUs that they list."""

from collections.abc import Iterable

from cpuplan.base.cpuset import CpuSet, union
from cpuplan.base.topology import Cpu, NumaNodeFacts, Topology
from cpuplan.fleet import cluster_facts
from cpuplan.language.model.intent import IntentSpec
from cpuplan.language.model.pools import POOLS
from cpuplan.language.read.documents import Documents
from cpuplan.plan import NodeClass, NodePlan, Pool

_MEMORY = 1024**7  # bytes
#: NUMA nodes of ordinary machines, whose ids have no gaps; larger ids are also those of memory
#: without CPUs.
_ORDINARY_NODES = 8


def plans(documents: Documents) -> list[NodePlan]:
    """Plans of profiles whose machines no inventory describes, on assumed machines."""
    profiles = [document for document in documents.of_kind("Intent") if document.written_as]
    if not profiles or documents.of_kind("Nodes") or documents.may_define("Nodes"):
        return []
    return [plan(document.name, document.spec) for document in profiles]


def plan(
    name: str,
    spec: IntentSpec,
    *,
    architecture: str = "",
    vendor: str = "",
    model: int | None = None,
    cpus: int = 0,
) -> NodePlan:
    """The layout of an intent whose pools are lists, on one socket without siblings.

    The CPUs are those up to the highest one in a list, at least `cpus`, all on NUMA node 0. There
    are also the NUMA nodes for which huge pages or memory are requested, and those between them,
    each with ample memory. An empty `architecture` is unknown.
    """
    written = {pool: getattr(spec.pools, pool) for pool in POOLS}
    lists: dict[str, CpuSet] = {
        pool: value.cpus
        for pool, value in written.items()
        if value is not None and value.cpus is not None
    }
    node_class = NodeClass(
        name=name,
        intent=name,
        spec=spec,
        target=spec.targets[0],
        cluster="cluster",
        hardware="assumed",
        topology=_topology(max(cpus, _number(lists.values())), spec),
        nodes=("node",),
        cpu_vendor=vendor,
        architecture=architecture,
        cpu_model_number=model,
    )
    cluster_facts.settle([node_class])
    pools = (
        Pool(pool, lists[pool], (node_class.reason("listed", f"pools.{pool}.cpus"),))
        for pool in lists
    )
    return NodePlan(node_class, tuple(pools))


def _number(listed: Iterable[CpuSet]) -> int:
    cpus = union(listed)
    return cpus.last + 1 if cpus else 0


def _topology(cpus: int, spec: IntentSpec) -> Topology:
    named = {page.numa_node or 0 for page in spec.huge_pages.pages}
    named |= {entry.numa_node for entry in spec.kubelet.reserved_memory}
    named |= set(range(max((node for node in named if node < _ORDINARY_NODES), default=0) + 1))
    facts = [NumaNodeFacts(node, _MEMORY) for node in sorted(named)]
    return Topology([Cpu(cpu, cpu, 0, 0, 0, 0, cpu) for cpu in range(cpus)], facts)

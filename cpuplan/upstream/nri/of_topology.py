"""The files of a machine that the inventory describes, with what it does not tell assumed.

Level 1 caches are those of cores, and level 2 caches those of clusters; ids of caches are their
lowest CPUs. A machine without cache ids stops the plugin, which no inventory tells.

Upstream: containers/nri-plugins pkg/sysfs/system.go @ 83d986e963ad28ca31790102af6d509c7b7e7d45
"""

from collections.abc import Iterator

from cpuplan.base.cpuset import CpuSet, union
from cpuplan.base.topology import UNKNOWN, Cpu, Topology
from cpuplan.upstream.nri.system import (
    DATA,
    INSTRUCTION,
    UNIFIED,
    CacheFiles,
    CpuFiles,
    Files,
    NodeFiles,
)

#: The memory of a node for which the inventory has none, and distances.
_MEMORY = 1 << 40
_NEAR, _FAR = 10, 20
_HYBRID = {"performance", "efficient"}


def files_of(topology: Topology, isolated: CpuSet, offlined: CpuSet) -> Files:
    """The machine with kernel-isolated CPUs, after `offlined` ones were switched off."""
    cpus = [cpu for cpu in topology.cpus if cpu.cpu not in offlined]
    online = CpuSet(cpu.cpu for cpu in cpus)
    offline = (topology.online | topology.offline) - online
    types = {cpu.core_type for cpu in cpus}
    is_hybrid = len(types) > 1 and types <= _HYBRID
    return Files(
        (*(_cpu(topology, cpu, online) for cpu in cpus), *map(_without_files, offline)),
        tuple(_caches(topology, online)),
        tuple(_nodes(topology, online)),
        online.bits,
        (online | offline).bits,
        (isolated & online).bits,
        _of_type(cpus, "performance").bits if is_hybrid else None,
        _of_type(cpus, "efficient").bits if is_hybrid else None,
    )


def _cpu(topology: Topology, cpu: Cpu, online: CpuSet) -> CpuFiles:
    siblings = topology.cores[cpu.core] & online
    node = cpu.numa_node if cpu.numa_node != UNKNOWN else None
    die = max(cpu.die, 0)
    return CpuFiles(cpu.cpu, cpu.socket, die, cpu.cluster, cpu.core_id, node, siblings.bits)


def _without_files(cpu: int) -> CpuFiles:
    """An offline CPU, which has a folder and nothing in it that counts."""
    return CpuFiles(cpu, None, None, None, None, None, None)


def _of_type(cpus: list[Cpu], name: str) -> CpuSet:
    return CpuSet(cpu.cpu for cpu in cpus if cpu.core_type == name)


def _caches(topology: Topology, online: CpuSet) -> Iterator[CacheFiles]:
    for core, siblings in topology.cores.items():
        if siblings & online:
            for kind in (DATA, INSTRUCTION):
                yield CacheFiles(1, kind, core, (siblings & online).bits)
    second: dict[int, list[CpuSet]] = {}
    for core, siblings in topology.cores.items():
        cluster = topology[core].cluster
        second.setdefault(core if cluster == UNKNOWN else cluster, []).append(siblings)
    for cluster, cores in second.items():
        if cpus := union(cores) & online:
            yield CacheFiles(2, UNIFIED, cluster, cpus.bits)
    for first, cpus in topology.uncore_caches.items():
        if cpus & online:
            yield CacheFiles(3, UNIFIED, first, (cpus & online).bits)


def _nodes(topology: Topology, online: CpuSet) -> Iterator[NodeFiles]:
    """Nothing where the kernel has no NUMA nodes."""
    known = [] if topology.kubelet.no_numa_nodes else topology.numa_facts
    numbers = [node for node in known if node != UNKNOWN]
    for node in numbers:
        facts = topology.numa_facts[node]
        cpus = topology.numa_nodes.get(node, CpuSet()) & online
        own = tuple(_NEAR if other == node else _FAR for other in numbers)
        memory = _MEMORY if facts.memory is None else facts.memory
        yield NodeFiles(node, cpus.bits, memory, facts.distances or own)

"""Values of the vectors as those of cpuplan.upstream.kubelet, and back."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cpuplan.upstream.kubelet.cpumanager.topology import CPUTopology
from cpuplan.upstream.kubelet.machine import Machine, MachineCore, MachineNode, NodeMemory
from cpuplan.upstream.kubelet.topologymanager.policy import ProviderHints, TopologyHint
from cpuplan.upstream.kubernetes.bits import bits_of, members

Json = dict[str, Any]
Op = Callable[[Json], Json]
STATE_FOLDER = "<stateDir>"


def topology(given: Json) -> CPUTopology:
    return CPUTopology(
        given["cpus"],
        cpus=given["numCPUs"],
        cores=given["numCores"],
        sockets=given["numSockets"],
        numa_nodes=given["numNUMANodes"],
        uncore_caches=given["numUncoreCaches"],
    )


def topology_json(topology: CPUTopology) -> Json:
    return {
        "cpus": [list(row) for row in topology.rows],
        "numCPUs": topology.num_cpus,
        "numCores": topology.num_cores,
        "numSockets": topology.num_sockets,
        "numNUMANodes": topology.num_numa_nodes,
        "numUncoreCaches": topology.num_uncore_caches,
    }


def read_machine(
    rows: Sequence[Sequence[int]],
    memory: Sequence[NodeMemory],
    distances: Mapping[int, Sequence[int]],
    *,
    sockets: int | None = None,
    memory_capacity: int | None = None,
) -> Machine:
    """A machine from rows of (cpu, core key, socket, NUMA node, uncore cache).

    The uncore cache is -1 where the core shares its caches with the whole NUMA node.
    """
    nodes = [MachineNode(node.id, _cores(rows, node.id)) for node in memory]
    count = len({row[2] for row in rows}) if sockets is None else sockets
    return Machine(tuple(nodes), tuple(memory), distances, count, memory_capacity)


def _cores(rows: Sequence[Sequence[int]], node: int) -> tuple[MachineCore, ...]:
    threads: dict[tuple[int, int, int], list[int]] = {}
    for cpu, core, socket, numa, cache in rows:
        if numa == node:
            threads.setdefault((core, socket, cache), []).append(cpu)
    return tuple(
        MachineCore(core, socket, tuple(cpus), (cache,) if cache >= 0 else ())
        for (core, socket, cache), cpus in threads.items()
    )


def hint(given: Json) -> TopologyHint:
    numa = given["numa"]
    return TopologyHint(None if numa is None else bits_of(numa), given["preferred"])


def hint_json(hint: TopologyHint) -> Json:
    return {
        "numa": None if hint.affinity is None else members(hint.affinity),
        "preferred": hint.preferred,
    }


def hints(given: Json | None) -> ProviderHints | None:
    if given is None:
        return None
    return {
        name: None if listed is None else [hint(one) for one in listed]
        for name, listed in given.items()
    }


def hints_json(given: ProviderHints | None) -> Json | None:
    if given is None:
        return None
    return {
        name: [hint_json(one) for one in listed] if isinstance(listed, list) else None
        for name, listed in given.items()
    }

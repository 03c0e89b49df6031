"""Values of the vectors as those of cpuplan.simulate, and back."""

from collections.abc import Callable
from typing import Any

from cpuplan.kubelet.bits import bits_of, members
from cpuplan.kubelet.cpu.topology import CPUTopology
from cpuplan.kubelet.topology.hints import ProviderHints, TopologyHint

Json = dict[str, Any]
Op = Callable[[Json], Json]


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
        name: None if listed is None else [hint_json(one) for one in listed]
        for name, listed in given.items()
    }

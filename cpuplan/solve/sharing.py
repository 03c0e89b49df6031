"""Cores that several lists have threads of, given to one of them each."""

from collections.abc import Mapping

from cpuplan.cpuset import EMPTY, CpuSet
from cpuplan.model.topology import Topology


def shared_out(topology: Topology, lists: Mapping[str, CpuSet]) -> dict[str, CpuSet]:
    """Each core of the lists whole to one that has a thread of it, so that sizes stay as they are
    if they can.
    """
    found = dict.fromkeys(lists, EMPTY)
    for cpus in topology.cores.values():
        owners = [name for name, listed in lists.items() if listed & cpus]
        if len(owners) == 1:
            found[owners[0]] |= cpus
    for cpus in topology.cores.values():
        owners = [name for name, listed in lists.items() if listed & cpus]
        if len(owners) > 1:
            short = [name for name in owners if len(found[name]) < len(lists[name])]
            found[(short or owners)[0]] |= cpus
    return found

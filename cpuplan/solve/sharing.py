"""Cores that several lists have threads of, given to one list each."""

from collections.abc import Mapping

from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.base.topology import Topology


def shared_out(topology: Topology, lists: Mapping[str, CpuSet]) -> dict[str, CpuSet]:
    """The lists with whole cores: each goes to one list that has a thread of it.

    Cores of several lists go to one that is still shorter than before, so sizes stay if possible.
    """
    shared: list[tuple[CpuSet, list[str]]] = []
    wholes = dict.fromkeys(lists, EMPTY)
    for core in topology.cores.values():
        owners = [name for name, cpus in lists.items() if cpus & core]
        if len(owners) == 1:
            wholes[owners[0]] |= core
        elif owners:
            shared.append((core, owners))
    for core, owners in shared:
        short = [name for name in owners if len(wholes[name]) < len(lists[name])]
        wholes[(short or owners)[0]] |= core
    return wholes

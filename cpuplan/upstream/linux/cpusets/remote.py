"""Partitions that take their CPUs from the top, below parents that are none."""

from cpuplan.upstream.linux.cpusets.state import Cpuset, Masks, Reason, System
from cpuplan.upstream.linux.cpusets.transfers import exclusive_of, give_back, reset, take
from cpuplan.upstream.linux.cpusets.updates import update_siblings


def enable_remote(system: System, cpuset: Cpuset, state: int, masks: Masks) -> Reason:
    """A partition that takes its CPUs from the top, below parents that are none."""
    masks.new = exclusive_of(cpuset)
    if not masks.new or masks.new & system.subpartitions or not system.top.effective & ~masks.new:
        return Reason.INVALID_CPUS
    take(system, state, system.top, masks.new)
    system.remote.insert(0, cpuset)
    _spread_from_top(system, masks)
    return Reason.NONE


def disable_remote(system: System, cpuset: Cpuset, masks: Masks) -> None:
    """Give its CPUs back and make it invalid.

    The CPUs are computed anew: those that an ancestor does not grant any more stay isolated.
    """
    masks.new = exclusive_of(cpuset)
    system.remote = [other for other in system.remote if other is not cpuset]
    masks.new = give_back(system, cpuset.state, system.top, masks.new)
    cpuset.state = -cpuset.state
    if cpuset.reason is Reason.NONE:
        cpuset.reason = Reason.INVALID_CPUS
    reset(cpuset)
    _spread_from_top(system, masks)


def update_remote(system: System, cpuset: Cpuset, cpus: int, masks: Masks) -> None:
    """Other CPUs for a remote partition (remote_cpus_update)."""
    adding, deleting = cpus & ~cpuset.effective_exclusive, cpuset.effective_exclusive & ~cpus
    taken = adding & system.subpartitions or (adding and not system.top.effective & ~adding)
    if not cpus or taken:
        disable_remote(system, cpuset, masks)
        return
    masks.add, masks.delete = adding, deleting
    if adding:
        take(system, cpuset.state, system.top, adding)
    if deleting:
        masks.delete = give_back(system, cpuset.state, system.top, deleting)
    _spread_from_top(system, masks)


def check_remote(system: System, cpuset: Cpuset, cpus: int, masks: Masks) -> None:
    """Disable remote partitions whose CPUs an ancestor stops granting (remote_partition_check)."""
    deleting = cpuset.effective_exclusive & ~cpus
    if not deleting & system.subpartitions:
        return
    for child in list(system.remote):
        if child.effective & deleting:
            disable_remote(system, child, masks)


def _spread_from_top(system: System, masks: Masks) -> None:
    """Tell all cpusets that the top one has other CPUs."""
    masks.new = system.update_tasks(system.top) or 0
    update_siblings(system, system.top, None, masks)

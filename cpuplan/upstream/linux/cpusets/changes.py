"""What a command makes of a partition: its state, and the CPUs that it takes or gives back.

Only the masks and the Change are written here.
"""

from enum import Enum, auto

from cpuplan.upstream.linux.cpusets.state import (
    ISOLATED,
    MEMBER,
    ROOT,
    Cpuset,
    Masks,
    Reason,
    System,
)
from cpuplan.upstream.linux.cpusets.validation import are_exclusive


class Command(Enum):
    """What update_parent is to do."""

    ENABLE_ROOT = auto()
    ENABLE_ISOLATED = auto()
    DISABLE = auto()
    UPDATE = auto()
    INVALIDATE = auto()


class Change:
    """What update_parent works out before it changes anything."""

    def __init__(self, cpuset: Cpuset) -> None:
        self.state = cpuset.state
        self.reason = Reason.NONE
        self.adding = self.deleting = False
        self.partitions = 0


def invalidate(cpuset: Cpuset, masks: Masks, change: Change) -> None:
    if cpuset.above().is_valid:
        _add_all(cpuset, masks, change)
    if cpuset.state > 0:
        change.state = -cpuset.state
        change.partitions -= 1


def _add_all(cpuset: Cpuset, masks: Masks, change: Change) -> None:
    """All its CPUs go back to the parent."""
    masks.add = cpuset.wanted & cpuset.above().effective_exclusive
    change.adding = bool(masks.add)


def turn_over(old: int, change: Change) -> None:
    """A valid partition with a problem becomes invalid, an invalid one without becomes valid."""
    if old > 0 and change.reason is not Reason.NONE:
        change.state, change.partitions = -old, change.partitions - 1
    elif old < 0 and change.reason is Reason.NONE:
        change.state, change.partitions = -old, change.partitions + 1


def work_out(
    system: System,
    cpuset: Cpuset,
    command: Command,
    cpus: int | None,
    masks: Masks,
    change: Change,
) -> Reason:
    """The CPUs to add to the parent and to take from it; why nothing can be changed."""
    parent = cpuset.above()
    if not parent.is_valid:
        return Reason.INVALID_PARENT if parent.is_invalid else Reason.NO_PARTITION
    if cpus is None and not cpuset.wanted:
        return Reason.EMPTY
    no_cpu = system.leaves_tasks_without_cpus(parent, cpuset, cpuset.wanted)
    if command in (Command.ENABLE_ROOT, Command.ENABLE_ISOLATED):
        return _enabled(system, cpuset, command, masks, change, no_cpu=no_cpu)
    if command is Command.DISABLE:
        if cpuset.state >= 0:
            _add_all(cpuset, masks, change)
        if change.adding:
            change.partitions -= 1
        change.state = MEMBER
    elif cpus is not None:
        _new_cpus(system, cpuset, cpus, masks, change, no_cpu=no_cpu)
    else:
        _same_cpus(cpuset, masks, change, no_cpu=no_cpu)
    return Reason.NONE


def _enabled(
    system: System,
    cpuset: Cpuset,
    command: Command,
    masks: Masks,
    change: Change,
    *,
    no_cpu: bool,
) -> Reason:
    if not cpuset.wanted & cpuset.above().effective_exclusive:
        return Reason.INVALID_CPUS
    if system.conflicts(cpuset.state, cpuset.wanted):
        return Reason.HOUSEKEEPING
    if no_cpu:
        return Reason.NO_CPUS
    masks.delete, change.deleting = cpuset.wanted, True
    change.partitions += 1
    change.state = ROOT if command is Command.ENABLE_ROOT else ISOLATED
    return Reason.NONE


def _same_cpus(cpuset: Cpuset, masks: Masks, change: Change, *, no_cpu: bool) -> None:
    """Whether a partition, valid or not, is so still."""
    parent, wanted = cpuset.above(), cpuset.wanted
    if no_cpu:
        change.reason = Reason.NO_CPUS
        if cpuset.is_valid:
            _add_all(cpuset, masks, change)
    elif cpuset.is_invalid and not wanted & ~parent.effective_exclusive:
        others = (child for child in parent.children if child is not cpuset)
        if all(are_exclusive(cpuset, other) for other in others):
            masks.delete = wanted & parent.effective
            change.deleting = bool(masks.delete)
        else:
            change.reason = Reason.NOT_EXCLUSIVE


def _new_cpus(
    system: System, cpuset: Cpuset, cpus: int, masks: Masks, change: Change, *, no_cpu: bool
) -> None:
    """Other CPUs for a partition, valid or not."""
    parent, wanted = cpuset.above(), cpuset.wanted
    granted = parent.effective_exclusive
    if not cpus:
        change.reason = Reason.EMPTY
        return
    no_cpu = no_cpu or system.leaves_tasks_without_cpus(parent, cpuset, cpus)
    if cpuset.state < 0:
        masks.delete = cpus & granted
        change.deleting = bool(masks.delete)
    else:
        masks.add = wanted & ~cpus & granted
        masks.delete = cpus & ~wanted & granted
        change.adding, change.deleting = bool(masks.add), bool(masks.delete)
    if no_cpu and (not change.adding or not masks.add & system.active):
        change.reason = Reason.NO_CPUS
        change.deleting = False
        _add_all(cpuset, masks, change)

"""How a change goes through the tree: to parents, siblings and descendants, whose CPUs it changes.

The functions have the order of the kernel's, since each sees what the ones before it have changed.
"""

from cpuplan.upstream.linux.cpusets.changes import Change, Command, invalidate, turn_over, work_out
from cpuplan.upstream.linux.cpusets.state import ISOLATED, Cpuset, Masks, Reason, System
from cpuplan.upstream.linux.cpusets.transfers import exclusive_of, give_back, reset, take
from cpuplan.upstream.linux.cpusets.validation import set_exclusive


def update_parent(
    system: System, cpuset: Cpuset, command: Command, cpus: int | None, masks: Masks
) -> Reason:
    """Move CPUs between a partition and its parent (update_parent_effective_cpumask)."""
    old, change = cpuset.state, Change(cpuset)
    if command is Command.INVALIDATE:
        if old < 0:
            return Reason.NONE
        invalidate(cpuset, masks, change)
    else:
        refusal = work_out(system, cpuset, command, cpus, masks, change)
        if refusal is not Reason.NONE:
            return refusal
    if change.reason is not Reason.NONE:
        cpuset.reason = change.reason
    if command is Command.UPDATE:
        turn_over(old, change)
    if not change.adding and not change.deleting and change.state == old:
        return Reason.NONE
    is_new = old != change.state and command is not Command.UPDATE
    if is_new and not set_exclusive(cpuset, change.state):
        return Reason.NOT_EXCLUSIVE
    _apply(system, cpuset, command, cpus, masks, change)
    return Reason.NONE


def _apply(
    system: System,
    cpuset: Cpuset,
    command: Command,
    cpus: int | None,
    masks: Masks,
    change: Change,
) -> None:
    """Change the state of a partition and the CPUs of its parent, and tell everyone."""
    parent, old = cpuset.above(), cpuset.state
    if old != change.state:
        cpuset.state = change.state
        if change.state <= 0:
            cpuset.partitions = 0
    if change.adding:
        masks.add = give_back(system, old, parent, masks.add)
    if change.deleting:
        take(system, change.state, parent, masks.delete)
    if parent.is_valid:
        parent.partitions += change.partitions
    if old != change.state and command is Command.UPDATE:
        set_exclusive(cpuset, change.state)
    if change.adding or change.deleting:
        left = system.update_tasks(parent)
        masks.add = masks.add if left is None else left
        update_siblings(system, parent, cpuset, masks)
    if command is Command.UPDATE and cpus is None:
        update_balancing(cpuset)
    if cpuset.is_valid and old != cpuset.state:
        cpuset.reason = Reason.NONE


def update_balancing(cpuset: Cpuset) -> None:
    """Whether the scheduler balances load on its CPUs (update_partition_sd_lb)."""
    if cpuset.state > 0:
        cpuset.balances = cpuset.state != ISOLATED
    else:
        cpuset.balances = cpuset.above().balances


def effective_of_partition(system: System, cpuset: Cpuset) -> int:
    """The CPUs that a partition keeps beside its child partitions.

    Children that cannot exist any more become invalid (compute_partition_effective_cpumask).
    """
    populated = system.is_populated(cpuset)
    left = exclusive_of(cpuset) & system.active
    for child in cpuset.children:
        if not child.is_valid:
            continue
        child.reason = Reason.NONE
        if child.effective_exclusive & ~cpuset.effective_exclusive:
            child.reason = Reason.INVALID_CPUS
        elif populated and not left & ~child.effective_exclusive:
            child.reason = Reason.NO_CPUS
        if child.reason is not Reason.NONE:
            child.state = -child.state
            cpuset.partitions -= 1
            child.partitions = 0
        else:
            left &= ~child.effective_exclusive
    return left


def update_hierarchy(system: System, start: Cpuset, masks: Masks, *, force: bool) -> None:
    """Compute the effective CPUs of a subtree anew (update_cpumasks_hier)."""
    todo = [start]
    while todo:
        cpuset = todo.pop()
        if _update_one(system, start, cpuset, masks, force=force):
            todo += reversed(cpuset.children)


def _update_one(
    system: System, start: Cpuset, cpuset: Cpuset, masks: Masks, *, force: bool
) -> bool:
    """One cpuset of the subtree; whether its children are next."""
    parent, remote = cpuset.above(), system.is_remote(cpuset)
    if remote and cpuset is not start:
        return False
    if cpuset.exclusive and cpuset is not start:
        cpuset.effective_exclusive = exclusive_of(cpuset)
    old = new = cpuset.state
    if remote or (parent.is_valid and cpuset.is_valid):
        masks.new = effective_of_partition(system, cpuset)
    else:
        masks.new = cpuset.allowed & parent.effective
    asks_parent = cpuset.is_valid and not masks.new
    if not asks_parent:
        if not remote and not masks.new:
            masks.new = parent.effective
        is_same = masks.new == cpuset.effective and parent.balances == cpuset.balances
        if not remote and not cpuset.state and not force and is_same:
            return False
    if (asks_parent or not remote) and cpuset is not start and old:
        if parent.is_valid:
            asks_parent = True
        else:
            new = -abs(cpuset.state)
            invalid = Reason.INVALID_PARENT if parent.is_invalid else Reason.NO_PARTITION
            cpuset.reason = invalid
    if asks_parent:
        update_parent(system, cpuset, Command.UPDATE, None, masks)
        new = cpuset.state
    _settle(system, cpuset, new, old, masks)
    return True


def _settle(system: System, cpuset: Cpuset, new: int, old: int, masks: Masks) -> None:
    parent = cpuset.above()
    cpuset.effective, cpuset.state = masks.new, new
    if new > 0 and not cpuset.exclusive:
        cpuset.effective_exclusive = cpuset.allowed & parent.effective_exclusive
    elif new < 0:
        reset(cpuset)
    if old != new and cpuset.is_valid:
        cpuset.reason = Reason.NONE
    system.update_tasks(cpuset)
    if not cpuset.is_valid:
        cpuset.balances = parent.balances


def update_siblings(system: System, parent: Cpuset, without: Cpuset | None, masks: Masks) -> None:
    """The other children of a parent whose CPUs changed (update_sibling_cpumasks)."""
    for sibling in list(parent.children):
        if sibling is without:
            continue
        if not sibling.is_valid:
            masks.new = sibling.allowed & parent.effective
            if masks.new == sibling.effective:
                continue
        update_hierarchy(system, sibling, masks, force=False)

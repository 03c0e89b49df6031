"""How a change goes through the tree: to parents, siblings and descendants, whose CPUs it changes.

The functions have the order of the kernel's, since each sees what the ones before it have changed.

Upstream: torvalds/linux kernel/cgroup/cpuset.c @ adc218676eef25575469234709c2d87185ca223a
"""

from collections.abc import Iterator
from enum import Enum, auto

#: States of a partition; the negative one of each is its invalid form.
MEMBER, ROOT, ISOLATED = 0, 1, 2


class Reason(Enum):
    """Why a partition is invalid, as cpuset.cpus.partition prints it."""

    NONE = ""
    INVALID_CPUS = "Invalid cpu list in cpuset.cpus.exclusive"
    INVALID_PARENT = "Parent is an invalid partition root"
    NO_PARTITION = "Parent is not a partition root"
    NOT_EXCLUSIVE = "Cpu list in cpuset.cpus not exclusive"
    NO_CPUS = "Parent unable to distribute cpu downstream"
    EMPTY = "cpuset.cpus and cpuset.cpus.exclusive are empty"
    HOUSEKEEPING = "partition config conflicts with housekeeping setup"


class Refused(Exception):  # noqa: N818 - no error of the program
    """A write that the kernel refuses, with the name of its error number."""


class Task:
    """A task: the CPUs that it may use, and those that it asked for itself."""

    def __init__(self, cpus: int) -> None:
        self.cpus = cpus
        self.wish = 0


class Cpuset:
    """One cgroup with the files of the controller."""

    def __init__(self, parent: "Cpuset | None", effective: int = 0) -> None:
        self.parent = parent
        self.children: list[Cpuset] = []
        self.tasks: list[Task] = []
        self.allowed = 0  # cpuset.cpus
        self.exclusive = 0  # cpuset.cpus.exclusive
        self.effective = effective  # cpuset.cpus.effective
        self.effective_exclusive = 0  # cpuset.cpus.exclusive.effective
        self.state = MEMBER
        self.reason = Reason.NONE
        self.is_exclusive = False
        self.balances = True
        self.partitions = 0  # valid ones among its children
        self.controls_children = False  # cgroup.subtree_control has the controller

    @property
    def wanted(self) -> int:
        """The CPUs that it would have exclusively (user_xcpus)."""
        return self.exclusive or self.allowed

    @property
    def is_valid(self) -> bool:
        return self.state > 0

    @property
    def is_invalid(self) -> bool:
        return self.state < 0

    @property
    def is_populated(self) -> bool:
        """Whether it or a descendant has tasks."""
        return bool(self.tasks) or any(child.is_populated for child in self.children)

    def descendants(self) -> Iterator["Cpuset"]:
        """All cpusets below it, parents first."""
        for child in self.children:
            yield child
            yield from child.descendants()

    def above(self) -> "Cpuset":
        """Its parent; every cpuset that is changed has one."""
        if self.parent is None:
            raise Refused("EACCES")
        return self.parent

    def trial(self) -> "Cpuset":
        """A copy to try a change on."""
        copied = Cpuset(self.parent, self.effective)
        copied.allowed, copied.exclusive = self.allowed, self.exclusive
        copied.effective_exclusive = self.effective_exclusive
        copied.is_exclusive, copied.balances = self.is_exclusive, self.balances
        return copied


class Masks:
    """Sets that functions share while one change goes through the tree.

    The kernel uses the same memory, so that an inner function overwrites what an outer one needs.
    """

    def __init__(self) -> None:
        self.new = self.add = self.delete = 0


class System:
    """The machine: its CPUs, and all cpusets."""

    def __init__(self, possible: int, housekeeping: int | None = None) -> None:
        self.possible = self.active = possible
        #: CPUs outside of isolcpus=; None without it.
        self.housekeeping = housekeeping
        self.top = Cpuset(None, possible)
        self.top.allowed = self.top.exclusive = self.top.effective_exclusive = possible
        self.top.state, self.top.is_exclusive = ROOT, True
        self.subpartitions = 0
        self.isolated = 0 if housekeeping is None else possible & ~housekeeping
        self.remote: list[Cpuset] = []

    def is_remote(self, cpuset: Cpuset) -> bool:
        return any(other is cpuset for other in self.remote)

    def conflicts(self, state: int, cpus: int) -> bool:
        """Whether CPUs of isolcpus= would be in a partition that balances load."""
        if self.housekeeping is None or state == ISOLATED:
            return False
        return bool(cpus & ~self.housekeeping)

    def is_populated(self, cpuset: Cpuset, without: Cpuset | None = None) -> bool:
        """Whether tasks use the CPUs of a partition itself (partition_is_populated)."""
        if cpuset is self.top or cpuset.tasks:
            return True
        if without is None and not cpuset.partitions:
            return cpuset.is_populated
        others = (child for child in cpuset.children if child is not without and not child.is_valid)
        return any(child.is_populated for child in others)

    def leaves_tasks_without_cpus(self, parent: Cpuset, cpuset: Cpuset, cpus: int) -> bool:
        """Whether tasks of the parent, or of the cpuset, would have none (tasks_nocpu_error)."""
        if not parent.effective & ~cpus and self.is_populated(parent, cpuset):
            return True
        return not cpus & self.active and self.is_populated(cpuset)

    def set_task(self, task: Task, cpus: int) -> None:
        """Move a task to CPUs, or to those of them that it asked for (set_cpus_allowed_ptr)."""
        cpus = cpus & task.wish or cpus
        if cpus & self.active:
            task.cpus = cpus

    def update_tasks(self, cpuset: Cpuset) -> int | None:
        """Move the tasks of a cpuset; the set that this leaves in shared memory, None for none."""
        if cpuset is self.top:
            cpus = self.possible & ~self.subpartitions
        else:
            cpus = self.possible & cpuset.effective
        for task in cpuset.tasks:
            self.set_task(task, cpus)
        return cpus if cpuset is self.top or cpuset.tasks else None


def exclusive_of(cpuset: Cpuset) -> int:
    """The CPUs that it may have exclusively (compute_effective_exclusive_cpumask)."""
    return cpuset.wanted & cpuset.above().effective_exclusive


def reset(cpuset: Cpuset) -> None:
    """Forget what only a valid partition has (reset_partition_data)."""
    parent = cpuset.above()
    cpuset.partitions = 0
    if not cpuset.exclusive:
        cpuset.effective_exclusive = 0
        cpuset.is_exclusive = False
    cpuset.effective = parent.effective & cpuset.allowed or parent.effective


def set_isolated(system: System, state: int, cpus: int) -> None:
    """CPUs of a partition in this state from now on (partition_xcpus_newstate)."""
    if state == ISOLATED:
        system.isolated |= cpus
    else:
        system.isolated &= ~cpus


def take(system: System, state: int, parent: Cpuset, cpus: int) -> None:
    """Take CPUs out of a parent for a partition (partition_xcpus_add)."""
    if parent is system.top:
        system.subpartitions |= cpus
    if state != parent.state:
        set_isolated(system, state, cpus)
    parent.effective &= ~cpus


def give_back(system: System, state: int, parent: Cpuset, cpus: int) -> int:
    """Give CPUs of a partition back; those of them that are online (partition_xcpus_del)."""
    if parent is system.top:
        system.subpartitions &= ~cpus
    if state != parent.state:
        set_isolated(system, parent.state, cpus)
    cpus &= system.active
    parent.effective |= cpus
    return cpus


def are_exclusive(first: Cpuset, second: Cpuset) -> bool:
    """Whether two cpusets could both have their CPUs alone."""
    return not first.wanted & second.wanted


def validate(current: Cpuset, trial: Cpuset) -> None:
    """Refused where the values of `trial` are not possible in the place of `current`."""
    parent = current.above()
    if current.is_populated and current.allowed and not trial.allowed:
        raise Refused("ENOSPC")
    # The CPUs' share for deadline tasks, which is taken from the CPUs that remain.
    if current.is_exclusive and current.balances and current.effective and not trial.wanted:
        raise Refused("EBUSY")
    for sibling in parent.children:
        if sibling is not current and _collide(trial, sibling):
            raise Refused("EINVAL")


def _collide(trial: Cpuset, sibling: Cpuset) -> bool:
    both = trial.exclusive and sibling.exclusive
    if trial.is_exclusive or sibling.is_exclusive or both:
        return not are_exclusive(trial, sibling)
    if trial.exclusive:
        exclusive, allowed = trial.exclusive, sibling.allowed
    else:
        exclusive, allowed = sibling.exclusive, trial.allowed
    # The other one would have no CPU left.
    return bool(exclusive and allowed and not allowed & ~exclusive)


def set_exclusive(cpuset: Cpuset, state: int) -> bool:
    """Mark that it shares no CPU with siblings, or does again; False where it does share some."""
    wanted = state > 0
    if wanted == cpuset.is_exclusive:
        return True
    trial = cpuset.trial()
    trial.is_exclusive = wanted
    try:
        validate(cpuset, trial)
    except Refused:
        return not wanted
    cpuset.is_exclusive = wanted
    return True


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

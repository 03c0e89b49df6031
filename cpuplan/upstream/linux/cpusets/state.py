"""Cpusets and tasks, and what functions of the controller ask of them; sets of CPUs are bits."""

from collections.abc import Iterator
from enum import Enum

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

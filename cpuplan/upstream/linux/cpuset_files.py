"""Writes to the files of a cpuset, and CPUs that go and come.

Upstream: torvalds/linux kernel/cgroup/cpuset.c @ adc218676eef25575469234709c2d87185ca223a
"""

from cpuplan.upstream.linux import bitmap_str
from cpuplan.upstream.linux.cpuset import (
    ISOLATED,
    MEMBER,
    ROOT,
    Command,
    Cpuset,
    Masks,
    Reason,
    Refused,
    System,
    Task,
    check_remote,
    disable_remote,
    effective_of_partition,
    enable_remote,
    exclusive_of,
    reset,
    set_exclusive,
    set_isolated,
    update_balancing,
    update_hierarchy,
    update_parent,
    update_remote,
    validate,
)

STATES = {"member": MEMBER, "root": ROOT, "isolated": ISOLATED}


def _parse(system: System, text: str) -> int:
    parsed = bitmap_str.parse(text, system.possible.bit_length())
    if parsed.error:
        raise Refused(parsed.error)
    return parsed.bits


def write_cpus(system: System, cpuset: Cpuset, text: str) -> None:
    """cpuset.cpus (update_cpumask); a list that collides with a partition makes that invalid."""
    trial, old = cpuset.trial(), cpuset.state
    if text:
        trial.allowed = _parse(system, text)
        if trial.allowed & ~system.top.allowed:
            raise Refused("EINVAL")
        if trial.exclusive or cpuset.is_valid:
            trial.effective_exclusive = exclusive_of(trial)
    else:
        trial.allowed = 0
        if not trial.exclusive:
            trial.effective_exclusive = 0
    if trial.allowed == cpuset.allowed:
        return
    masks = Masks()
    invalidate = bool(old) and _becomes_invalid(system, cpuset, trial, is_list=True)
    force = cpuset.effective_exclusive != trial.effective_exclusive
    try:
        validate(cpuset, trial)
    except Refused as refused:
        if str(refused) != "EINVAL":
            raise
        invalidate = True
        _invalidate_siblings(system, cpuset, trial, masks)
    _change_partition(system, cpuset, trial, masks, invalidate=invalidate)
    cpuset.allowed = trial.allowed
    cpuset.effective_exclusive = trial.effective_exclusive
    if old > 0 and not cpuset.is_valid:
        reset(cpuset)
    update_hierarchy(system, cpuset, masks, force=force)
    if cpuset.state:
        update_balancing(cpuset)


def _becomes_invalid(system: System, cpuset: Cpuset, trial: Cpuset, *, is_list: bool) -> bool:
    """Whether a partition cannot have these CPUs; its reason is noted."""
    cpus = trial.effective_exclusive
    if not cpus and (cpuset.is_valid or not is_list):
        cpuset.reason = Reason.INVALID_CPUS
    elif system.conflicts(cpuset.state, cpus):
        cpuset.reason = Reason.HOUSEKEEPING
    elif system.leaves_tasks_without_cpus(cpuset.above(), cpuset, cpus):
        cpuset.reason = Reason.NO_CPUS
    else:
        return False
    return True


def _invalidate_siblings(system: System, cpuset: Cpuset, trial: Cpuset, masks: Masks) -> None:
    for sibling in list(cpuset.above().children):
        if sibling.is_valid and trial.wanted & sibling.effective_exclusive:
            update_parent(system, sibling, Command.INVALIDATE, None, masks)


def _change_partition(
    system: System, cpuset: Cpuset, trial: Cpuset, masks: Masks, *, invalidate: bool
) -> None:
    """What a new cpuset.cpus means for a partition, and for remote ones below it."""
    cpus = trial.effective_exclusive
    if not cpuset.is_valid and not (cpuset.is_invalid and not invalidate):
        if cpuset.exclusive:
            check_remote(system, cpuset, cpus, masks)
        return
    if not cpus and cpuset.is_invalid:
        cpus = trial.allowed
    if system.is_remote(cpuset):
        update_remote(system, cpuset, cpus, masks)
    elif invalidate:
        update_parent(system, cpuset, Command.INVALIDATE, None, masks)
    else:
        update_parent(system, cpuset, Command.UPDATE, cpus, masks)


def write_exclusive(system: System, cpuset: Cpuset, text: str) -> None:
    """cpuset.cpus.exclusive (update_exclusive_cpumask)."""
    trial, old = cpuset.trial(), cpuset.state
    trial.exclusive = _parse(system, text) if text else 0
    if trial.exclusive == cpuset.exclusive:
        return
    trial.effective_exclusive = exclusive_of(trial) if text else 0
    force = cpuset.effective_exclusive != trial.effective_exclusive
    validate(cpuset, trial)
    masks = Masks()
    if old:
        _change_exclusive(system, cpuset, trial, masks)
    elif trial.exclusive:
        check_remote(system, cpuset, trial.effective_exclusive, masks)
    cpuset.exclusive = trial.exclusive
    cpuset.effective_exclusive = trial.effective_exclusive
    if old > 0 and not cpuset.is_valid:
        reset(cpuset)
    if cpuset.is_valid or force:
        update_hierarchy(system, cpuset, masks, force=force)
    if cpuset.state:
        update_balancing(cpuset)


def _change_exclusive(system: System, cpuset: Cpuset, trial: Cpuset, masks: Masks) -> None:
    invalidate = _becomes_invalid(system, cpuset, trial, is_list=False)
    if system.is_remote(cpuset):
        if invalidate:
            disable_remote(system, cpuset, masks)
        else:
            update_remote(system, cpuset, trial.effective_exclusive, masks)
    elif invalidate:
        update_parent(system, cpuset, Command.INVALIDATE, None, masks)
    else:
        update_parent(system, cpuset, Command.UPDATE, trial.effective_exclusive, masks)


def write_partition(system: System, cpuset: Cpuset, text: str) -> None:
    """cpuset.cpus.partition; what is not possible makes an invalid partition, and no error."""
    if text not in STATES:
        raise Refused("EINVAL")
    set_state(system, cpuset, STATES[text])


def set_state(system: System, cpuset: Cpuset, new: int) -> None:
    """Make a cpuset a partition, or none (update_prstate)."""
    old, parent, masks = cpuset.state, cpuset.above(), Masks()
    if old == new:
        return
    if new and old < 0:
        old = MEMBER
    if new > 0 and not cpuset.exclusive:
        cpuset.effective_exclusive = cpuset.allowed & parent.effective_exclusive
    reason = Reason.NONE
    only_balancing = bool(old and new)
    if not set_exclusive(cpuset, new):
        reason, only_balancing = Reason.NOT_EXCLUSIVE, False
    elif not old:
        reason = _enable(system, cpuset, new, masks)
    elif not new and system.is_remote(cpuset):
        disable_remote(system, cpuset, masks)
    elif not new:
        update_parent(system, cpuset, Command.DISABLE, None, masks)
    if reason is not Reason.NONE:
        new = -new
        set_exclusive(cpuset, new)
    cpuset.state, cpuset.reason = new, reason
    if not cpuset.is_valid:
        reset(cpuset)
    elif only_balancing:
        set_isolated(system, new, cpuset.effective_exclusive)
    update_hierarchy(system, cpuset, masks, force=not new)
    update_balancing(cpuset)
    if cpuset.is_valid and cpuset.state != old:
        cpuset.reason = Reason.NONE


def _enable(system: System, cpuset: Cpuset, state: int, masks: Masks) -> Reason:
    if not cpuset.wanted:
        return Reason.EMPTY
    if not cpuset.above().is_valid:
        return enable_remote(system, cpuset, state, masks)
    command = Command.ENABLE_ROOT if state == ROOT else Command.ENABLE_ISOLATED
    return update_parent(system, cpuset, command, None, masks)


def set_active(system: System, active: int) -> None:
    """Other CPUs are online (cpuset_handle_hotplug)."""
    system.active = active
    top = system.top
    if top.effective == active and not system.subpartitions:
        return
    left = active
    if system.subpartitions:
        if active & ~system.subpartitions:
            left = active & ~system.subpartitions
        else:
            top.partitions = 0
            system.subpartitions = 0
    top.effective = left
    masks = Masks()
    for cpuset in list(top.descendants()):
        _after_hotplug(system, cpuset, masks)


def _after_hotplug(system: System, cpuset: Cpuset, masks: Masks) -> None:
    """One cpuset, parents before their children (cpuset_hotplug_update_tasks)."""
    parent = cpuset.above()
    cpus = cpuset.allowed & parent.effective
    if cpuset.state:
        cpus = _of_partition(system, cpuset, cpus, masks)
    if cpus == cpuset.effective:
        return
    if not cpus and not cpuset.is_valid:
        cpus = parent.effective
    cpuset.effective = cpus
    system.update_tasks(cpuset)


def _of_partition(system: System, cpuset: Cpuset, cpus: int, masks: Masks) -> int:
    """The CPUs of a partition, which may become invalid, or valid again."""
    parent, remote = cpuset.above(), system.is_remote(cpuset)
    if remote or (cpuset.is_valid and parent.is_valid):
        cpus = effective_of_partition(system, cpuset)
    if remote and not cpus and system.is_populated(cpuset):
        disable_remote(system, cpuset, masks)
        cpus = cpuset.allowed & parent.effective
        remote = False
    command = None
    is_local = cpuset.is_valid and not remote
    if is_local and (not parent.is_valid or system.leaves_tasks_without_cpus(parent, cpuset, cpus)):
        command = Command.INVALIDATE
    elif parent.is_valid and cpuset.is_invalid:
        command = Command.UPDATE
    if command is not None:
        update_parent(system, cpuset, command, None, masks)
        if command is Command.INVALIDATE or cpuset.is_valid:
            cpus = effective_of_partition(system, cpuset)
    return cpus


_WRITES = {
    "cpuset.cpus": write_cpus,
    "cpuset.cpus.exclusive": write_exclusive,
    "cpuset.cpus.partition": write_partition,
}
_NAMES = {MEMBER: "member", ROOT: "root", ISOLATED: "isolated"}


class Tree:
    """Cgroups by path; the root, `.`, has the controllers cpuset and cpu for its children.

    Methods raise `Refused` with the name of an error number.
    """

    def __init__(self, possible: int, housekeeping: int | None = None) -> None:
        self.system = System(possible, housekeeping)
        self.system.top.controls_children = True
        self._cgroups: dict[str, Cpuset] = {".": self.system.top}
        #: By name, each with the path of its cgroup.
        self.tasks: dict[str, tuple[Task, str]] = {}

    @property
    def paths(self) -> list[str]:
        """The paths of all cgroups, ascending."""
        return sorted(self._cgroups)

    def cpuset(self, path: str) -> Cpuset:
        """The cgroup at a path."""
        if path not in self._cgroups:
            raise Refused("ENOENT")
        return self._cgroups[path]

    def mkdir(self, path: str) -> None:
        """A new cgroup, which has the CPUs of its parent."""
        if path in self._cgroups:
            raise Refused("EEXIST")
        parent = self.cpuset(path.rpartition("/")[0] or ".")
        made = Cpuset(parent, parent.effective)
        made.balances = parent.balances
        parent.children.append(made)
        self._cgroups[path] = made

    def rmdir(self, path: str) -> None:
        """Remove a cgroup without tasks and children; a partition gives its CPUs back."""
        cpuset = self.cpuset(path)
        if cpuset.tasks or cpuset.children:
            raise Refused("EBUSY")
        if cpuset.is_valid:
            set_state(self.system, cpuset, MEMBER)
        cpuset.above().children.remove(cpuset)
        del self._cgroups[path]

    def write(self, path: str, file: str, text: str) -> None:
        """Write to a file; an empty text is no write, and a line end alone clears."""
        cpuset = self.cpuset(path)
        if not text:
            return
        if file == "cgroup.subtree_control":
            self._control(cpuset, text)
            return
        if file not in _WRITES or cpuset.parent is None or not cpuset.parent.controls_children:
            raise Refused("ENOENT")
        _WRITES[file](self.system, cpuset, text.strip())

    def _control(self, cpuset: Cpuset, text: str) -> None:
        """Give controllers to children; both of cpuset and cpu may be where tasks are."""
        if cpuset.parent is not None and not cpuset.parent.controls_children:
            raise Refused("ENOENT")
        if "+cpuset" in text.split():
            cpuset.controls_children = True

    def spawn(self, path: str, name: str) -> None:
        """A task that starts in the root and moves to a cgroup."""
        task = Task(self.system.possible & ~self.system.subpartitions)
        self._attach(task, ".", path)
        self.tasks[name] = (task, path)

    def move(self, path: str, name: str) -> None:
        """Move a task."""
        task, old = self.tasks[name]
        self._attach(task, old, path)
        self._cgroups[old].tasks.remove(task)
        self.tasks[name] = (task, path)

    def _attach(self, task: Task, old: str, new: str) -> None:
        """cpuset_attach: where the CPUs are those of the old cgroup, the task keeps its own."""
        cpuset = self.cpuset(new)
        self._check_place(cpuset)
        if not cpuset.effective:
            raise Refused("ENOSPC")
        if cpuset.effective != self._cgroups[old].effective:
            self.system.set_task(task, self._online(cpuset))
        cpuset.tasks.append(task)

    def _check_place(self, cpuset: Cpuset) -> None:
        """Only the leaves have tasks, unless all controllers there are threaded ones, as these."""
        above = cpuset.parent
        while above is not None and above.parent is not None:
            if above.tasks and above.controls_children:
                raise Refused("EOPNOTSUPP")
            above = above.parent
        if cpuset.controls_children and any(child.is_populated for child in cpuset.children):
            raise Refused("EBUSY")

    def _online(self, cpuset: Cpuset) -> int:
        """CPUs for a task; those of an ancestor if its cgroup has none online."""
        if cpuset is self.system.top:
            return self.system.possible & ~self.system.subpartitions
        while not cpuset.effective & self.system.active and cpuset.parent is not None:
            cpuset = cpuset.parent
        return cpuset.effective & self.system.active or self.system.active

    def affinity(self, name: str, cpus: int) -> None:
        """sched_setaffinity of a task, which the kernel keeps in mind."""
        task, path = self.tasks[name]
        allowed = cpus & self._online(self._cgroups[path])
        if not allowed & self.system.active:
            raise Refused("EINVAL")
        task.wish, task.cpus = cpus, allowed

    def switch(self, cpu: int, *, online: bool) -> None:
        """Switch a CPU on or off."""
        active = self.system.active
        active = active | 1 << cpu if online else active & ~(1 << cpu)
        if active != self.system.active:
            set_active(self.system, active)

    def partition(self, path: str) -> str:
        """What cpuset.cpus.partition says."""
        cpuset = self.cpuset(path)
        if not cpuset.is_invalid:
            return _NAMES[cpuset.state]
        reason = f" ({cpuset.reason.value})" if cpuset.reason.value else ""
        return f"{_NAMES[-cpuset.state]} invalid{reason}"

    def leak(self) -> int:
        """The CPUs that stay isolated once every cgroup is gone; this removes them all."""
        for task, path in self.tasks.values():
            self._cgroups[path].tasks.remove(task)
        self.tasks = {}
        for path in sorted(self._cgroups, key=lambda path: path.count("/"), reverse=True):
            if path != ".":
                self.rmdir(path)
        housekeeping = self.system.housekeeping
        isolated = 0 if housekeeping is None else self.system.possible & ~housekeeping
        return self.system.isolated & ~isolated

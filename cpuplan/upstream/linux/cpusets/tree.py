"""A tree of cgroups with the cpuset controller, as programs use it: by paths and files."""

from cpuplan.upstream.linux.cpusets.state import (
    ISOLATED,
    MEMBER,
    ROOT,
    Cpuset,
    Refused,
    System,
    Task,
)
from cpuplan.upstream.linux.cpusets.writes import (
    set_active,
    set_state,
    write_cpus,
    write_exclusive,
    write_partition,
)

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

"""The control groups of a node, version 1 or 2, as far as they have CPUs of their own."""

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Iterator
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple

from cpuplan.base import nodetext
from cpuplan.base.cpuset import CpuSet
from cpuplan.check.pods.names import Container, container_of, is_all_pods, is_folder, pod_of
from cpuplan.check.roots.root import Root
from cpuplan.check.threads.task import cpu_list
from cpuplan.check.threads.unit import is_pod

MOUNT = "sys/fs/cgroup"
#: Control groups of one node; where there are more, none is judged.
MAX_GROUPS = 20_000
#: Control groups in each other; a container in a pod has 4 above it, one in a kubelet that is a
#: container itself some 12.
MAX_DEPTH = 64
#: Characters of a path in a message.
_SHOWN = 200
#: On version 1, cpu and cpuacct are one hierarchy with two names, or not.
_CPU_CONTROLLERS = ("cpu,cpuacct", "cpu", "cpuacct,cpu")


class Tree:
    """The control groups that have a cpuset, by their path below the mount point; "" is the root.

    Without control groups in a copy it is not `present`. Links are not followed but that of the
    mount point: the kernel has none among control groups.
    """

    def __init__(self, root: Root) -> None:
        self.root = root
        top = root.names(MOUNT)
        self.is_v1 = "cpuset" in top and "cgroup.controllers" not in top
        self.present = bool(top)
        self._cpuset = f"{MOUNT}/cpuset" if self.is_v1 else MOUNT
        self._cpu = next((f"{MOUNT}/{each}" for each in _CPU_CONTROLLERS if each in top), MOUNT)
        self.groups: dict[str, frozenset[str]] = {}
        self.problem = "" if self.present else "there are no control groups to read"
        self._walk()

    def _walk(self) -> None:
        todo = [("", 0)]
        seen: set[Hashable] = set()
        while todo:
            path, depth = todo.pop()
            folder = self.folder(path)
            identity = self.root.identity(folder)
            if identity in seen:
                continue
            seen.add(identity)
            entries = self.root.entries(folder)
            if path and not _may_have_cpus(path, [name for name, _ in entries]):
                continue
            self.groups[path] = frozenset(name for name, _ in entries)
            below = [name for name, is_real in entries if is_real and is_folder(name)]
            todo += [(f"{path}/{name}".lstrip("/"), depth + 1) for name in below]
            if len(self.groups) > MAX_GROUPS:
                self._cut(f"there are more than {MAX_GROUPS:,} control groups")
                return
            if below and depth == MAX_DEPTH:
                self._cut(f"control groups lie deeper than {MAX_DEPTH} at /{folder[:_SHOWN]}")
                return

    def _cut(self, problem: str) -> None:
        """Nothing is judged by a part of the control groups."""
        self.groups = {"": self.groups[""]}
        self.problem = problem
        self.root.cut(self._cpuset, problem)

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self.groups)

    def folder(self, path: str) -> str:
        """The folder of the cpuset of a control group."""
        return f"{self._cpuset}/{path}".rstrip("/")

    def read(self, path: str, file: str) -> str:
        """A file of a control group's cpuset; empty where there is none."""
        if file not in self.groups.get(path, ()):
            return ""
        return (self.root.read(f"{self.folder(path)}/{file}") or "").strip()

    def cpus(self, path: str) -> CpuSet:
        """The CPUs that were written to a control group; none where it has those above it."""
        return cpu_list(self.read(path, "cpuset.cpus"))

    def effective(self, path: str) -> CpuSet | None:
        """The CPUs in force; None where nothing shows them."""
        file = "cpuset.effective_cpus" if self.is_v1 else "cpuset.cpus.effective"
        return cpu_list(self.read(path, file)) or None

    def quota(self, path: str) -> "Quota | None":
        """What a control group has of each period; None for no limit."""
        if not self.is_v1:
            first, _, period = self.read(path, "cpu.max").partition(" ")
            return _quota(first, period, f"{self.folder(path)}/cpu.max")
        folder = f"{self._cpu}/{path}"
        first = self.root.read(f"{folder}/cpu.cfs_quota_us") or ""
        period = self.root.read(f"{folder}/cpu.cfs_period_us") or ""
        return _quota(first.strip(), period.strip(), f"{folder}/cpu.cfs_quota_us")

    def throttled(self, path: str) -> int:
        """In how many periods the quota of a control group was used up."""
        folder = f"{self._cpu}/{path}" if self.is_v1 else self.folder(path)
        words = (self.root.read(f"{folder}/cpu.stat") or "").split()
        if "nr_throttled" not in words[:-1]:
            return 0
        return nodetext.natural(words[words.index("nr_throttled") + 1]) or 0

    def below(self, path: str) -> list[str]:
        """The control groups below one."""
        start = f"{path}/"
        following = self._sorted[bisect_left(self._sorted, start) :]
        return list(takewhile(lambda each: each.startswith(start), following))

    def containers(self) -> Iterator[Container]:
        """All containers of pods, by path."""
        found = (container_of(path) for path in sorted(self.groups))
        return (container for container in found if container)

    def pods(self) -> set[str]:
        """The UIDs of all pods."""
        return {pod for path in self.groups if (pod := pod_of(path))}

    def all_pods(self) -> list[str]:
        """The control groups of all pods: one, where a kubelet has run."""
        return [path for path in sorted(self.groups) if is_all_pods(path)]


def _may_have_cpus(path: str, names: Iterable[str]) -> bool:
    """Whether a control group, or one below it, can have a cpuset.

    Without the controller there is none below either. A copy may lack all files of a group.
    """
    files = [name for name in names if not is_folder(name)]
    return not files or is_pod(path) or any(name.startswith("cpuset.") for name in files)


class Quota(NamedTuple):
    """Microseconds of processor time in each period, and the file that says so."""

    quota: int
    period: int
    path: str

    @property
    def cpus(self) -> float:
        """How many CPUs that are."""
        return self.quota / self.period


def _quota(quota: str, period: str, path: str) -> Quota | None:
    given, each = nodetext.natural(quota), nodetext.natural(period)
    return Quota(given, each, path) if given is not None and each else None


def above(path: str) -> list[str]:
    """The control groups above one, the nearest first; not the root."""
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(len(parts) - 1, 0, -1)]

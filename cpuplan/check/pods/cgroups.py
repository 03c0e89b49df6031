"""The control groups of a node, version 1 or 2, as far as they have CPUs of their own.

Also their names, as the kubelet and container runtimes make them, and partitions of cpusets
(version 2): CPUs that a control group keeps for itself.
"""

import re
from bisect import bisect_left
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple

from cpuplan.base import nodetext
from cpuplan.base.cpuset import EMPTY, CpuSet, cpus_text, union
from cpuplan.check.roots.root import Root
from cpuplan.check.threads.tasks import cpu_list, is_pod

#: systemd: kubepods-burstable-pod<uid>.slice, also x-kubepods-pod<uid>.slice with --cgroup-root x.
_SLICE = re.compile(r"(?:.+-)?kubepods(?:-(besteffort|burstable))?-pod(.+)\.slice\Z")
#: cgroupfs: pod<uid> in kubepods, kubepods/burstable or kubepods/besteffort.
_FOLDER = re.compile(r"pod([0-9a-f-]+)\Z")
_ALL_PODS = re.compile(r"(?:.+-)?kubepods(?:\.slice)?\Z")
_MONITOR = re.compile(r"(?:crio|libpod)-conmon-")
_RUNTIME = re.compile(r"(?:crio|cri-containerd|docker|libpod)-")
#: Digits of an identifier that are enough for people.
_SHORT = 12
#: What every control group has; all other names are of groups below it.
_FILE = re.compile(
    r"(?:cgroup|cpu|cpuacct|cpuset|memory|io|pids|hugetlb|rdma|misc|irq|perf_event|devices|blkio"
    r"|freezer|net_cls|net_prio|debug|dmem)\.|(?:tasks|notify_on_release|release_agent)\Z"
)


class Container(NamedTuple):
    """A container's control group: its path below the mount point, with that of its pod."""

    path: str
    pod_path: str
    #: The pod's UID; of a static pod, the hash of its manifest.
    pod: str
    id: str

    @property
    def short(self) -> str:
        """The pod and the container in a sentence."""
        return f"{self.id[:_SHORT]} of pod {self.pod}"


def is_folder(name: str) -> bool:
    """Whether a name in a control group's folder is that of a further group."""
    return _FILE.match(name) is None


def is_all_pods(path: str) -> bool:
    """Whether a control group is the one of all pods."""
    return _ALL_PODS.match(path.rpartition("/")[2]) is not None


def container_of(path: str) -> Container | None:
    """The container of a control group directly below that of a pod."""
    pod_path, _, name = path.rpartition("/")
    pod = pod_of(pod_path)
    if not pod or _MONITOR.match(name):
        return None
    bare = _RUNTIME.sub("", name, count=1).removesuffix(".scope").removesuffix(".service")
    return Container(path, pod_path, pod, bare)


def pod_of(path: str) -> str:
    """The UID of a pod's control group; empty for others."""
    above, _, name = path.rpartition("/")
    by_systemd = _SLICE.match(name)
    if by_systemd:
        return by_systemd[2].replace("_", "-")
    folder = _FOLDER.match(name)
    is_below = is_all_pods(above) or is_all_pods(above.rpartition("/")[0])
    return folder[1] if folder and is_below else ""


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
        self._cpu = next(
            (f"{MOUNT}/{controller}" for controller in _CPU_CONTROLLERS if controller in top), MOUNT
        )
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
        return list(takewhile(lambda group: group.startswith(start), following))

    def containers(self) -> Iterator[Container]:
        """All containers of pods, by path."""
        candidates = (container_of(path) for path in sorted(self.groups))
        return (container for container in candidates if container)

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
    given, length = nodetext.natural(quota), nodetext.natural(period)
    return Quota(given, length, path) if given is not None and length else None


def above(path: str) -> list[str]:
    """The control groups above one, the nearest first; not the root."""
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(len(parts) - 1, 0, -1)]


PARTITION_FILE = "cpuset.cpus.partition"
_VALID = ("root", "isolated")
_MEMBER = ("", "member")


class Partition(NamedTuple):
    """A control group that is a partition, or was meant to be one."""

    path: str
    #: `isolated`, `root`, or with the kernel's reason `isolated invalid (...)`.
    state: str
    cpus: CpuSet

    @property
    def is_valid(self) -> bool:
        """Whether it has its CPUs."""
        return self.state in _VALID


class Trouble(NamedTuple):
    """CPUs that are kept from others; `cpus` may be empty, `path` is the evidence."""

    problem: str
    path: str
    cpus: CpuSet
    #: The kernel keeps them until the next boot.
    is_leak: bool = False


def partitions(tree: Tree) -> list[Partition]:
    """All partitions of a node, by path."""
    result = []
    for path in sorted(tree.groups):
        state = tree.read(path, PARTITION_FILE) if path else ""
        if state not in _MEMBER:
            result.append(Partition(path, state, _cpus(tree, path, is_valid=state in _VALID)))
    return result


def _cpus(tree: Tree, path: str, *, is_valid: bool) -> CpuSet:
    """A partition of Linux 6.7 says its CPUs, one before has those in force; else the wish."""
    if is_valid:
        remote = cpu_list(tree.read(path, "cpuset.cpus.exclusive.effective"))
        return remote or tree.effective(path) or tree.cpus(path)
    return cpu_list(tree.read(path, "cpuset.cpus.exclusive")) or tree.cpus(path)


def troubles(
    tree: Tree, known: Sequence[Partition], planned: str, online: CpuSet, booted: CpuSet
) -> Iterator[Trouble]:
    """Partitions of others, invalid ones, and CPUs that are isolated or exclusive for nobody.

    The `planned` one is its own check's. `booted` are isolated by boot arguments.
    """
    of_others = [partition for partition in known if partition.path != planned]
    for partition in of_others:
        folder = f"{tree.folder(partition.path)}/{PARTITION_FILE}"
        cpus, state = cpus_text(partition.cpus), partition.state
        if not partition.is_valid:
            problem = f"the partition {partition.path} of {cpus} is {state}"
            yield Trouble(problem, folder, EMPTY)
        elif not _is_of_container(partition.path):
            problem = f"{partition.path} is a partition ({state}) of {cpus}"
            yield Trouble(problem, folder, partition.cpus)
    owned = union(partition.cpus for partition in known if partition.is_valid)
    yield from _leaks(tree, owned, online, booted)
    yield from _stale(tree, known)


def _is_of_container(path: str) -> bool:
    """Whether a container runtime makes partitions there: for a container, or in it."""
    return any(container_of(group) for group in (path, *above(path)))


def _leaks(tree: Tree, owned: CpuSet, online: CpuSet, booted: CpuSet) -> Iterator[Trouble]:
    """CPUs that the root has lost without a partition that has them."""
    isolated = cpu_list(tree.read("", "cpuset.cpus.isolated")) - booted - owned
    effective = tree.effective("")
    missing = EMPTY if effective is None else online - effective - owned - booted
    if isolated:
        problem = f"{cpus_text(isolated)} are isolated, and no partition has them"
        yield Trouble(problem, f"{tree.folder('')}/cpuset.cpus.isolated", isolated, is_leak=True)
    if missing - isolated:
        problem = f"the control groups have lost {cpus_text(missing)} to a partition out of sight"
        yield Trouble(problem, f"{tree.folder('')}/cpuset.cpus.effective", missing, is_leak=True)


def _stale(tree: Tree, known: Sequence[Partition]) -> Iterator[Trouble]:
    """CPUs that a control group keeps exclusive for no partition in it: the topmost of each way."""
    used: dict[str, CpuSet] = {}
    for partition in known:
        for path in (partition.path, *above(partition.path)):
            used[path] = used.get(path, EMPTY) | partition.cpus
    seen: set[str] = set()
    for path in sorted(tree.groups):
        if not seen.isdisjoint(above(path)):
            continue
        kept = cpu_list(tree.read(path, "cpuset.cpus.exclusive")) if path else EMPTY
        rest = kept - used.get(path, EMPTY)
        if rest:
            seen.add(path)
            problem = f"{path} keeps {cpus_text(rest)} exclusive, and no partition has them"
            yield Trouble(problem, f"{tree.folder(path)}/cpuset.cpus.exclusive", EMPTY)

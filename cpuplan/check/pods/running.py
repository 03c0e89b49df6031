"""The containers that run: what their control group says, and the threads in it."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.check.pods.names import Container
from cpuplan.check.pods.tree import Tree
from cpuplan.check.roots.root import Root
from cpuplan.check.threads.reading import Threads
from cpuplan.check.threads.task import Task, cpu_list
from cpuplan.check.threads.unit import path_of
from cpuplan.upstream.crio.high_performance_hooks import ISOLATED_ENV, SHARED_ENV

LOGS = "var/log/containers"
#: The program of a sandbox: Kubernetes' own, that of OpenShift, and that of Bottlerocket.
_PAUSE = ("pause", "pod", "schrodinger-pau")


class Running(NamedTuple):
    """A container. Without `cpus` of its own it has those of its pod."""

    container: Container
    name: str
    cpus: CpuSet
    effective: CpuSet | None
    tasks: tuple[Task, ...]

    @property
    def is_pause(self) -> bool:
        """Whether it is the sandbox of its pod."""
        return any(task.name in _PAUSE for task in self.tasks)

    @property
    def described(self) -> str:
        """The container in a sentence."""
        name = f"{self.name} " if self.name else ""
        return f"container {name}{self.container.short}"


class Mixed(NamedTuple):
    """What CRI-O told a container of its CPUs when it started it."""

    exclusive: CpuSet
    shared: CpuSet


def running(root: Root, tree: Tree, threads: Threads) -> list[Running]:
    """All containers of pods, by the path of their control group."""
    names = _names(root)
    containers = list(tree.containers())
    tasks = _tasks(containers, threads)
    return [
        Running(
            one,
            names.get(one.id, ""),
            tree.cpus(one.path),
            tree.effective(one.path),
            tuple(tasks.get(one.path, ())),
        )
        for one in containers
    ]


def _names(root: Root) -> dict[str, str]:
    """Names by identifier, from the links that the kubelet makes to logs: pod_namespace_name-id."""
    names = {}
    for link in root.names(LOGS):
        name, _, identifier = link.removesuffix(".log").rpartition("_")[2].rpartition("-")
        names[identifier] = name
    return names


def _tasks(containers: Iterable[Container], threads: Threads) -> Mapping[str, list[Task]]:
    """The threads of each container, by its path."""
    by_name = {one.path.rpartition("/")[2]: one.path for one in containers}
    places = {pid: _place(text, by_name) for pid, text in threads.cgroups.items()}
    tasks: dict[str, list[Task]] = {}
    for task in threads.user():
        path = places.get(task.pid, "")
        if path:
            tasks.setdefault(path, []).append(task)
    return tasks


def _place(text: str, by_name: Mapping[str, str]) -> str:
    """The container of a process; its path may have more above it than can be seen here."""
    found = (by_name[name] for name in path_of(text).split("/") if name in by_name)
    return next(found, "")


def mixed(root: Root, one: Running) -> Mixed | None:
    """The exclusive and the shared CPUs in the environment of a container's first process."""
    if not one.tasks:
        return None
    path = f"proc/{one.tasks[0].pid}/environ"
    known = set(root.refused)
    text = root.read(path) or ""
    for refused in set(root.refused) - known:
        del root.refused[refused]  # of others' processes, a user may not read it
    words = (word.partition("=") for word in text.split("\0"))
    values = {name: value for name, _, value in words}
    if SHARED_ENV not in values:
        return None
    return Mixed(cpu_list(values.get(ISOLATED_ENV, "")), cpu_list(values[SHARED_ENV]) or EMPTY)

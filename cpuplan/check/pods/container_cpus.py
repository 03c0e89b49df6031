"""The CPUs of containers: what they have, what they are to have, and where these differ."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from cpuplan.base.cpuset import EMPTY, CpuSet, cpus_text, union
from cpuplan.base.text import at_most, counted, plural
from cpuplan.check.kubelet.sources import find_sources
from cpuplan.check.pods.cgroups import Container, Partition, Tree, above, partitions
from cpuplan.check.roots.root import Root
from cpuplan.check.subject import Subject
from cpuplan.check.threads.tasks import Task, Threads, cpu_list, online, path_of, threads
from cpuplan.facts.settings.crio import INFRA_CTR_CPUSET, SHARED_CPUSET
from cpuplan.facts.settings.row import Row
from cpuplan.upstream.crio.high_performance_hooks import ISOLATED_ENV, SHARED_ENV
from cpuplan.upstream.kubelet.cpumanager.state import FILE, CPUState, load
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.kube_features import BEHAVIOUR_SINCE, LATEST, Gates

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
            container,
            names.get(container.id, ""),
            tree.cpus(container.path),
            tree.effective(container.path),
            tuple(tasks.get(container.path, ())),
        )
        for container in containers
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
    by_name = {container.path.rpartition("/")[2]: container.path for container in containers}
    places = {pid: _place(text, by_name) for pid, text in threads.cgroups.items()}
    tasks: dict[str, list[Task]] = {}
    for task in threads.user():
        path = places.get(task.pid, "")
        if path:
            tasks.setdefault(path, []).append(task)
    return tasks


def _place(text: str, by_name: Mapping[str, str]) -> str:
    """The container of a process; its path may have more above it than can be seen here."""
    places = (by_name[name] for name in path_of(text).split("/") if name in by_name)
    return next(places, "")


def mixed(root: Root, container: Running) -> Mixed | None:
    """The exclusive and the shared CPUs in the environment of a container's first process."""
    if not container.tasks:
        return None
    path = f"proc/{container.tasks[0].pid}/environ"
    known = set(root.refused)
    text = root.read(path) or ""
    for refused in set(root.refused) - known:
        del root.refused[refused]  # of others' processes, a user may not read it
    words = (word.partition("=") for word in text.split("\0"))
    values = {name: value for name, _, value in words}
    if SHARED_ENV not in values:
        return None
    return Mixed(cpu_list(values.get(ISOLATED_ENV, "")), cpu_list(values[SHARED_ENV]) or EMPTY)


def state_file(subject: Subject) -> str:
    """The path of the state file."""
    return find_sources(subject).state(FILE)


#: By which the file has the CPUs of whole pods too.
_POD_LEVEL = {"podEntries": "PodLevelResourceManagers"}
STATIC_POLICY = "static"


class Assigned(NamedTuple):
    """The shared pool, and exclusive CPUs by the UID of a pod and the name of a container.

    `pods` has the CPUs of whole pods. With a `problem`, nothing is known.
    """

    policy: str = ""
    default: CpuSet = EMPTY
    entries: Mapping[str, Mapping[str, CpuSet]] = {}
    pods: Mapping[str, CpuSet] = {}
    problem: str = ""

    @property
    def exclusive(self) -> bool:
        """Whether the kubelet gives containers CPUs of their own."""
        return not self.problem and self.policy == STATIC_POLICY


def assigned(root: Root, path: str) -> Assigned:
    """What the state file says. Whether the kubelet takes it is its own check's."""
    text = root.read(path)
    if text is None:
        return Assigned(problem="the kubelet's state file is not here")
    try:
        given = json.loads(text)
        has_data = bool(given.get("data") or given.get("dataChecksum"))
        data = json.loads(given["data"]) if has_data else given
        policy = str(data["policyName"])
        gates = {gate: key in data for key, gate in _POD_LEVEL.items()}
        version = BEHAVIOUR_SINCE["state.data"] if has_data else LATEST
        return _of(policy, load(text, policy, Gates(gates, version)))
    except (KubeletError, ValueError, KeyError, TypeError, RecursionError, AttributeError):
        return Assigned(problem="the kubelet cannot read its state file")


def _of(policy: str, state: CPUState) -> Assigned:
    entries = {pod: _sets(containers) for pod, containers in state.entries.items()}
    return Assigned(policy, CpuSet.from_bits(state.default), entries, _sets(state.pod_entries))


def _sets(cpus: Mapping[str, int]) -> dict[str, CpuSet]:
    return {name: CpuSet.from_bits(bits) for name, bits in cpus.items()}


class Planned(NamedTuple):
    """The shared CPUs of containers that nothing was told of, and the CPUs of sandboxes."""

    shared: CpuSet
    infra: CpuSet


class Pair(NamedTuple):
    """A container, with its exclusive CPUs, and with the shared ones that it has besides."""

    running: Running
    name: str
    exclusive: CpuSet
    shared: CpuSet

    @property
    def wanted(self) -> CpuSet:
        """All CPUs of the container."""
        return self.exclusive | self.shared

    @property
    def described(self) -> str:
        """The container in a sentence."""
        return f"container {self.name} {self.running.container.short}"


def pairs(
    containers: Sequence[Running],
    entries: Mapping[str, CpuSet],
    mixed: Mapping[str, Mixed],
    planned: Planned,
) -> list[Pair]:
    """The containers of a pod that have exclusive CPUs; `mixed` has what CRI-O told them, by path.

    An entry without a container is of an init container, or its container is about to start.
    """
    left = dict(entries)
    by_cpus: dict[CpuSet, list[str]] = {}
    for name in reversed(left):
        by_cpus.setdefault(left[name], []).append(name)
    matched = []
    unmatched = []
    for container in containers:
        told = mixed.get(container.container.path)
        shared = told.shared if told else planned.shared
        name = container.name or _of_cpus(container.cpus, by_cpus, left, shared)
        if name in left:
            matched.append(
                _pair(
                    container,
                    name,
                    left.pop(name),
                    shared if told else None,
                    planned.shared,
                )
            )
        elif not container.name and not container.is_pause and (container.cpus or container.tasks):
            unmatched.append(container)  # without either, it may be a sandbox
    taken = union(pair.exclusive for pair in matched)
    # What an init container had is given to other containers of its pod.
    open_ones = [name for name, cpus in left.items() if cpus.isdisjoint(taken)]
    unmatched.sort(key=lambda container: container.cpus == planned.infra)
    for name, container in zip(open_ones, unmatched, strict=False):
        told = mixed.get(container.container.path)
        matched.append(Pair(container, name, left[name], told.shared if told else EMPTY))
    return matched


def _of_cpus(
    cpus: CpuSet, by_cpus: Mapping[CpuSet, list[str]], left: Mapping[str, CpuSet], shared: CpuSet
) -> str:
    """The first entry that is left with the CPUs of a container; empty if there is none.

    Exclusive CPUs are no shared ones.
    """
    for wanted in (cpus, cpus - shared):
        names = by_cpus.get(wanted, [])
        while names:
            name = names.pop()
            if name in left:
                return name
    return ""


def _pair(
    container: Running, name: str, exclusive: CpuSet, told: CpuSet | None, planned: CpuSet
) -> Pair:
    """Where nothing tells, a container has the shared CPUs if it has them all."""
    if told is None:
        told = planned if container.cpus == exclusive | planned else EMPTY
    return Pair(container, name, exclusive, told)


#: Names in a sentence.
FEW = 3


class Misplaced(NamedTuple):
    """What is wrong with one container, or with several in the same way; `path` is the evidence."""

    who: str
    observed: str
    wanted: str
    path: str


class Lost(NamedTuple):
    """CPUs that no container can have now, for a reason that is reported by itself."""

    online: CpuSet
    partitioned: CpuSet


def exclusive(tree: Tree, pairs: Iterable[Pair], lost: Lost) -> Iterator[Misplaced]:
    """Containers with exclusive CPUs that have others, or threads that may run on others."""
    for pair in pairs:
        container = pair.running
        path = f"{tree.folder(container.container.path)}/cpuset.cpus"
        if container.cpus != pair.wanted:
            yield _misplaced(pair, container.cpus, path)
            continue
        missing = _missing(tree, pair, lost)
        if missing:
            yield _misplaced(pair, pair.wanted - missing, path)
            continue
        strays = [task for task in container.tasks if not task.allowed & lost.online <= pair.wanted]
        if strays:
            who = f"{counted(len(strays), 'thread')} of {pair.described}"
            strayed = union(task.allowed & lost.online for task in strays)
            where = f"proc/{strays[0].pid}/task/{strays[0].tid}/status"
            yield Misplaced(who, cpus_text(strayed), cpus_text(pair.wanted), where)


def _misplaced(pair: Pair, actual: CpuSet, path: str) -> Misplaced:
    return Misplaced(pair.described, _shown(actual), cpus_text(pair.wanted), path)


def _shown(cpus: CpuSet) -> str:
    return cpus_text(cpus) if cpus else "those of its pod"


def _missing(tree: Tree, pair: Pair, lost: Lost) -> CpuSet:
    """CPUs of a container that are not in force, and no limit above it says why."""
    container = pair.running
    if container.effective is None:
        return CpuSet()
    missing = pair.wanted & lost.online - container.effective - lost.partitioned
    for path in above(container.container.path):
        limit = tree.cpus(path)
        missing = missing & limit if limit else missing
    return missing


def gone(state: Assigned, pods: Set[str], path: str) -> Iterator[Misplaced]:
    """Entries of pods that have no control group any more."""
    for pod in sorted(state.entries.keys() - pods):
        entries = state.entries[pod]
        who = f"{_containers(sorted(entries))} of pod {pod}"
        yield Misplaced(who, "no control group", cpus_text(union(entries.values())), path)


def pooled(
    tree: Tree, containers: Sequence[Running], wanted: CpuSet, pinned: CpuSet, lost: Lost
) -> Iterator[Misplaced]:
    """Containers without exclusive CPUs that have others than the shared pool of the state file.

    Pods of the platform may be `pinned` to CPUs by their runtime.
    """
    by_cpus: dict[CpuSet, list[Running]] = {}
    for container in containers:
        cpus = container.cpus & lost.online
        if not container.cpus or cpus in (wanted, pinned):
            cpus = union(task.allowed & lost.online for task in container.tasks)
            # One without a cpuset has that of its pod; without threads, it may be a sandbox.
            free = container.effective if container.tasks and not container.cpus else None
            cpus = cpus | ((free or EMPTY) & lost.online)
            if cpus <= wanted or cpus <= pinned:
                continue
        by_cpus.setdefault(cpus, []).append(container)
    for cpus, ones in by_cpus.items():
        path = f"{tree.folder(ones[0].container.path)}/cpuset.cpus"
        names = [f"{container.name} {container.container.short}".strip() for container in ones]
        yield Misplaced(_containers(names), cpus_text(cpus), cpus_text(wanted), path)


def _containers(names: Sequence[str]) -> str:
    """`container a`, `containers a, b, c and 4 more`."""
    return f"{plural('container', len(names))} {at_most(names, FEW)}"


def by_pod(containers: Iterable[Running]) -> Mapping[str, list[Running]]:
    """The containers of each pod, by its UID."""
    pods: dict[str, list[Running]] = {}
    for container in containers:
        pods.setdefault(container.container.pod, []).append(container)
    return pods


_KEY = "pods"


class View(NamedTuple):
    """Control groups, containers, the kubelet's state, and which of its entries are whose."""

    tree: Tree
    online: CpuSet
    partitions: tuple[Partition, ...]
    state: Assigned
    containers: tuple[Running, ...]
    #: Containers with exclusive CPUs.
    pairs: tuple[Pair, ...]
    #: What CRI-O told containers, by the path of their control group.
    mixed: Mapping[str, Mixed]


def view(subject: Subject) -> View:
    """The node's control groups and containers."""
    return subject.once(_KEY, lambda: _view(subject))


def _view(subject: Subject) -> View:
    tree, state = Tree(subject.root), assigned(subject.root, state_file(subject))
    containers = tuple(running(subject.root, tree, threads(subject)))
    told = {}
    paired: list[Pair] = []
    planned = Planned(cpuset(subject, SHARED_CPUSET), cpuset(subject, INFRA_CTR_CPUSET))
    for pod, ones in by_pod(containers).items():
        entries = state.entries.get(pod, {})
        for container in ones if entries else ():
            if mixed_cpus := mixed(subject.root, container):
                told[container.container.path] = mixed_cpus
        paired += pairs(ones, entries, told, planned)
    return View(
        tree,
        online(subject),
        tuple(partitions(tree)),
        state,
        containers,
        tuple(paired),
        told,
    )


def cpuset(subject: Subject, row: Row) -> CpuSet:
    """The CPUs of a row's setting; empty without one."""
    value = subject.expected.settings.value(row)
    if isinstance(value, str):
        return cpu_list(value)
    return value if isinstance(value, CpuSet) else EMPTY

"""The kubelet's state files: whether they contradict, and what its next start says of them.

The start is simulated with the planned CPUs and the memory that the node has.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from cpuplan.base import nodetext
from cpuplan.check.kubelet.configuration import in_force, is_v1, release
from cpuplan.check.kubelet.sources import find_sources
from cpuplan.check.roots.root import Root
from cpuplan.check.subject import Subject
from cpuplan.components import derived, kubelet
from cpuplan.diagnostics import Severity, diagnose
from cpuplan.facts.settings.kubelet import FEATURE_GATES, MEMORY_MANAGER_POLICY
from cpuplan.facts.versions import Version
from cpuplan.plan.expected.evidence import Answer, Heals
from cpuplan.simulate.files.kubelet_configuration import hint_for
from cpuplan.upstream.kubelet.config.codec import encode, merge
from cpuplan.upstream.kubelet.cpumanager import state as cpu_state
from cpuplan.upstream.kubelet.cpumanager.policy_static import Fork
from cpuplan.upstream.kubelet.kubelet import Configuration, Kubelet, Node, StartError
from cpuplan.upstream.kubelet.machine import Machine, NodeMemory
from cpuplan.upstream.kubelet.memorymanager import state as memory_state
from cpuplan.upstream.kubelet.policy_options import MANAGERS, with_gates
from cpuplan.upstream.kubelet.sysinfo import machine_of, without
from cpuplan.upstream.kubernetes.bits import to_text
from cpuplan.upstream.kubernetes.errors import HangError, KubeletError, PanicError
from cpuplan.upstream.kubernetes.kube_features import Gates

_NODES = "sys/devices/system/node"
_TOTAL = re.compile(r"^(?:Node [0-9]+ )?MemTotal:[ \t]+([0-9]{1,15}) kB", re.MULTILINE)
_PAGES = re.compile(r"hugepages-([0-9]{1,9})kB\Z")


class Found(NamedTuple):
    """The planned machine, and whether its memory is that of the node."""

    machine: Machine
    has_memory: bool


def machine(subject: Subject, *, cgroup_v1: bool) -> Found:
    """The planned CPUs that are to be online: whether they are is told by another step."""
    topology = subject.expected.topology
    offline = topology.online - subject.expected.cpus(derived.ONLINE)
    known = machine_of(without(topology, offline))
    nodes = (_memory(subject.root, node.id) for node in known.nodes)
    memory = tuple(node for node in nodes if node)
    has_memory = len(memory) == len(known.nodes)
    total = _total(subject.root.read("proc/meminfo") or "")
    if has_memory:
        known = known._replace(memory=memory, memory_capacity=total)
    return Found(known._replace(cgroup_v1=cgroup_v1), has_memory)


def _memory(root: Root, node: int) -> NodeMemory | None:
    """Memory and huge pages of a NUMA node; None where it is not here."""
    total = _total(root.read(f"{_NODES}/node{node}/meminfo") or "")
    if total is None:
        return None
    folder = f"{_NODES}/node{node}/hugepages"
    pages = (_pages(root, folder, name) for name in root.names(folder))
    return NodeMemory(node, total, tuple(page for page in pages if page))


def _pages(root: Root, folder: str, name: str) -> tuple[int, int] | None:
    """(size in KiB, number)."""
    match, text = _PAGES.match(name), root.read(f"{folder}/{name}/nr_hugepages")
    number = nodetext.natural(text or "")
    return None if match is None or number is None else (int(match[1]), number)


def _total(text: str) -> int | None:
    match = _TOTAL.search(text)
    return int(match[1]) * 1024 if match else None


#: With it OpenShift's kubelet partitions workloads.
_PINNING = "etc/kubernetes/openshift-workload-pinning"


class Refusal(NamedTuple):
    """The stage of a start that fails, and the kubelet's words."""

    stage: str
    text: str


class Starter(NamedTuple):
    """All that a kubelet of the node starts with, except its state files."""

    configs: Mapping[str, Mapping[str, Any] | Configuration]
    machine: Machine
    version: Version
    fork: Fork
    has_memory: bool

    def start(self, config: str, node: Node = Node()) -> Kubelet | Refusal:  # noqa: B008 - a constant
        """The kubelet with a configuration and state files, or why it does not start."""
        given = self.configs[config]
        try:
            return Kubelet(given, self.machine, node, fork=self.fork, version=self.version)
        except StartError as error:
            return Refusal(error.stage, str(error))
        except (KubeletError, HangError, PanicError) as error:
            return Refusal("", str(error))


#: Names of configurations.
IN_FORCE, PLANNED = "in force", "planned"


def starter(subject: Subject) -> Starter:
    """A kubelet of the node, with the configuration in force and with the planned one."""
    kubelet_machine, has_memory = machine(subject, cgroup_v1=is_v1(subject))
    is_fork = subject.expected.platform.forks_kubelet
    fork = Fork(is_fork, is_fork and subject.root.is_file(_PINNING))
    version = release(subject)
    config = in_force(subject).config
    # Without the memory of the machine nothing can be said of the memory manager.
    unknown = {} if has_memory else {MEMORY_MANAGER_POLICY.key: "None"}
    configs: dict[str, Mapping[str, Any] | Configuration] = {
        PLANNED: {**_planned(subject, config or {}, version), **unknown}
    }
    if config is not None:
        gates = Gates(config.get(FEATURE_GATES.head) or {}, version)
        configs[IN_FORCE] = Configuration({**config, **unknown}, gates)
    return Starter(configs, kubelet_machine, version, fork, has_memory)


def _planned(subject: Subject, config: Mapping[str, Any], version: Version) -> dict[str, Any]:
    """The configuration in force with all that the plan says, and no policy options of others."""
    planned = kubelet.configuration(subject.expected.settings.of(kubelet.NAME))
    known = {name: value for name, value in encode(dict(config)).items() if name not in MANAGERS}
    return with_gates(merge(known, planned), version)


class _File(NamedTuple):
    """A state file: its name, and whose it is."""

    name: str
    manager: str

    @property
    def fact(self) -> str:
        return f"state of the {self.manager}"

    @property
    def is_of_memory(self) -> bool:
        return self.name == memory_state.FILE

    def node(self, text: str) -> Node:
        return Node(memory_state=text) if self.is_of_memory else Node(cpu_state=text)


_FILES = (
    _File(cpu_state.FILE, "CPU manager"),
    _File(memory_state.FILE, "memory manager"),
)
_FACT = "kubelet starts on this machine"


def states(subject: Subject) -> Iterator[Answer]:
    """CP825, CP826 and CP829: what the next start would say, in the kubelet's words."""
    known = starter(subject)
    started = known.start(PLANNED)
    is_refused = any(finding.severity is Severity.ERROR for finding in in_force(subject).findings)
    if isinstance(started, Refusal) and is_refused:
        yield subject.unverifiable(_FACT, "", "the kubelet does not take its files")
    elif isinstance(started, Refusal):
        yield _not_started(subject, started)
    else:
        yield _started(subject, known, is_refused=is_refused)
        yield from (_answer(subject, known, file) for file in _FILES)
        return
    for file in _FILES:
        path = find_sources(subject).state(file.name)
        yield subject.unverifiable(file.fact, path, "the kubelet does not start anyway")


def _not_started(subject: Subject, refusal: Refusal) -> Answer:
    """CP829: in the words that will stand in its log."""
    read = find_sources(subject)
    where = subject.place(read.paths[-1]) if read.paths else read.place(subject.root)
    finding = diagnose("CP829", where, problem=refusal.text, hint=hint_for(refusal.text))
    return subject.answered(_FACT, finding, observed=refusal.text)


def _started(subject: Subject, known: Starter, *, is_refused: bool) -> Answer:
    if IN_FORCE not in known.configs:
        reason = "its files and flags are not as planned, which is told apart"
        return subject.unverifiable(_FACT, "", reason)
    started = known.start(IN_FORCE)
    if isinstance(started, Refusal):
        if is_refused:
            return subject.unverifiable(_FACT, "", "the kubelet does not take its files")
        return _not_started(subject, started)
    read = find_sources(subject)
    if not read.paths and read.command is None:
        reason = "no file of the kubelet is here, and no command line"
        return subject.unverifiable(_FACT, "", reason)
    if read.unseen:
        return subject.unverifiable(_FACT, "", read.unseen)
    return subject.held(_FACT, (*read.paths, "")[0])


def _answer(subject: Subject, known: Starter, file: _File) -> Answer:
    fact, path = file.fact, find_sources(subject).state(file.name)
    text = subject.root.read(path)
    if text is None and _runs_without(subject, path):
        return subject.differs(
            fact,
            "CP8225",
            path,
            observed="no such file",
            expected="the file that each kubelet writes when it starts",
            file=f"/{path}",
        )
    if text is None:
        return subject.unread(fact, path, "the kubelet has not written it, or it is not here")
    if file.is_of_memory and not known.has_memory:
        return subject.unverifiable(fact, path, "the memory of the NUMA nodes is not here")
    started = known.start(PLANNED, file.node(text))
    if isinstance(started, Refusal):
        return _refused(subject, known, file, text, started)
    if twice := _given_twice(started):
        return subject.differs(
            fact, "CP826", path, observed=twice, expected="", file=f"/{path}", problem=twice
        )
    return subject.held(fact, path)


def _runs_without(subject: Subject, path: str) -> bool:
    """Whether a kubelet runs that has lost the file; a copy must have the other one to tell."""
    command = find_sources(subject).command
    if command is None or command.process is None or subject.root.refused:
        return False
    others = [find_sources(subject).state(file.name) for file in _FILES]
    is_known = subject.root.is_running and all(map(subject.root.covers, others))
    return is_known or any(map(subject.root.is_file, others))


def _refused(subject: Subject, known: Starter, file: _File, text: str, refusal: Refusal) -> Answer:
    """CP825, or CP826 where the unit of the kubelet removes the file before it starts."""
    fact, path = file.fact, find_sources(subject).state(file.name)
    problem = refusal.text.partition(", please drain")[0]
    if subject.expected.platform.removes_state_files:
        problem = f"it is that of a kubelet with other settings ({problem})"
        code = "CP826"
    else:
        code = "CP825"
    is_now = IN_FORCE in known.configs and isinstance(
        known.start(IN_FORCE, file.node(text)), Refusal
    )
    return subject.differs(
        fact,
        code,
        path,
        observed=problem,
        expected="",
        heals=Heals.RESTART,
        when="at its next start" if is_now else "with the planned configuration",
        file=f"/{path}",
        problem=problem,
    )


def _given_twice(kubelet: Kubelet) -> str:
    """The first two containers with a CPU in common, which the kubelet does not look for."""
    taken: list[tuple[str, int]] = []
    for pod, containers in sorted(kubelet.cpus.state.entries.items()):
        for container, cpus in sorted(containers.items()):
            name = f"container {container} of pod {pod}"
            for other, theirs in taken:
                if cpus & theirs:
                    return f"{other} and {name} both have CPUs {to_text(cpus & theirs)}"
            taken.append((name, cpus))
    return ""

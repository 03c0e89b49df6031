"""The kubelet's state files: what its next start says of them, and whether they contradict."""

from collections.abc import Iterator
from typing import NamedTuple

from cpuplan.check.kubelet.inforce import in_force
from cpuplan.check.kubelet.restart import IN_FORCE, PLANNED, Refusal, Starter, starter
from cpuplan.check.kubelet.sources import sources
from cpuplan.check.subject import Subject
from cpuplan.diagnostics import Severity, diagnose
from cpuplan.plan.expected.answer import Answer, Heals
from cpuplan.upstream.kubelet.cpumanager import state as cpu_state
from cpuplan.upstream.kubelet.kubelet import Kubelet, Node
from cpuplan.upstream.kubelet.memorymanager import state as memory_state
from cpuplan.upstream.kubernetes.bits import to_text


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
    is_refused = any(found.severity is Severity.ERROR for found in in_force(subject).findings)
    if isinstance(started, Refusal) and is_refused:
        yield subject.unverifiable(_FACT, "", "the kubelet does not take its files")
    elif isinstance(started, Refusal):
        yield _not_started(subject, started)
    else:
        yield _started(subject, known)
        yield from (_answer(subject, known, file) for file in _FILES)
        return
    for file in _FILES:
        path = sources(subject).state(file.name)
        yield subject.unverifiable(file.fact, path, "the kubelet does not start anyway")


def _not_started(subject: Subject, refusal: Refusal) -> Answer:
    """CP829: where it would start with the planned keys, what they are instead is told already."""
    read = sources(subject)
    where = subject.place(read.paths[-1]) if read.paths else read.place(subject.root)
    finding = diagnose("CP829", where, problem=refusal.text)
    return subject.answered(_FACT, finding, observed=refusal.text)


def _started(subject: Subject, known: Starter) -> Answer:
    if IN_FORCE not in known.configs or isinstance(known.start(IN_FORCE), Refusal):
        reason = "its files and flags are not as planned, which is told apart"
        return subject.unverifiable(_FACT, "", reason)
    read = sources(subject)
    if not read.paths and read.command is None:
        reason = "no file of the kubelet is here, and no command line"
        return subject.unverifiable(_FACT, "", reason)
    return subject.held(_FACT, (*read.paths, "")[0])


def _answer(subject: Subject, known: Starter, file: _File) -> Answer:
    fact, path = file.fact, sources(subject).state(file.name)
    text = subject.root.read(path)
    if text is None and _runs_without(subject, path):
        return subject.differs(
            fact,
            "CP8225",
            path,
            observed="no such file",
            expected="the file that each kubelet writes when it starts",
            heals=Heals.RESTART,
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
    command = sources(subject).command
    if command is None or command.process is None or subject.root.refused:
        return False
    others = [sources(subject).state(file.name) for file in _FILES]
    is_known = subject.root.is_running and all(map(subject.root.covers, others))
    return is_known or any(map(subject.root.is_file, others))


def _refused(subject: Subject, known: Starter, file: _File, text: str, refusal: Refusal) -> Answer:
    """CP825, or CP826 where the unit of the kubelet removes the file before it starts."""
    fact, path = file.fact, sources(subject).state(file.name)
    problem = refusal.text.partition(", please drain")[0]
    if subject.expected.platform.removes_state_files:
        problem = f"it is that of a kubelet with other settings ({problem})"
        code, heals = "CP826", Heals.RESTART
    else:
        code, heals = "CP825", Heals.RESTART
    is_now = IN_FORCE in known.configs and isinstance(
        known.start(IN_FORCE, file.node(text)), Refusal
    )
    return subject.differs(
        fact,
        code,
        path,
        observed=problem,
        expected="",
        heals=heals,
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

"""What CRI-O gave containers when it started them: sandboxes, monitors, mixed CPUs."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet, cpus_text, union
from cpuplan.check.pods.container_cpus import View, cpuset, view
from cpuplan.check.subject import Subject
from cpuplan.check.threads.tasks import threads
from cpuplan.facts.settings.crio import INFRA_CTR_CPUSET, SHARED_CPUSET
from cpuplan.plan.expected.evidence import Answer
from cpuplan.plan.setting import Setting

_MONITOR = "conmon"


def infrastructure(subject: Subject) -> Iterator[Answer]:
    """CP864: sandboxes of pods, and the monitors of containers, stay on CPUs of their own."""
    setting = subject.expected.settings.find(INFRA_CTR_CPUSET)
    if setting is None:
        return
    seen, wanted = view(subject), cpuset(subject, INFRA_CTR_CPUSET)
    places = [*_sandboxes(seen), *_monitors(subject)]
    if not places:
        yield subject.unverifiable(setting, "proc", "no sandbox and no conmon runs here")
        return
    strays = [place for place in places if not place.cpus & seen.online <= wanted]
    if not strays:
        yield subject.held(setting, places[0].path)
        return
    names = ", ".join(dict.fromkeys(place.name for place in strays))
    actual = cpus_text(union(place.cpus & seen.online for place in strays))
    who = f"{len(strays)} of {len(places)} sandboxes and monitors ({names})"
    yield _differs(subject, setting, strays[0].path, who, actual, cpus_text(wanted))


class _Place(NamedTuple):
    """Where a sandbox or a monitor may run, and the file that shows it."""

    name: str
    cpus: CpuSet
    path: str


def _sandboxes(seen: View) -> Iterator[_Place]:
    """Their control groups, and their threads, which may lie within."""
    for container in seen.containers:
        if container.is_pause:
            inside = union(task.allowed for task in container.tasks)
            path = f"proc/{container.tasks[0].pid}/status"
            if container.cpus and not container.cpus <= inside:
                path = f"{seen.tree.folder(container.container.path)}/cpuset.cpus"
            yield _Place(container.tasks[0].name, container.cpus | inside, path)


def _monitors(subject: Subject) -> Iterator[_Place]:
    for task in threads(subject).user():
        if task.name == _MONITOR:
            yield _Place(task.name, task.allowed, f"proc/{task.pid}/status")


def mixed(subject: Subject) -> Iterator[Answer]:
    """CP864: containers were told the exclusive and the shared CPUs that they have now."""
    seen = view(subject)
    setting = subject.expected.settings.find(SHARED_CPUSET)
    shared = cpuset(subject, SHARED_CPUSET)
    answers: list[Answer] = []
    for pair in seen.pairs:
        told = seen.mixed.get(pair.running.container.path)
        if told is None:
            continue
        about = setting or "shared CPUs of containers"
        path = f"proc/{pair.running.tasks[0].pid}/environ"
        if told.shared != shared:
            actual, wanted = _texts(told.shared), _texts(shared)
            answers.append(_differs(subject, about, path, pair.described, actual, wanted))
        elif told.exclusive != pair.exclusive:
            actual, wanted = cpus_text(told.exclusive), cpus_text(pair.exclusive)
            answers.append(_differs(subject, about, path, pair.described, actual, wanted))
        else:
            answers.append(subject.held(about, path))
    yield from _once(answers)


def _texts(shared: CpuSet) -> str:
    return f"shared {cpus_text(shared)}" if shared else "no shared CPUs"


def _once(answers: Iterable[Answer]) -> Iterator[Answer]:
    """The findings; of containers that hold, the first one if that is all."""
    listed = list(answers)
    findings = [answer for answer in listed if answer.finding]
    yield from findings or listed[:1]


def _differs(
    subject: Subject, about: Setting | str, path: str, who: str, actual: str, wanted: str
) -> Answer:
    return subject.differs(about, "CP864", path, observed=actual, expected=wanted, who=who)

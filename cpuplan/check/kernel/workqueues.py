"""Work of the kernel that is bound to no CPU: the mask of all of it, and those of single queues."""

from collections.abc import Iterator

from cpuplan.base.cpuset import CpuSet, cpus_text
from cpuplan.check.evidence import read
from cpuplan.check.kernel import line
from cpuplan.check.kernel.said import CMDLINE
from cpuplan.check.subject import Subject
from cpuplan.check.values import shown
from cpuplan.components.derived import ISOLATED, ONLINE, UNBOUND
from cpuplan.components.host import workqueue
from cpuplan.plan.expected.answer import Answer, Heals
from cpuplan.plan.setting import Form, Setting

_FOLDER = "sys/devices/virtual/workqueue"
_MASK = f"{_FOLDER}/cpumask"
_FACT = "CPUs of unbound work"


def masks(subject: Subject) -> Iterator[Answer]:
    """The mask of all unbound work, as planned or as the boot arguments make it."""
    planned = subject.expected.settings.of(workqueue.NAME)
    for setting in planned:
        path = setting.key.lstrip("/")
        wanted = setting.value if isinstance(setting.value, CpuSet) else CpuSet()
        yield _answer(subject, setting, path, wanted)
    if not planned and subject.expected.cpus(ISOLATED):
        answer = _answer(subject, _FACT, _MASK, subject.expected.cpus(UNBOUND))
        reason = line.unbooted(subject, "nohz_full", "isolcpus") if answer.finding else ""
        yield subject.unverifiable(_FACT, CMDLINE, reason) if reason else answer
    yield from _single(subject)


def _answer(subject: Subject, about: Setting | str, path: str, wanted: CpuSet) -> Answer:
    """Held where no CPU beyond `wanted` takes part; others may narrow it further."""
    cpus = _mask(subject, path)
    if cpus is None:
        return subject.unverifiable(about, path, "there is no mask here")
    online = subject.expected.cpus(ONLINE)
    if cpus and not (cpus & online) - wanted:
        answer = subject.held(about, path)
        return answer._replace(expected=str(wanted), observed=str(cpus))
    return subject.differs(
        about,
        "CP8203",
        path,
        observed=shown(cpus) or "empty",
        expected=str(wanted),
        heals=Heals.LIVE,
        key=f"/{path}",
    )


def _mask(subject: Subject, path: str) -> CpuSet | None:
    text = subject.root.read(path)
    try:
        value = None if text is None else read(Form.MASK, text)
    except ValueError:
        return None
    return value if isinstance(value, CpuSet) else None


def _single(subject: Subject) -> Iterator[Answer]:
    """Masks of single queues, such as writeback: somebody chose isolated CPUs.

    A queue runs where its mask and the one of all work meet, so that all CPUs is no choice
    (kernel/workqueue.c, wqattrs_actualize_cpumask).
    """
    isolated, online = subject.expected.cpus(ISOLATED), subject.expected.cpus(ONLINE)
    chosen = {}
    for name in subject.root.names(_FOLDER) if isolated else ():
        cpus = _mask(subject, f"{_FOLDER}/{name}/cpumask")
        if cpus is not None and not online <= cpus and cpus & isolated & online:
            chosen[name] = cpus & isolated
    for name, cpus in chosen.items():
        yield subject.differs(
            f"workqueue {name}",
            "CP8204",
            f"{_FOLDER}/{name}/cpumask",
            observed=cpus_text(cpus),
            expected=str(online - isolated),
            heals=Heals.LIVE,
            key=f"/{_FOLDER}/{name}/cpumask",
        )

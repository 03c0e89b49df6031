"""The CPUs of the node: present as in the inventory, online as in the plan."""

import re
from collections.abc import Iterator

from cpuplan.base.cpuset import CpuSet
from cpuplan.check.kernel.said import said
from cpuplan.check.machine.files import SYSTEM, cpu_file
from cpuplan.check.subject import Subject
from cpuplan.components.derived import ONLINE
from cpuplan.plan.expected.answer import Answer, Heals

_PRESENT = "machine present CPUs"
_ONLINE = "machine online CPUs"


def is_another(subject: Subject) -> bool:
    """Whether the node has other CPUs than the inventory, so that nothing else needs to be said."""
    present = cpu_file(subject, "present") or cpu_file(subject, "online")
    topology = subject.expected.topology
    return present is not None and present != topology.online | topology.offline


def cpus(subject: Subject) -> Iterator[Answer]:
    """Present and possible CPUs as in the inventory, online and offline ones as in the plan."""
    online = cpu_file(subject, "online")
    if online is None:
        if not subject.root.refused:
            path = f"{SYSTEM}/online"
            yield subject.differs(
                _ONLINE,
                "CP801",
                path,
                observed="no such file",
                expected=str(subject.expected.cpus(ONLINE)),
                path=subject.root.shown(path),
            )
        return
    yield from _present(subject, online)
    if not is_another(subject):
        yield from _online(subject, online)


def _present(subject: Subject, online: CpuSet) -> Iterator[Answer]:
    topology = subject.expected.topology
    wanted = topology.online | topology.offline
    listed = cpu_file(subject, "present")
    path = f"{SYSTEM}/present" if listed is not None else f"{SYSTEM}/online"
    present = online if listed is None else listed
    if present != wanted:
        yield subject.differs(
            _PRESENT,
            "CP802",
            path,
            observed=str(present),
            expected=str(wanted),
            hardware=subject.expected.hardware,
        )
        return
    yield subject.held(_PRESENT, path)._replace(expected=str(wanted), observed=str(present))
    possible, fact = cpu_file(subject, "possible"), "machine possible CPUs"
    if possible is None:
        yield subject.unverifiable(fact, f"{SYSTEM}/possible", "there is no such file here")
    elif wanted <= possible:
        yield subject.held(fact, f"{SYSTEM}/possible")
    else:
        path = f"{SYSTEM}/possible"
        yield subject.differs(
            fact,
            "CP818",
            path,
            observed=str(possible),
            expected=str(wanted),
            heals=Heals.REBOOT,
            hardware=subject.expected.hardware,
            differences=f"the kernel allows CPUs {possible}, and the machine has {wanted}",
        )


def _online(subject: Subject, online: CpuSet) -> Iterator[Answer]:
    wanted = subject.expected.cpus(ONLINE)
    path = f"{SYSTEM}/online"
    if online != wanted:
        yield subject.differs(
            _ONLINE,
            "CP803",
            path,
            observed=str(online),
            expected=str(wanted),
            heals=Heals.LIVE,
            said=_said(subject, wanted - online),
        )
        return
    yield subject.held(_ONLINE, path)._replace(expected=str(wanted), observed=str(online))
    topology = subject.expected.topology
    offline, path = cpu_file(subject, "offline"), f"{SYSTEM}/offline"
    known = topology.online | topology.offline
    fact, rest = "machine offline CPUs", known - wanted
    if offline is None:
        yield subject.unverifiable(fact, path, "there is no such file here")
    elif offline & known == rest:
        yield subject.held(fact, path)._replace(expected=str(rest), observed=str(offline))
        yield from _each(subject, known, wanted)
    else:
        yield subject.differs(
            fact,
            "CP803",
            path,
            observed=f"{online - offline}",
            expected=str(wanted),
            heals=Heals.LIVE,
            said="",
        )


def _each(subject: Subject, known: CpuSet, wanted: CpuSet) -> Iterator[Answer]:
    """What each CPU's own file says; the first CPU of most machines has none."""
    paths = {cpu: f"{SYSTEM}/cpu{cpu}/online" for cpu in known}
    words = {cpu: (subject.root.read(path) or "").strip() for cpu, path in paths.items()}
    others = [cpu for cpu, word in words.items() if word == ("0" if cpu in wanted else "1")]
    for cpu in others[:1]:
        online = (wanted | CpuSet(others)) - (wanted & CpuSet(others))
        yield subject.differs(
            _ONLINE,
            "CP803",
            paths[cpu],
            observed=str(online),
            expected=str(wanted),
            heals=Heals.LIVE,
            said="",
        )


def _said(subject: Subject, missing: CpuSet) -> str:
    """The kernel's words on the first CPU that is not online."""
    log = said(subject).log
    numbers = re.compile(rf"CPU ?({'|'.join(map(str, missing))})(?!\d)")
    lines = [text for text in log.cpus if numbers.search(text)] if log and missing else []
    return "".join(f"; the kernel said: {text}" for text in lines[:1])

"""One machine or another: all that the inventory says of it, and one finding for what differs."""

from collections.abc import Iterator

from cpuplan.base.cpuset import CpuSet
from cpuplan.check.machine import layout, processor
from cpuplan.check.machine.files import SYSTEM, cpu_file
from cpuplan.check.machine.layout import Look
from cpuplan.check.machine.online import is_another
from cpuplan.check.subject import Subject
from cpuplan.components.derived import ONLINE
from cpuplan.plan.expected.answer import Answer

_SIBLINGS = "machine siblings"


def machine(subject: Subject) -> Iterator[Answer]:
    """Groups of CPUs, caches, NUMA nodes and the model, as in the inventory."""
    if is_another(subject):
        return  # said of its CPUs: what follows from another machine is no finding of its own
    online = cpu_file(subject, "online") or subject.expected.cpus(ONLINE)
    found = [*layout.looks(subject, online), *processor.looks(subject)]
    for look in found:
        if look.problem:
            tell = subject.unshown if look.is_unplanned else subject.unverifiable
            yield tell(look.fact, look.path, look.problem)
        elif not look.difference:
            yield subject.held(look.fact, look.path)
    different = [look for look in found if look.difference]
    if [look.fact for look in different] == [_SIBLINGS]:
        yield _other_siblings(subject, different[0], online)
    elif different:
        yield from _differences(subject, different)


def _other_siblings(subject: Subject, look: Look, online: CpuSet) -> Answer:
    """CP804: the first core whose siblings differ; the rest follow from the same cause."""
    folder = look.path.removeprefix(f"{SYSTEM}/cpu").partition("/")[0]
    cpu = int(folder)
    siblings = cpu_file(subject, look.path.removeprefix(f"{SYSTEM}/"))
    wanted = subject.expected.topology.siblings(cpu) & online
    found = str(siblings)
    return subject.differs(
        look.fact, "CP804", look.path, observed=found, expected=str(wanted), cpu=cpu
    )


def _differences(subject: Subject, different: list[Look]) -> Iterator[Answer]:
    """One finding: a setting of the firmware, or another machine, changes several at once."""
    text = "; ".join(look.difference for look in different)
    first = subject.differs(
        different[0].fact,
        "CP818",
        different[0].path,
        observed=text,
        expected=f"hardware {subject.expected.hardware}",
        hardware=subject.expected.hardware,
        differences=text,
    )
    yield first
    for look in different[1:]:
        path = subject.root.shown(look.path)
        yield first._replace(fact=look.fact, evidence=path, observed=look.difference, finding=None)

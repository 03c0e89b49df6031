"""irqbalance keeps to the CPUs that it may use."""

from collections.abc import Iterator
from typing import NamedTuple

from cpuplan.check.interrupts import promised, seen
from cpuplan.check.services import programs
from cpuplan.check.subject import Subject
from cpuplan.check.values import shown
from cpuplan.components.host import irqbalance
from cpuplan.components.host.irqbalance import LIST, MASK
from cpuplan.cpuset import CpuSet
from cpuplan.expected.answer import Answer
from cpuplan.setting import Setting

PROGRAM = "irqbalance"
UNIT = f"{PROGRAM}.service"
_NOT_SHOWN = "the processes of the node are not shown here"


class _Wish(NamedTuple):
    """What irqbalance must leave alone, and whether that is all that it may."""

    about: Setting | str
    cpus: CpuSet
    is_exact: bool
    setting: Setting

    def is_met_by(self, variables: dict[str, str]) -> bool:
        """A mask that is not empty, zeros included, overrides the list (classify.c)."""
        masked, listed = variables.get(MASK, ""), variables.get(LIST, "")
        banned = seen.mask(masked) if masked else seen.cpus(listed)
        if self.is_exact:
            return not masked and banned == self.cpus
        return banned is not None and self.cpus <= banned


def _wish(subject: Subject) -> _Wish | None:
    for setting in subject.expected.settings.of(irqbalance.NAME):
        if isinstance(setting.value, CpuSet):
            return _Wish(setting, setting.value, True, setting)
    promise = promised.of(subject.expected)
    if promise and promise.has_default:
        return _Wish("CPUs of irqbalance", promise.cpus, False, promise.setting)
    return None


def environment(subject: Subject) -> Iterator[Answer]:
    """CP875 for each process that may use other CPUs; irqbalance that does not run moves nothing.

    The environment of the process counts, and not its file: CRI-O rewrites that for pods.
    """
    wish = _wish(subject)
    if wish is None:
        return
    numbers = programs.of(subject).get(PROGRAM, [])
    for number in numbers:
        yield _of_process(subject, wish, f"proc/{number}/environ")
    if numbers:
        return
    if programs.are_known(subject):
        yield subject.held(wish.about, "proc")
    else:
        yield subject.unverifiable(wish.about, "proc", _NOT_SHOWN)


def _of_process(subject: Subject, wish: _Wish, path: str) -> Answer:
    text = subject.root.read(path)
    if text is None:
        return subject.unverifiable(wish.about, path, "its environment cannot be read")
    pairs = (item.partition("=") for item in text.replace("\n", "\0").split("\0"))
    variables = {name: value for name, _, value in pairs}
    if wish.is_met_by(variables):
        return subject.held(wish.about, path)
    given = [f"{key}={variables[key]}" for key in (MASK, LIST) if key in variables]
    return subject.differs(
        wish.about,
        "CP875",
        path,
        observed=", ".join(given) or "neither",
        expected=f"{LIST}={shown(wish.cpus)}" + (" alone" if wish.is_exact else " or more"),
        labels=subject.labels(wish.setting.reasons),
    )

"""irqbalance keeps to the CPUs that it may use."""

from collections.abc import Iterator
from typing import NamedTuple

from cpuplan.base.cpuset import EMPTY, CpuSet, union
from cpuplan.check.interrupts import affinity, irqs
from cpuplan.check.processes import execution
from cpuplan.check.processes import variables as execution_variables
from cpuplan.check.services.units import unit_files
from cpuplan.check.subject import Subject, shown
from cpuplan.check.threads import tasks
from cpuplan.components.host import irqbalance
from cpuplan.components.host.irqbalance import LIST, MASK
from cpuplan.facts.settings.kernel import NOHZ_FULL
from cpuplan.plan.expected.evidence import Answer
from cpuplan.plan.setting import Setting

PROGRAM = "irqbalance"
UNIT = f"{PROGRAM}.service"
_BY_ITSELF = tuple(f"sys/devices/system/cpu/{name}" for name in ("isolated", NOHZ_FULL.key))
#: Where distributions keep its variables, for copies without its unit.
_FILES = ("etc/default/irqbalance", "etc/sysconfig/irqbalance")
_NOT_SHOWN = "the processes of the node are not shown here"


class _Wish(NamedTuple):
    """What irqbalance must leave alone, and whether that is all that it may."""

    about: Setting | str
    cpus: CpuSet
    is_exact: bool
    setting: Setting
    #: What irqbalance leaves alone where nothing is said: isolated and tickless CPUs.
    by_itself: CpuSet

    def is_met_by(self, variables: dict[str, str]) -> bool:
        """A mask that is not empty, zeros included, overrides the list (classify.c)."""
        masked, listed = variables.get(MASK, ""), variables.get(LIST, "")
        banned = irqs.cpus_of_mask(masked) if masked else irqs.cpus_of_list(listed)
        if self.is_exact:
            return not masked and banned == self.cpus
        if not masked and LIST not in variables:
            banned = self.by_itself
        return banned is not None and self.cpus <= banned


def _wish(subject: Subject) -> _Wish | None:
    for setting in subject.expected.settings.of(irqbalance.NAME):
        if isinstance(setting.value, CpuSet):
            return _Wish(setting, setting.value, True, setting, EMPTY)
    promise = affinity.promise_of(subject.expected)
    if promise and promise.has_default:
        own = union(irqs.cpus_of_list(subject.root.read(path)) or EMPTY for path in _BY_ITSELF)
        return _Wish("CPUs of irqbalance", promise.cpus, False, promise.setting, own)
    return None


def environment(subject: Subject) -> Iterator[Answer]:
    """CP875 for each process that may use other CPUs; irqbalance that does not run moves nothing.

    The environment of the process counts, and not its file: CRI-O rewrites that for pods.
    """
    wish = _wish(subject)
    if wish is None:
        return
    numbers = tasks.running_programs(subject).get(PROGRAM, [])
    for number in numbers:
        yield _of_process(subject, wish, f"proc/{number}/environ")
    if numbers:
        return
    if tasks.are_programs_known(subject):
        yield subject.held(wish.about, "proc")
    else:
        yield subject.unverifiable(wish.about, "proc", _NOT_SHOWN)


def _of_process(subject: Subject, wish: _Wish, path: str) -> Answer:
    text = subject.root.read(path)
    if text is None:
        return _of_files(subject, wish, path)
    pairs = (item.partition("=") for item in text.replace("\n", "\0").split("\0"))
    variables = {name: value for name, _, value in pairs}
    return _judged(subject, wish, path, variables)


def _of_files(subject: Subject, wish: _Wish, path: str) -> Answer:
    """What its files say is no proof of what it was started with, unless that is wrong too."""
    unit = execution(unit_files(subject).lines(UNIT), subject.root.read)
    existing = [file for file in _FILES if subject.root.is_file(file)][:1]
    variables = dict(unit.environment) if unit else {}
    for path_of_file in () if unit else existing:
        variables = execution_variables(subject.root.read(path_of_file) or "")
    given = {key for key in (MASK, LIST) if variables.get(key)}
    if not given or wish.is_met_by(variables):
        return subject.unread(wish.about, path, "its environment cannot be read")
    return _judged(subject, wish, unit.line.path if unit else existing[0], variables)


def _judged(subject: Subject, wish: _Wish, path: str, variables: dict[str, str]) -> Answer:
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

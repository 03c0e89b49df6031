"""Boot arguments: given once, with the planned value, and by nobody else to another end."""

from collections.abc import Iterator, Sequence

from cpuplan.base.files import Unreadable
from cpuplan.base.text import joined
from cpuplan.check.kernel import nextboot
from cpuplan.check.kernel.said import CMDLINE
from cpuplan.check.subject import Subject, name
from cpuplan.components import kernel
from cpuplan.components.cmdline import Occurrence, canonical, effective, lists, same
from cpuplan.diagnostics import Severity
from cpuplan.diagnostics.source import Position
from cpuplan.plan.expected.answer import Answer
from cpuplan.plan.setting import Setting

#: Characters; the longest that an architecture takes is 4,096 (COMMAND_LINE_SIZE).
_MAX_LINE = 65_536

Times = dict[str, list[Occurrence]]


def read(subject: Subject) -> Times | None:
    """The arguments of the running kernel by canonical name; None where they cannot be read."""
    if "boot arguments" not in subject.cache:
        line = subject.root.read(CMDLINE)
        if line is not None and len(line) > _MAX_LINE:
            problem = Unreadable("it is longer than any kernel's command line")
            subject.root.refuse(CMDLINE, problem)
            line = None
        subject.cache["boot arguments"] = None if line is None else _times(line)
    found: Times | None = subject.cache["boot arguments"]
    return found


def _times(line: str) -> Times:
    return {canonical(key): times for key, times in kernel.occurrences(line).items()}


def arguments(subject: Subject) -> Iterator[Answer]:
    """Every planned argument is on the command line, once, with its value."""
    planned = subject.expected.settings.of(kernel.NAME)
    given = read(subject)
    if given is None:
        yield from _unread(subject, planned)
        return
    missing = []
    for setting in planned:
        times = given.get(canonical(setting.key))
        if times:
            yield _argument(subject, setting, times)
        else:
            missing.append(setting)
    if missing:
        yield from _missing(subject, missing)


def _unread(subject: Subject, planned: Sequence[Setting]) -> Iterator[Answer]:
    if not subject.root.refused:
        yield subject.differs(
            "boot arguments",
            "CP810",
            CMDLINE,
            observed="not there",
            expected="the command line",
            path=subject.root.shown(CMDLINE),
        )
    for setting in planned:
        yield subject.unverifiable(setting, CMDLINE, "the command line cannot be read")


def _missing(subject: Subject, missing: Sequence[Setting]) -> Iterator[Answer]:
    """One finding for all: before the first reboot it is the whole line."""
    words = " ".join(map(kernel.argument, missing))
    first = subject.differs(
        missing[0],
        "CP811",
        CMDLINE,
        observed="missing",
        expected=words,
        labels=subject.all_labels(missing),
        arguments=words,
        next=_at_next_boot(subject, missing),
    )
    yield first
    for setting in missing[1:]:
        wanted = kernel.argument(setting)
        yield first._replace(fact=name(setting), expected=wanted, finding=None)


def _at_next_boot(subject: Subject, missing: Sequence[Setting]) -> str:
    """Whether the files of the boot loader have what the running kernel lacks."""
    lacking = nextboot.lacking(subject)
    if lacking is None:
        return ""
    keys = {setting.key for setting in lacking.settings}
    if any(setting.key in keys for setting in missing):
        return f"; /{lacking.source.path} does not have them either"
    path = lacking.source.path
    if path.startswith("etc/"):
        return f"; /{path} has them: run what makes the boot menu, then reboot"
    return f"; /{path} has them, and only a reboot is left"


def _argument(subject: Subject, setting: Setting, times: Sequence[Occurrence]) -> Answer:
    last, value = times[-1], effective(times)
    path = subject.root.shown(CMDLINE)
    place = Position(path, 1, last.column, last.column + len(last.text))
    texts = joined(list(dict.fromkeys(each.text for each in times)))
    wanted = kernel.argument(setting)
    if not same(setting.key, value, setting.value):
        shown = last.text if value == last.value else texts
        return subject.differs(setting, "CP812", place, observed=shown, expected=wanted)
    if len(times) <= len(lists(setting.value)):
        return subject.held(setting, CMDLINE)
    answer = subject.differs(
        setting,
        "CP813",
        place,
        observed=texts,
        expected=wanted,
        key=setting.key,
        count=len(times),
        values=texts,
    )
    if holds(setting, times) and answer.finding:
        # The same twice does no harm by itself: two programs give the node its arguments.
        return answer._replace(finding=answer.finding._replace(severity=Severity.WARNING))
    return answer


def holds(setting: Setting, times: Sequence[Occurrence]) -> bool:
    """Whether every occurrence has the value, or a part of it."""
    wanted = lists(setting.value)
    return all(any(same(setting.key, each.value, one) for one in wanted) for each in times)


def unbooted(subject: Subject, *keys: str) -> str:
    """Of the arguments `keys`, those that the kernel has not as planned, in words; or "".

    It is why what follows from them is otherwise, which is no second finding.
    """
    planned = (one for one in subject.expected.settings.of(kernel.NAME) if one.key in keys)
    wrong = [one.key for one in planned if not as_planned(subject, one)]
    return f"the kernel was not booted with {joined(wrong)} as planned" if wrong else ""


def as_planned(subject: Subject, setting: Setting) -> bool:
    """Whether `arguments` says nothing of an argument: a wrong one has the wrong effect too."""
    given = read(subject)
    if given is None:
        return True
    times = given.get(canonical(setting.key), ())
    is_same = bool(times) and same(setting.key, effective(times), setting.value)
    return is_same and holds(setting, times)

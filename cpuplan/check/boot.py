"""Boot arguments: given once, with the planned value, and taken by the kernel."""

from collections.abc import Iterator, Sequence

from cpuplan.check.machine import SYSTEM, cpu_file
from cpuplan.check.subject import Subject
from cpuplan.components import kernel
from cpuplan.components.cmdline import Occurrence, canonical, effective, lists
from cpuplan.cpuset import EMPTY
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.files import Unreadable
from cpuplan.setting import Setting
from cpuplan.source import Position
from cpuplan.text import joined

CMDLINE = "proc/cmdline"
#: Characters; the longest that an architecture takes is 4,096 (COMMAND_LINE_SIZE).
_MAX_LINE = 65_536


def arguments(subject: Subject) -> Iterator[Diagnostic]:
    """Every planned argument is on the command line, once, with its value."""
    line = subject.root.read(CMDLINE)
    path = subject.root.shown(CMDLINE)
    if line is not None and len(line) > _MAX_LINE:
        subject.root.refuse(CMDLINE, Unreadable("it is longer than any kernel's command line"))
        return
    if line is None:
        if not subject.root.refused:
            yield diagnose("CP810", path=path)
        return
    found = {canonical(key): times for key, times in kernel.occurrences(line).items()}
    missing = []
    for setting in subject.plan.settings.of(kernel.NAME):
        if times := found.get(canonical(setting.key)):
            yield from _argument(subject, setting, times, path)
        else:
            missing.append(setting)
    if missing:
        # One finding for all: before the first reboot it is the whole line.
        words = " ".join(map(kernel.argument, missing))
        yield diagnose(
            "CP811", Position(path, 1, 1), labels=subject.all_labels(missing), arguments=words
        )


def _argument(
    subject: Subject, setting: Setting, found: Sequence[Occurrence], path: str
) -> Iterator[Diagnostic]:
    wanted = kernel.argument(setting)
    labels = subject.labels(setting.reasons)
    last = found[-1]
    place = Position(path, 1, last.column, last.column + len(last.text))
    values = joined(list(dict.fromkeys(each.text for each in found)))
    if (taken := effective(found)) != setting.value:
        shown = last.text if taken == last.value else values
        yield diagnose("CP812", place, labels=labels, found=shown, wanted=wanted)
    elif not all(each.value in lists(setting.value) for each in found):
        yield diagnose(
            "CP813", place, labels=labels, key=setting.key, count=len(found), values=values
        )


def _is_as_planned(subject: Subject, key: str) -> bool:
    """Whether `arguments` has nothing to say of `key`: an argument that is wrong has the wrong
    effect too.
    """
    planned = next(
        (each.value for each in subject.plan.settings.of(kernel.NAME) if each.key == key),
        None,
    )
    found = kernel.occurrences(subject.root.read(CMDLINE) or "").get(key, ())
    return planned is None or (bool(found) and all(each.value in lists(planned) for each in found))


def effects(subject: Subject) -> Iterator[Diagnostic]:
    """What the kernel made of them: it drops a whole list for one CPU that it does not have."""
    plan = subject.plan
    ticking = (
        plan.pool("isolated").cpus | plan.pool("isolcpus").cpus
        if plan.spec.isolation.nohz_full
        else EMPTY
    )
    effects = (
        ("isolated", "isolcpus", kernel.without_balancing(plan)),
        ("nohz_full", "nohz_full", ticking),
    )
    for name, key, expected in effects:
        found = cpu_file(subject, name)
        if found is None:
            if expected and not subject.root.refused:
                yield diagnose(
                    "CP806", path=subject.root.shown(f"{SYSTEM}/{name}"), wanted=expected
                )
        elif found != expected and _is_as_planned(subject, key):
            place = Position(subject.root.shown(f"{SYSTEM}/{name}"), 1, 1)
            yield diagnose(
                "CP814", place, file=name, found=found or "empty", wanted=expected or "empty"
            )

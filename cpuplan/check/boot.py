"""Boot arguments: given once, with the planned value, and accepted by the kernel."""

from collections.abc import Iterator, Sequence

from cpuplan.check.machine import SYSTEM, cpu_file
from cpuplan.check.subject import Subject
from cpuplan.components import kernel
from cpuplan.components.cmdline import Occurrence, canonical, effective, lists
from cpuplan.cpuset import CpuSet, union
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.files import Unreadable
from cpuplan.setting import Setting, Value, cpu_sets
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
    arguments = {canonical(key): times for key, times in kernel.occurrences(line).items()}
    missing = []
    for setting in subject.plan.settings.of(kernel.NAME):
        times = arguments.get(canonical(setting.key))
        if times:
            yield from _argument(subject, setting, times, path)
        else:
            missing.append(setting)
    if missing:
        # One finding for all: before the first reboot it is the whole line.
        words = " ".join(map(kernel.argument, missing))
        labels = subject.all_labels(missing)
        yield diagnose("CP811", Position(path, 1, 1), labels=labels, arguments=words)


def _argument(
    subject: Subject, setting: Setting, times: Sequence[Occurrence], path: str
) -> Iterator[Diagnostic]:
    labels = subject.labels(setting.reasons)
    last, value = times[-1], effective(times)
    place = Position(path, 1, last.column, last.column + len(last.text))
    texts = joined(list(dict.fromkeys(each.text for each in times)))
    if value != setting.value:
        shown = last.text if value == last.value else texts
        wanted = kernel.argument(setting)
        yield diagnose("CP812", place, labels=labels, found=shown, wanted=wanted)
    elif not _holds(setting, times):
        count = len(times)
        yield diagnose("CP813", place, labels=labels, key=setting.key, count=count, values=texts)


def _holds(setting: Setting, times: Sequence[Occurrence]) -> bool:
    """Whether every occurrence has the value, or a part of it."""
    return all(each.value in lists(setting.value) for each in times)


def _is_as_planned(subject: Subject, key: str) -> bool:
    """Whether `arguments` reports nothing on `key`: a wrong argument has the wrong effect too."""
    times = kernel.occurrences(subject.root.read(CMDLINE) or "").get(key, ())
    for setting in subject.plan.settings.of(kernel.NAME):
        if setting.key == key:
            return bool(times) and _holds(setting, times)
    return True


def _without_balancing(value: Value) -> CpuSet:
    """The CPUs of the lists of `isolcpus=` that have the flag `domain`."""
    flagged = (part for part in lists(value) if isinstance(part, tuple) and "domain" in part)
    return union(cpu_sets(tuple(flagged)))


def effects(subject: Subject) -> Iterator[Diagnostic]:
    """The effect of the arguments: the kernel drops a whole list for one CPU that it lacks."""
    planned = subject.plan.settings.values(kernel.NAME)
    effects = (
        ("isolated", "isolcpus", _without_balancing(planned.get("isolcpus", ()))),
        ("nohz_full", "nohz_full", union(cpu_sets(planned.get("nohz_full", ())))),
    )
    for name, key, wanted in effects:
        path = f"{SYSTEM}/{name}"
        cpus = cpu_file(subject, name)
        if cpus is None:
            if wanted and not subject.root.refused:
                yield diagnose("CP806", path=subject.root.shown(path), wanted=wanted)
        elif cpus != wanted and _is_as_planned(subject, key):
            shown, expected = cpus or "empty", wanted or "empty"
            yield diagnose("CP814", subject.place(path), file=name, found=shown, wanted=expected)

"""Whether a program started before its files were written: it then runs with what they said."""

from collections.abc import Iterable, Iterator

from cpuplan.base import nodetext
from cpuplan.check.programs.command import Program
from cpuplan.check.programs.processes import Process, boot_time
from cpuplan.check.roots.root import Root
from cpuplan.check.subject import Subject
from cpuplan.plan.expected.answer import Answer, Heals

#: Times of files have fractions of a second, those of processes hundredths.
_TOLERANCE = 1.0


def younger(root: Root, process: Process, paths: Iterable[str]) -> list[str] | None:
    """The files that were written after a process started; None where the times are not known.

    A time after that of the copy itself is the copy's, or that of somebody who changed it.
    """
    captured = _captured(root)
    if process.started is None or captured is None:
        return None
    found = []
    for path in paths:
        written = root.mtime(path)
        if written is not None and process.started + _TOLERANCE < written <= captured:
            found.append(path)
    return found


def _captured(root: Root) -> float | None:
    """When /proc/uptime was read, in seconds since 1970."""
    booted, words = (
        boot_time(root.read("proc/stat") or ""),
        (root.read("proc/uptime") or "").split(),
    )
    up = nodetext.seconds(words[0]) if words else None
    return None if booted is None or up is None else booted + up


def restarted(
    subject: Subject, program: Program, process: Process | None, paths: Iterable[str]
) -> Iterator[Answer]:
    """CP827: the files may be right, and the program that runs has not read them."""
    fact = f"{program.name} has read its files"
    if process is None:
        yield subject.unverifiable(fact, "", f"no process of {program.name} is here")
        return
    status = f"proc/{process.pid}/stat"
    found = younger(subject.root, process, paths)
    if found is None:
        yield subject.unverifiable(fact, status, "times of the process and of files are not known")
    elif found:
        files = ", ".join(f"/{path}" for path in found)
        yield subject.differs(
            fact,
            "CP827",
            found[0],
            observed=f"process {process.pid} is older",
            expected="a process that started after its files were written",
            heals=Heals.RESTART,
            program=program.called,
            files=files,
        )
    else:
        yield subject.held(fact, status)

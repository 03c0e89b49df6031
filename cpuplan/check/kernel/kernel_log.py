"""What the kernel has logged since it booted, where a node or a copy of it has its log."""

import os
from typing import NamedTuple

from cpuplan.check.subject import Subject
from cpuplan.upstream.linux.evidence import Log, parse_log

CMDLINE = "proc/cmdline"
#: Of a snapshot, of a sosreport, and of distributions that keep it.
_FILES = ("cpuplan/dmesg", "sos_commands/kernel/dmesg", "var/log/dmesg")
_DEVICE = "/dev/kmsg"
#: Bytes of a message, and messages: the largest buffers have some 100,000.
_RECORD, _MOST = 8192, 200_000
#: The kernel cuts off the line that it prints (LOG_LINE_MAX less the words before it).
_SHORTEST = 200


class KernelLog(NamedTuple):
    """A log and the file that has it; without a log, why there is none."""

    path: str
    log: Log | None
    problem: str = ""


def log_of_boot(subject: Subject) -> KernelLog:
    """The log of this boot. That of another boot, or one that lost its beginning, is none."""
    return subject.once("dmesg", lambda: _find(subject))


def _find(subject: Subject) -> KernelLog:
    problem = KernelLog(_FILES[0], None, "the kernel's log is not here")
    for path, text in _texts(subject):
        log = parse_log(text)
        if not log.is_whole:
            problem = KernelLog(path, None, "the log lost its beginning")
        elif not _is_of_this_boot(subject, log):
            problem = KernelLog(path, None, "the log is that of another boot")
        else:
            return KernelLog(path, log)
    return problem


def _texts(subject: Subject) -> list[tuple[str, str]]:
    if subject.root.is_running and (text := _buffer()):
        return [(_DEVICE.lstrip("/"), text)]
    texts = ((path, subject.root.read(path)) for path in _FILES)
    return [(path, text) for path, text in texts if text]


def _is_of_this_boot(subject: Subject, log: Log) -> bool:
    """Whether the command line in the log is the running kernel's, as far as it is printed."""
    running = (subject.root.read(CMDLINE) or "").strip()
    printed = log.command_line.strip()
    if not running or not printed or running == printed:
        return True
    return len(printed) >= _SHORTEST and running.startswith(printed)


def _buffer() -> str:
    """The messages of /dev/kmsg; "" where they may not be read."""
    try:
        device = os.open(_DEVICE, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return "\n".join(_records(device))
    finally:
        os.close(device)


def _records(device: int) -> list[str]:
    """Each message without what stands before `;` and behind its own line."""
    lines: list[str] = []
    for _ in range(_MOST):
        try:
            record = os.read(device, _RECORD).decode("utf-8", "replace")
        except BrokenPipeError:
            continue  # overwritten while it was read
        except OSError:
            break
        lines.append(record.partition(";")[2].partition("\n")[0])
    return lines

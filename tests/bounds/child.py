"""A command in a process of its own, with limits of memory and processor time.

The limits are a bound of safety, and reaching one is a failure: the kernel then ends the process,
or an allocation fails. What they count does not depend on how busy the machine is.
"""

import io
import os
import resource
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

from cpuplan.cli.main import run

#: Bytes of address space more than the parent has, and seconds of the processor.
MEMORY, SECONDS = 300 << 20, 3
_PAGE = resource.getpagesize()
#: What the manual names.
ENDED = (0, 1, 2, 3)


class Ran(NamedTuple):
    """How a command ended."""

    code: int
    seconds: float
    megabytes: float
    printed: str

    @property
    def has_answered(self) -> bool:
        return self.code in ENDED and "CP1175" not in self.printed


def run_in_child(
    folder: Path, *commands: Sequence[str], memory: int = MEMORY, seconds: int = SECONDS
) -> Ran:
    """Run commands in a folder, one after the other until one ends with a bug."""
    told = folder / ".printed"
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if not child:
        os._exit(_run(folder, told, commands, memory, seconds))
    _, status, used = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    spent = used.ru_utime + used.ru_stime
    printed = told.read_text(errors="replace") if told.exists() else ""
    return Ran(code, spent, used.ru_maxrss / 1024, printed)


def _run(
    folder: Path, told: Path, commands: Sequence[Sequence[str]], memory: int, seconds: int
) -> int:
    code = 99
    printed = io.StringIO()
    try:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = str(folder / ".cache")
        os.environ["TMPDIR"] = str(folder)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * _PAGE + memory,) * 2)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        with redirect_stdout(printed), redirect_stderr(printed):
            for command in commands:
                printed.write(f"$ cpuplan {' '.join(command)}\n"[:500])
                code = run(list(command))
                if code not in ENDED:
                    break
    finally:
        told.write_text(printed.getvalue()[:20_000])
    return code


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write the files of a project."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

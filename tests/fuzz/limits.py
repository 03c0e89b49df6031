"""Where a run of the fuzzers may write, and how much it may take."""

import atexit
import os
import resource
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

SECONDS = 30  # of the processor
#: Of waiting: for a busy machine this is long, for what waits for ever it is an end.
PATIENCE = 900
MEMORY = 1 << 30  # above what the process has after its first run


class TooLong(BaseException):
    """An input that keeps the program busy; no Exception, so that nothing takes it for its own."""


@cache
def _own(process: int) -> str:
    made = tempfile.mkdtemp(prefix=f"cpuplan-fuzz-{process}-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def own_folder() -> Path:
    """A new folder that no other campaign knows, gone when this process ends."""
    return Path(tempfile.mkdtemp(dir=_own(os.getpid())))


@contextmanager
def bounded(seconds: float = SECONDS) -> Iterator[None]:
    """At most so many seconds of the processor, and MEMORY more address space than now; libFuzzer
    has limits of its own.
    """
    if signal.getsignal(signal.SIGPROF) is not signal.SIG_DFL or _has_alarm():
        yield
        return

    def stop(number: int, *_: object) -> None:
        if number == signal.SIGPROF:
            raise TooLong(f"more than {seconds} seconds of the processor")
        raise TooLong(f"waits longer than {PATIENCE} seconds")

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    signal.signal(signal.SIGPROF, stop)
    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(PATIENCE)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


def _has_alarm() -> bool:
    return signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL

"""Progress on a terminal: one line on standard error, for work that lasts longer than a second.

A timer draws it, in this thread: a thread of its own would keep processes from being forked.
"""

import io
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Any

from cpuplan.printable import printable

#: Seconds before the line is drawn, and from one drawing to the next.
_PATIENCE, _EACH = 1.0, 0.25
_CLEAR = "\r\x1b[K"


def is_wanted() -> bool:
    """Whether someone looks at standard error: a terminal that can draw, and no log of a CI job."""
    is_plain = os.environ.get("TERM", "dumb") == "dumb" or bool(os.environ.get("CI"))
    return not is_plain and sys.stderr is not None and sys.stderr.isatty()


class Line:
    """What is told of the outermost work; a `Progress`."""

    def __init__(self, is_quiet: Callable[[], bool]) -> None:
        self._is_quiet = is_quiet  # asked late: -q may come with the command
        self._depth = 0
        self._what, self._name = "", ""
        self._total = self._pos = 0
        self._since = 0.0
        self._bar: Any = None
        self._before: Any = None

    def begin(self, what: str, total: int) -> None:
        self._depth += 1
        if self._depth == 1:
            self._what, self._name, self._total, self._pos = what, "", total, 0
            self._since = monotonic()
            self._bar = None
            self._arm()

    def done(self, name: str) -> None:
        if self._depth == 1:
            self._pos += 1
            self._name = name

    def end(self) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._disarm()

    def _arm(self) -> None:
        is_main = threading.current_thread() is threading.main_thread()
        if not self._is_quiet() and is_main and hasattr(signal, "setitimer"):
            self._before = signal.signal(signal.SIGALRM, self._draw)
            signal.setitimer(signal.ITIMER_REAL, _PATIENCE, _EACH)

    def _disarm(self) -> None:
        if self._before is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before)
            self._before = None
        if self._bar is not None:
            self._bar = None
            _write(_CLEAR)

    def _draw(self, *_: object) -> None:
        """Write the line past Python's buffers, which this may have interrupted."""
        if self._bar is None:
            self._bar = self._new_bar()
        self._bar.make_step(self._pos - self._bar.pos)
        self._bar.show_eta = self._pos > 0
        elapsed = f"{monotonic() - self._since:.0f} s"
        line = "  ".join(filter(None, (self._bar.format_progress_line(), elapsed, self._name)))
        width = shutil.get_terminal_size((80, 24)).columns - 1
        _write(_CLEAR + printable(line)[:width])

    def _new_bar(self) -> Any:
        import click

        bar = click.progressbar(
            length=self._total, label=self._what, show_pos=True, width=20, file=io.StringIO()
        )
        # What was done before somebody looks counts for the time that is left.
        bar.start -= monotonic() - self._since
        bar.last_eta = bar.start
        return bar


def _write(text: str) -> None:
    with suppress(OSError, ValueError):  # the terminal is gone
        os.write(sys.stderr.fileno(), text.encode(sys.stderr.encoding or "utf-8", "replace"))

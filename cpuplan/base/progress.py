"""What is being done and what is left of it, and how a terminal shows it; no result depends on it.

A timer draws the line, in this thread: a thread of its own would keep processes from being forked.
"""

import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from time import monotonic
from typing import Any, Protocol, TypeVar

from cpuplan.base.text import printable

Piece = TypeVar("Piece")


class Progress(Protocol):
    """Someone who is told."""

    def begin(self, what: str, total: int | None) -> None:
        """Work on so many pieces begins; None for work that nobody can count."""

    def done(self, name: str) -> None:
        """A piece is done."""

    def end(self) -> None:
        """The work that began last has ended, done or not."""

    def stop(self) -> None:
        """Nothing is told any more, whatever has not ended."""


_watching: ContextVar[Progress | None] = ContextVar("watching", default=None)


@contextmanager
def watched(progress: Progress | None) -> Iterator[None]:
    """Tell of all that is done inside."""
    token = _watching.set(progress)
    try:
        yield
    finally:
        _watching.reset(token)
        if progress is not None:
            progress.stop()


@contextmanager
def stage(what: str) -> Iterator[None]:
    """Tell what is being done inside, and how long it takes; also as a decorator.

    Pieces that are counted inside are told in its place.
    """
    progress = _watching.get()
    if progress is None:
        yield
        return
    progress.begin(what, None)
    try:
        yield
    finally:
        progress.end()


def follow(
    what: str, total: int, pieces: Iterable[Piece], name: Callable[[Piece], str]
) -> Iterable[Piece]:
    """The pieces as they are, each told when the next one is asked for; nothing if nobody watches.

    What is counted inside of other counted work is not told on its own.
    """
    progress = _watching.get()
    return pieces if progress is None else _told(progress, what, total, pieces, name)


def _told(
    progress: Progress, what: str, total: int, pieces: Iterable[Piece], name: Callable[[Piece], str]
) -> Iterator[Piece]:
    progress.begin(what, total)
    try:
        for piece in pieces:
            yield piece
            progress.done(name(piece))
    finally:
        progress.end()


#: Seconds before the line is drawn, and from one drawing to the next.
_PATIENCE, _EACH = 1.0, 0.25
_CLEAR = "\r\x1b[K"


def is_wanted() -> bool:
    """Whether someone looks at standard error: a terminal that can draw, and no log of a CI job."""
    is_plain = os.environ.get("TERM", "dumb") == "dumb" or bool(os.environ.get("CI"))
    return not is_plain and sys.stderr is not None and sys.stderr.isatty()


@dataclass
class _Work:
    """What has begun, and how far it is; without a total nobody counts it."""

    what: str
    total: int | None
    since: float
    done: int = 0
    name: str = ""
    bar: Any = None


class Line:
    """What is told of the outermost work that is counted, or else of the innermost; a `Progress`.

    It is drawn when the command has lasted for a second, not each piece of its work.
    """

    def __init__(self, is_quiet: Callable[[], bool]) -> None:
        self._is_quiet = is_quiet  # asked late: -q may come with the command
        self._begun: list[_Work] = []
        self._start = monotonic()
        self._is_drawn = False
        self._before: Any = None

    def begin(self, what: str, total: int | None) -> None:
        self._begun.append(_Work(what, total, monotonic()))
        if len(self._begun) == 1:
            self._arm()

    def done(self, name: str) -> None:
        if self._begun:
            self._begun[-1].done += 1
            self._begun[-1].name = name

    def end(self) -> None:
        del self._begun[-1:]
        if not self._begun:
            self._disarm()

    def stop(self) -> None:
        self._begun = []
        self._disarm()

    def _arm(self) -> None:
        is_main = threading.current_thread() is threading.main_thread()
        if not self._is_quiet() and is_main and hasattr(signal, "setitimer"):
            first = max(_EACH, _PATIENCE - (monotonic() - self._start))
            self._before = signal.signal(signal.SIGALRM, self._draw)
            signal.setitimer(signal.ITIMER_REAL, first, _EACH)

    def _disarm(self) -> None:
        if self._before is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before)
            self._before = None
        if self._is_drawn:
            self._is_drawn = False
            _write(_CLEAR)

    def _draw(self, *_: object) -> None:
        """Write the line past Python's buffers, which this may have interrupted."""
        if not self._begun:
            return
        import shutil

        # A single piece says nothing of what is left: what it consists of may.
        counted = (work for work in self._begun if (work.total or 0) > 1)
        work = next(counted, self._begun[-1])
        elapsed = f"{monotonic() - work.since:.0f} s"
        line = "  ".join(filter(None, (_shown(work), elapsed, work.name)))
        width = shutil.get_terminal_size((80, 24)).columns - 1
        self._is_drawn = True
        _write(_CLEAR + printable(line)[:width])


def _shown(work: _Work) -> str:
    """What is done, and of how much."""
    if work.total is None:
        return work.what
    if work.bar is None:
        work.bar = _new_bar(work)
    work.bar.make_step(work.done - work.bar.pos)
    work.bar.show_eta = work.done > 0
    shown: str = work.bar.format_progress_line()
    return shown


def _new_bar(work: _Work) -> Any:
    import click

    bar: Any = click.progressbar(
        length=work.total, label=work.what, show_pos=True, width=20, file=io.StringIO()
    )
    # What was done before somebody looks counts for the time that is left.
    bar.start -= monotonic() - work.since
    bar.last_eta = bar.start
    return bar


def _write(text: str) -> None:
    with suppress(OSError, ValueError):  # the terminal is gone
        os.write(sys.stderr.fileno(), text.encode(sys.stderr.encoding or "utf-8", "replace"))

"""The line of progress, as a terminal gets it."""

import io
import os
import pty
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import TextIO

import pytest

from cpuplan.base import progress
from cpuplan.base.progress import Line, is_wanted


class Terminal:
    """A terminal as standard error, in a test itself: pytest has its own before and after."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, reader: int, stream: TextIO) -> None:
        self._monkeypatch, self._reader, self._stream = monkeypatch, reader, stream

    def use(self) -> None:
        self._monkeypatch.setattr(sys, "stderr", self._stream)

    def shown(self) -> str:
        parts = []
        try:
            while part := os.read(self._reader, 1 << 16):
                parts.append(part)
        except BlockingIOError:
            pass
        return b"".join(parts).decode()


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    reader, writer = pty.openpty()
    os.set_blocking(reader, False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(progress, "_PATIENCE", 0.2)
    monkeypatch.setattr(progress, "_EACH", 0.05)
    with os.fdopen(writer, "w") as stream:
        yield Terminal(monkeypatch, reader, stream)
    os.close(reader)


def work(line: Line, seconds: float) -> None:
    """Three of five pieces."""
    line.begin("layouts", 5)
    for name in ("lab/a", "lab/b", "lab/\x1b[31mc"):
        time.sleep(seconds / 3)
        line.done(name)
    time.sleep(seconds / 3)
    line.end()


def test_what_is_done_and_what_is_left(terminal: Terminal) -> None:
    terminal.use()
    before = signal.getsignal(signal.SIGALRM)
    work(Line(lambda: False), 0.9)
    text = terminal.shown()
    assert "layouts  [########------------]  2/5" in text
    assert "lab/b" in text
    assert "\x1b[31m" not in text
    assert text.endswith("\r\x1b[K")  # nothing of it stays
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_short_work_shows_nothing(terminal: Terminal) -> None:
    terminal.use()
    work(Line(lambda: False), 0.03)
    assert not terminal.shown()


def test_quiet(terminal: Terminal) -> None:
    terminal.use()
    work(Line(lambda: True), 0.9)
    assert not terminal.shown()


def test_work_within_work_is_a_part_of_it(terminal: Terminal) -> None:
    terminal.use()
    line = Line(lambda: False)
    line.begin("layouts", 2)
    work(line, 0.6)
    line.done("one")
    time.sleep(0.2)
    line.end()
    text = terminal.shown()
    assert "1/2" in text
    assert "/5" not in text


def test_a_single_piece_is_what_it_consists_of(terminal: Terminal) -> None:
    terminal.use()
    line = Line(lambda: False)
    line.begin("files", 1)
    work(line, 0.6)
    line.end()
    text = terminal.shown()
    assert "layouts  [########------------]  2/5" in text
    assert "files" not in text


def test_what_cannot_be_counted(terminal: Terminal) -> None:
    terminal.use()
    line = Line(lambda: False)
    line.begin("writing files", None)
    time.sleep(0.4)
    line.begin("comparing", None)
    time.sleep(0.2)
    work(line, 0.4)
    line.end()
    line.end()
    text = terminal.shown()
    assert "writing files  0 s" in text
    assert text.index("writing files") < text.index("comparing") < text.index("layouts  [")
    assert text.endswith("\r\x1b[K")


def test_many_short_pieces_of_work_are_one_long_one(terminal: Terminal) -> None:
    terminal.use()
    line = Line(lambda: False)
    for _ in range(4):
        work(line, 0.15)
    assert "layouts  [" in terminal.shown()


def test_nothing_is_drawn_after_the_end(terminal: Terminal) -> None:
    terminal.use()
    line = Line(lambda: False)
    line.begin("layouts", 5)
    time.sleep(0.3)
    line.stop()
    assert terminal.shown().endswith("\r\x1b[K")
    time.sleep(0.1)
    assert not terminal.shown()


def test_another_thread_draws_nothing(terminal: Terminal) -> None:
    terminal.use()
    thread = threading.Thread(target=work, args=(Line(lambda: False), 0.9))
    thread.start()
    thread.join()
    assert not terminal.shown()


def test_when_it_is_wanted(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal.use()
    assert is_wanted()
    for name, value in (("CI", "true"), ("TERM", "dumb")):
        with monkeypatch.context() as changed:
            changed.setenv(name, value)
            assert not is_wanted()
    with monkeypatch.context() as changed:
        changed.setattr(sys, "stderr", io.StringIO())
        assert not is_wanted()

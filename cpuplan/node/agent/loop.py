"""The agent's loop: check, tell, wait; at once if the expected state changes or somebody asks."""

import os
import select
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from cpuplan.diagnostics import CpuplanError
from cpuplan.node.agent.board import Board, Checked, Plan, View

#: Seconds between two looks at the times of the files of the expected state.
_LOOK = 5.0


class Source(Protocol):
    """What is checked: a node against its expected state."""

    def plan(self) -> Plan | None:
        """The plan that is known; None before there is one."""

    def has_changed(self) -> bool:
        """Whether the expected state is another one than at the last check."""

    def check(self) -> Checked:
        """Check the node. Any exception means that nothing is known."""


#: Tells somebody what is known: a file, the API server.
Tell = Callable[[View], None]


class Agent:
    """One node, checked every so often."""

    def __init__(
        self, source: Source, board: Board, tells: Sequence[Tell], log: Callable[[str], None]
    ) -> None:
        self._source, self._board, self._tells, self._log = source, board, tells, log
        # A pipe, since signals write to it: a lock could be held by what they interrupt.
        self._wake, self._bell = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._ends = False
        self._said = ""

    def end(self) -> None:
        """End the loop; for signals and other threads."""
        self._ends = True
        self.ask()

    def ask(self) -> None:
        """Check at once; for signals and other threads."""
        with suppress(BlockingIOError):  # full: somebody has asked already
            os.write(self._bell, b"!")

    def run(self) -> None:
        """Check until `end` is called."""
        while not self._ends:
            begun = time.monotonic()
            self.once()
            self._wait(begun + self._board.interval)

    def once(self) -> None:
        """Check, and tell what is known then."""
        self._board.beat()
        self._check()
        self._board.beat()
        for tell in self._tells:
            tell(self._board.view())

    def _check(self) -> None:
        begun = time.monotonic()
        try:
            checked = self._source.check()
        except Exception as error:  # whatever it is, the node is not checked, and the loop goes on
            problem = _text(error)
            self._board.fail(problem)
            self._say(f"not checked: {problem}")
            return
        self._board.put(checked, time.monotonic() - begun)
        facts = checked.counts.facts
        said = ", ".join(_counted(verdict, facts[verdict]) for verdict in facts if facts[verdict])
        self._say("; ".join((f"checked: {said}", *checked.findings)))

    def _say(self, text: str) -> None:
        """A line for the log, where it is news."""
        if text != self._said:
            self._said = text
            self._log(text)

    def _wait(self, until: float) -> None:
        """Wait until it is time, or a reason comes to check before."""
        while not self._ends and (left := until - time.monotonic()) > 0:
            if select.select([self._wake], [], [], min(left, _LOOK))[0]:
                os.read(self._wake, 4096)
                return
            self._board.beat()
            if self._source.has_changed():
                self._board.forget("the expected state has changed")
                return


def _counted(verdict: str, number: int) -> str:
    """`1 differs`, `2 differ`, `3 held`."""
    if verdict == "unverifiable":
        return f"{number} not verifiable here"
    if verdict == "unshown":
        return f"{number} that an agent does not see"
    return f"{number} differ" if verdict == "differs" and number > 1 else f"{number} {verdict}"


def _text(error: Exception) -> str:
    if isinstance(error, CpuplanError):
        return str(error)
    return f"{type(error).__name__}: {error}"

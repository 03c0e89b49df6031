"""The agent's loop on its node: check, tell, wait; at once if the expected state changes."""

import os
import select
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from cpuplan.base.text import printable
from cpuplan.check import host
from cpuplan.check.roots.mounted import HostReader
from cpuplan.check.roots.openings import node_of
from cpuplan.check.roots.root import Root
from cpuplan.check.subject import nowhere
from cpuplan.diagnostics import CpuplanError, Diagnostic
from cpuplan.node.view import Checked, Plan, State, View
from cpuplan.plan.expected import folder
from cpuplan.plan.expected.state import Expected
from cpuplan.render.answers.prometheus import counted, findings

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
        self, source: Source, board: State, tells: Sequence[Tell], log: Callable[[str], None]
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


def leave(isolated: Iterable[int]) -> frozenset[int]:
    """Keep all threads of this process off these CPUs; the CPUs that it may use then.

    The kubelet gives a pod without exclusive CPUs all that nobody has exclusively, isolated ones
    included. No right is needed: a process may narrow itself (sched_setaffinity(2)), and its cgroup
    still limits it. If the cgroup has isolated CPUs only, the process stays where it is.
    """
    allowed = os.sched_getaffinity(0)
    wanted = allowed - set(isolated)
    if not wanted or wanted == allowed:
        return frozenset(allowed)
    for thread in os.listdir("/proc/self/task"):
        with suppress(OSError):  # it has ended, or its cgroup has changed since
            os.sched_setaffinity(int(thread), wanted)
    return frozenset(wanted)


#: Findings that are told in full; of more, their number.
_MOST = 5
#: Changes when a file is written, replaced, added or removed.
_Stamp = tuple[tuple[str, int, int, int], ...]


class Node:
    """One node, whose expected state is read again where its file is another one.

    Without a name it is the planned node of the host name that the root has.
    """

    def __init__(self, root: Path, state: Path, name: str) -> None:
        self._root, self._state, self._name = Path(os.path.realpath(root)), state, name
        self._called = name
        self._stamp: _Stamp | None = None
        self._expected: Expected | None = None
        self._plan: Plan | None = None

    def plan(self) -> Plan | None:
        """The plan of the last check; None where there is none."""
        return self._plan

    def has_changed(self) -> bool:
        """Whether the files of expected states are others than at the last check."""
        return self._stamp is not None and self._stamp != _stamp(self._state)

    def check(self) -> Checked:
        """Check the node.

        Raises CpuplanError where no expected state can be read (CP877, CP878), or no class has the
        node (CP250, CP809, CP889).
        """
        with HostReader(self._root) as reader:
            root = Root(self._root, reader)
            expected, plan = self._current(root)
            answers = host.check(root, expected, self._called, nowhere)
        return Checked(plan, counted(answers), _sentences(findings(answers)))

    def _current(self, root: Root) -> tuple[Expected, Plan]:
        now = _stamp(self._state)
        if self._expected is None or self._plan is None or now != self._stamp:
            # What was known is another plan; after an error, none is.
            self._stamp, self._expected, self._plan = now, None, None
            self._called = self._name or node_of(root, _nodes(self._state))
            expected = folder.of_node(self._state, self._called)
            self._plan = Plan(expected.cluster, expected.name, expected.digest)
            self._expected = expected
            leave(expected.pool("isolated").cpus)
        return self._expected, self._plan


def _sentences(findings: list[Diagnostic]) -> tuple[str, ...]:
    shown = [f"{finding.code} {printable(finding.message)}" for finding in findings[:_MOST]]
    more = len(findings) - len(shown)
    return (*shown, *([f"and {more} more"] if more else []))


def _nodes(place: Path) -> Iterator[str]:
    for file in folder.found_files(place):
        yield from folder.load(file).nodes


def _stamp(place: Path) -> _Stamp:
    return tuple(mark for path in folder.files(place) if (mark := _mark(path)))


def _mark(path: Path) -> tuple[str, int, int, int] | None:
    try:
        facts = path.stat()
    except OSError:
        return None
    return path.name, facts.st_ino, facts.st_mtime_ns, facts.st_size

"""The node that the agent checks, and the expected state of its class as it is at the moment."""

import os
from collections.abc import Iterator
from pathlib import Path

from cpuplan.base.printable import printable
from cpuplan.check import host
from cpuplan.check.roots.host import HostReader
from cpuplan.check.roots.root import Root
from cpuplan.check.roots.sources import node_of
from cpuplan.check.subject import nowhere
from cpuplan.diagnostics import Diagnostic
from cpuplan.node.agent import placing
from cpuplan.node.agent.board import Checked, Plan
from cpuplan.plan.expected import folder
from cpuplan.plan.expected.state import Expected
from cpuplan.render.answers.prometheus import counted, findings

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
            placing.leave(expected.pool("isolated").cpus)
        return self._expected, self._plan


def _sentences(found: list[Diagnostic]) -> tuple[str, ...]:
    shown = [f"{each.code} {printable(each.message)}" for each in found[:_MOST]]
    more = len(found) - len(shown)
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

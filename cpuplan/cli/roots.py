"""Checks of many nodes at once: roots that each name their node by its host name."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

from cpuplan.base.codec import Codec
from cpuplan.base.progress import follow, stage
from cpuplan.check.host import check
from cpuplan.check.roots.openings import node_of, openings_at
from cpuplan.check.roots.root import Kind, Root
from cpuplan.cli.answers import Statements
from cpuplan.cli.output import settings
from cpuplan.diagnostics import CpuplanError, Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.pipeline import batch
from cpuplan.plan.expected.evidence import Answer
from cpuplan.plan.expected.folder import found_files, load
from cpuplan.plan.expected.state import Expected
from cpuplan.render.answers.summary import Checked
from cpuplan.workers import HERE, Workers, results

#: What a root has at its top, one of them at least.
_MARKS = ("proc", "sys", "etc")


class Place(NamedTuple):
    """A path with roots, and whether it was given itself: then it must have some."""

    path: Path
    is_given: bool


class Answered(NamedTuple):
    """What was checked at a place, what could not be read, and which roots are of no node."""

    checked: tuple[Checked, ...] = ()
    unread: tuple[Diagnostic, ...] = ()
    strange: tuple[Diagnostic, ...] = ()


@stage("looking for nodes")
def find_places(paths: Sequence[Path]) -> list[Place]:
    """The paths, and instead of a folder that is no root what lies in it.

    CpuplanError (CP807, CP808) for a folder that is given itself and cannot be read.
    """
    places: list[Place] = []
    for path in paths:
        children: list[Path] = []
        if path.is_dir():
            openings = openings_at(path)
            if len(openings) == 1 and _is_empty(openings[0].open()):
                children = sorted(child for child in path.iterdir() if child.name[:1] != ".")
        places += [Place(child, is_given=False) for child in children]
        if not children:
            places.append(Place(path, is_given=True))
    return places


@stage("opening")
def only_root(places: Sequence[Place]) -> Root | None:
    """The root of some places where they have no other and nothing else.

    CpuplanError (CP807, CP808) for a path that is given itself.
    """
    if len(places) != 1:
        return None
    try:
        openings = openings_at(places[0].path)
        return openings[0].open() if len(openings) == 1 else None
    except CpuplanError:
        if places[0].is_given:
            raise
        return None


def _is_empty(root: Root) -> bool:
    return root.kind is not Kind.MUST_GATHER and not any(root.names(mark) for mark in _MARKS)


def check_places(
    places: Sequence[Place], compiled: Path, statements: Statements, workers: Workers = HERE
) -> tuple[list[Checked], list[Diagnostic]]:
    """The answers on the node of each root; CP809, CP889 and CP250 for roots of no planned node.

    CpuplanError (CP807, CP808) for a path that is given itself.
    """
    clusters = settings().clusters
    with stage("reading what was compiled"):
        states = [load(file) for file in found_files(compiled)]
    states = [state for state in states if not clusters or state.cluster in clusters]
    if not states:
        raise CpuplanError([diagnose("CP878", path=compiled)])
    work = Snapshots(tuple(places), tuple(states), frozenset(statements.sources))
    checked: list[Checked] = []
    unread: list[Diagnostic] = []
    strange: list[Diagnostic] = []
    made = zip(places, results(work, workers), strict=True)
    for place, answered in follow("nodes", len(places), made, lambda _: ""):
        if place.is_given and answered.unread:
            raise CpuplanError(answered.unread)
        checked += (_placed(node, statements.locate) for node in answered.checked)
        unread += answered.unread
        strange += answered.strange
    checked.sort(key=lambda node: (node.cluster, node.name))
    return checked, [*unread, *strange]


@dataclass(frozen=True)
class Snapshots:
    """Places to check against the states of classes; `documents` are those that findings name."""

    places: tuple[Place, ...]
    states: tuple[Expected, ...]
    documents: frozenset[batch.Name]

    def __len__(self) -> int:
        return len(self.places)

    def prepare(self) -> None:
        """Nothing: what checks need is loaded."""

    def part(self, chosen: slice) -> "Snapshots":
        """Some of the places; whoever checks them has the same files."""
        return replace(self, places=self.places[chosen])

    def results(self) -> list[Answered]:
        """What is found at each place, with places of statements that have no lines yet."""
        return list(map(self._answered, self.places))

    def packed(self) -> bytes:
        """The same as bytes."""
        return _answers().encode(tuple(self.results()))

    def unpacked(self, data: bytes) -> list[Answered]:
        """What `packed` made."""
        return list(_answers().decode(data))

    def _answered(self, place: Place) -> Answered:
        checked: list[Checked] = []
        strange: list[Diagnostic] = []
        locate = batch.locate_in(self.documents)
        try:
            # One by one: of a must-gather, the files of two nodes at most are in memory.
            for opening in openings_at(place.path):
                root = opening.open()
                try:
                    state, name = _node(root, self.states)
                except CpuplanError as error:
                    strange += error.diagnostics
                    continue
                answers = tuple(check(root, state, name, locate))
                of = Checked(name, state.cluster, state.name, state.digest, answers, state.intent)
                checked.append(of)
        except CpuplanError as error:
            return Answered(unread=error.diagnostics)
        return Answered(tuple(checked), strange=tuple(strange))


@cache
def _answers() -> Codec[tuple[Answered, ...]]:
    return Codec(tuple[Answered, ...], any_text=True)  # names of files may be no UTF-8


def _placed(checked: Checked, locate: Locate) -> Checked:
    """The same with the lines of its findings."""

    def of(answer: Answer) -> Answer:
        if answer.finding is None:
            return answer
        (finding,) = batch.placed([answer.finding], locate)
        return answer._replace(finding=finding)

    return checked._replace(answers=tuple(map(of, checked.answers)))


def _node(root: Root, states: Sequence[Expected]) -> tuple[Expected, str]:
    name = node_of(root, dict.fromkeys(name for state in states for name in state.nodes))
    matches = [state for state in states if name in state.nodes]
    if len(matches) > 1:
        choices = " or ".join(state.cluster for state in matches)
        what = f"{len(matches)} nodes have the name {name!r}"
        raise CpuplanError([diagnose("CP250", what=what, hint=f"use --cluster {choices}")])
    return matches[0], name

"""Checks of many nodes at once: roots that each name their node by its host name."""

from collections.abc import Sequence
from pathlib import Path

from cpuplan.check.host import check
from cpuplan.check.roots.root import Root
from cpuplan.check.roots.sources import node_of, roots_at
from cpuplan.cli.output import settings
from cpuplan.cli.statements import Statements
from cpuplan.diagnostics import CpuplanError, Diagnostic, diagnose
from cpuplan.expected.folder import found_files, load
from cpuplan.expected.state import Expected
from cpuplan.progress import follow
from cpuplan.render.answers.fleet import Checked

#: What a root has at its top, one of them at least.
_MARKS = ("proc", "sys", "etc")


def find_roots(paths: Sequence[Path]) -> tuple[list[Root], list[Diagnostic]]:
    """The roots at some paths, and those in a folder that is none; with what is no root.

    CpuplanError (CP807, CP808) for a path that is given itself.
    """
    found: list[Root] = []
    problems: list[Diagnostic] = []
    for path in paths:
        roots = roots_at(path)
        if not (path.is_dir() and len(roots) == 1 and _is_empty(roots[0])):
            found += roots
            continue
        children = sorted(child for child in path.iterdir() if not child.name.startswith("."))
        if not children:
            found += roots
        for child in children:
            try:
                found += roots_at(child)
            except CpuplanError as error:
                problems += error.diagnostics
    return found, problems


def _is_empty(root: Root) -> bool:
    return not any(root.names(mark) for mark in _MARKS)


def check_roots(
    roots: Sequence[Root], place: Path, statements: Statements
) -> tuple[list[Checked], list[Diagnostic]]:
    """The answers on each root's node; CP809, CP889 and CP250 for roots of no planned node."""
    clusters = settings().clusters
    states = [load(file) for file in found_files(place)]
    states = [state for state in states if not clusters or state.cluster in clusters]
    if not states:
        raise CpuplanError([diagnose("CP878", path=place)])
    checked: list[Checked] = []
    problems: list[Diagnostic] = []
    for root in follow("nodes", len(roots), roots, lambda _: ""):
        try:
            state, name = _node(root, states)
        except CpuplanError as error:
            problems += error.diagnostics
            continue
        answers = tuple(check(root, state, name, statements.locate))
        checked.append(Checked(name, state.cluster, state.name, state.digest, answers))
    return sorted(checked, key=lambda each: (each.cluster, each.name)), problems


def _node(root: Root, states: Sequence[Expected]) -> tuple[Expected, str]:
    name = node_of(root, dict.fromkeys(name for state in states for name in state.nodes))
    matches = [state for state in states if name in state.nodes]
    if len(matches) > 1:
        choices = " or ".join(state.cluster for state in matches)
        what = f"{len(matches)} nodes have the name {name!r}"
        raise CpuplanError([diagnose("CP250", what=what, hint=f"use --cluster {choices}")])
    return matches[0], name

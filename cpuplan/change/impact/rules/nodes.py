"""Nodes that no operator configures: the rule of each changed setting and file."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cpuplan.change.impact.rule_table import RULES
from cpuplan.change.impact.rules.inputs import Half, listed, origin_of, told, unequal
from cpuplan.change.impact.setting_rules import Changed, rule_of
from cpuplan.facts.settings import objects
from cpuplan.facts.settings.costs import Step
from cpuplan.facts.settings.table import rows_in

#: Rules of programs that come or go as a whole, by a setting that is always there.
_PROGRAMS = {(row.component, row.key): row.program for row in rows_in(objects) if row.program}
_REMOVALS = frozenset(gone.id for _, gone in _PROGRAMS.values())


_KUBELET_DROP_IN = re.compile(r"^/etc/systemd/system/(.+\.service)\.d/50-cpuplan\.conf\Z")


class Parts(NamedTuple):
    """A changed setting, or a changed file as if it were one."""

    rule: str
    changes: tuple[Changed, ...]
    files: tuple[str, ...]


def steps(before: Half, after: Half, changes: Iterable[Changed], unit: str) -> Iterator[Step]:
    """What the changed settings and files of a node make necessary; `unit` runs the kubelet."""
    known = tuple(changes)
    by_rule = _by_rule(known)
    for path, name in _files(before, after, known):
        parts = by_rule.get(name, Parts(name, (), ()))
        by_rule[name] = parts._replace(files=(*parts.files, path))
    for parts in by_rule.values():
        yield _step(parts, unit)


def of_settings(changes: Iterable[Changed]) -> Iterator[Step]:
    """The same of settings that no file of a node has."""
    for parts in _by_rule(changes).values():
        yield _step(parts, "")


def _by_rule(changes: Iterable[Changed]) -> dict[str, Parts]:
    known = tuple(changes)
    programs = {change.component: rule for change in known if (rule := _program(change))}
    by_rule: dict[str, Parts] = {}
    for change in known:
        name = programs.get(change.component) or rule_of(change)
        if name:
            parts = by_rule.get(name, Parts(name, (), ()))
            by_rule[name] = parts._replace(changes=(*parts.changes, change))
    # What was there before must be gone before another program comes.
    return dict(sorted(by_rule.items(), key=lambda entry: entry[0] not in _REMOVALS))


def _program(change: Changed) -> str:
    """The rule of a program that comes or goes, by the setting that tells; empty for others."""
    program = _PROGRAMS.get((change.component, change.key))
    if not program or None not in (change.before, change.after):
        return ""
    comes, goes = program
    return (goes if change.is_removed else comes).id


def _step(parts: Parts, kubelet_service: str) -> Step:
    because = "; ".join(filter(None, (told(parts.changes), listed(parts.files))))
    allocations = (change.key for change in parts.changes if change.key.endswith(".service"))
    unit = kubelet_service
    if parts.rule == "huge-pages-at-run-time":
        unit = listed(allocations) or "the changed unit"
    policy = parts.changes[0].component if parts.changes else ""
    return RULES[parts.rule].step(because, origin_of(parts.changes), unit=unit, policy=policy)


def _files(before: Half, after: Half, changes: tuple[Changed, ...]) -> Iterator[tuple[str, str]]:
    """Paths and rules of files that differ although no setting of their component does."""
    old, new = before.state, after.state
    if (before.key and old is None) or (after.key and new is None):
        yield "the expected state of one side", "unknown-before"
        return
    old_files, new_files = old.files if old else {}, new.files if new else {}
    told_of = {change.component for change in changes}
    for path in unequal(old_files, new_files):
        file = new_files.get(path) or old_files[path]
        if file.component not in told_of:
            name = path.rpartition("/")[2]
            gone = None if path not in new_files else ""
            rule = rule_of(Changed(file.component, name, "", gone))
            if rule:
                yield path, rule


def kubelet_service(half: Half) -> str:
    """The unit that runs the kubelet: that of its drop-in, else that of the platform."""
    state = half.state
    if state is None:
        return "kubelet.service"
    matches = (_KUBELET_DROP_IN.match(path) for path in state.files)
    return next((match[1] for match in matches if match), state.platform.kubelet_unit)

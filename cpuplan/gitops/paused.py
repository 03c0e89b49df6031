"""Whether the files of paused classes are those that were reviewed: compared with the main branch.

They are not made of the inputs, and the digests beside them lie in the same commit: whoever edits a
file can edit its digest. What such a gate asks lies in another commit, where the present branch
left the main branch. What a branch compiled before it paused the class is what its inputs give.
"""

import json
from collections.abc import Mapping
from typing import Any

from cpuplan import pipeline
from cpuplan.backends.state import plan_path
from cpuplan.base.foreign import ForeignError, read_json
from cpuplan.base.progress import stage
from cpuplan.diagnostics import CpuplanError, Diagnostic, diagnose
from cpuplan.fleet import paused
from cpuplan.fleet.paused import FIELD
from cpuplan.fleet.previous import MANIFESTS, Key, of_class
from cpuplan.git import trees
from cpuplan.git.program import opened
from cpuplan.git.repository import Repository, object_name
from cpuplan.git.trees import EXECUTABLE, FILE, Entry
from cpuplan.pipeline import Project
from cpuplan.plan import ConfiguredPlan, Kept, Plan

#: Of the commit's name in messages.
_SHORT = 12
#: Content by path; None for what is gone.
_Changed = dict[str, bytes | None]


@stage("comparing paused classes with the main branch")
def check(project: Project, plan: Plan) -> list[Diagnostic]:
    """What is wrong with the files that stay.

    CP6115 for those that are neither as before nor as the inputs give them, CP6116 for classes
    where nothing shows how they were before.
    """
    kept = [(node, node.kept) for node in plan.nodes if node.kept and node.kept.record]
    if not kept:
        return []
    try:
        with opened(project.root) as repository:
            base = trees.merge_base(repository)
            entries = trees.entries_of(repository, base, f"{repository.prefix}out")
            others = {
                node: _changed(repository, entries, node, stays, f"{base}:out")
                for node, stays in kept
            }
    except CpuplanError as error:
        problem = error.diagnostics[0].message
        return [
            diagnose(
                "CP6116",
                project.locate(node.node_class.place("paused")),
                intent=node.node_class.intent,
                name=node.node_class.full_name,
                problem=problem,
            )
            for node, _ in kept
        ]
    if any(others.values()):
        _take_out_compiled(project, plan, others)
    return [
        diagnose(
            "CP6115",
            project.locate(node.node_class.place("paused")),
            path=f"out/{path}",
            intent=node.node_class.intent,
            commit=base[:_SHORT],
        )
        for node, paths in others.items()
        for path in sorted(paths)
    ]


def _changed(
    repository: Repository,
    entries: Mapping[str, Entry],
    node: ConfiguredPlan,
    kept: Kept,
    shown: str,
) -> _Changed:
    """The files that stay and are not so in a commit, by path, and those that it alone has."""
    changed: _Changed = {
        path: data
        for path, data in kept.files.items()
        if not _is_file(entries.get(path), object_name(repository, data))
    }
    place = plan_path(node)
    before = _record(repository, entries.get(place), f"{shown}/{place}")
    if before is None or _facts(before) != _facts(kept.record):
        changed[place] = json.dumps(_facts(kept.record)).encode()
    listed = before.get(FIELD) if before else None
    if not isinstance(listed, dict):
        listed = _files_of(repository, entries, node.node_class.key, shown)
    gone = (path for path in paused.kept_of(listed) if path not in kept.files)
    return changed | dict.fromkeys(path for path in gone if path in entries)


def _files_of(
    repository: Repository, entries: Mapping[str, Entry], key: Key, shown: str
) -> list[str]:
    """The files of a class in a commit, as its manifest there says; none of an older manifest."""
    path = f"{MANIFESTS}/{key[0]}"
    entry = entries.get(path)
    if entry is None or entry.mode not in (FILE, EXECUTABLE):
        return []
    text = trees.content(repository, entry, f"{shown}/{path}").decode(errors="replace")
    return of_class(text, key[1]) or []


def _is_file(entry: Entry | None, name: str) -> bool:
    return entry is not None and entry.mode in (FILE, EXECUTABLE) and entry.object == name


def _record(repository: Repository, entry: Entry | None, shown: str) -> dict[str, Any] | None:
    """The class's own file in a commit; None where there is none that can be read."""
    if entry is None or entry.mode not in (FILE, EXECUTABLE):
        return None
    data = trees.content(repository, entry, shown)
    try:
        record = read_json(data)
    except ForeignError:
        return None
    return record if isinstance(record, dict) else None


def _facts(record: Mapping[str, Any]) -> dict[str, Any]:
    """What a class's file says beside the digests of the files that stay."""
    return {key: value for key, value in record.items() if key != FIELD}


def _take_out_compiled(
    project: Project, plan: Plan, others: Mapping[ConfiguredPlan, _Changed]
) -> None:
    """Leave what the inputs do not give, if no class were paused."""
    given = pipeline.emit(project, Plan(tuple(map(_going, plan.nodes)))).files
    for node, changed in others.items():
        place = plan_path(node)
        for path, data in list(changed.items()):
            now = given.get(path)
            if path == place and now:
                now = json.dumps(_facts(json.loads(now))).encode()
            if now == data:
                del changed[path]


def _going(node: ConfiguredPlan) -> ConfiguredPlan:
    """The same plan, not paused."""
    spec = node.spec.model_copy(update={"paused": False})
    return ConfiguredPlan(node.with_spec(spec), node.settings)

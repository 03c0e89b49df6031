"""The plan for programs: JSON, as `schemas/plan.schema.json` describes it."""

from collections.abc import Iterable, Mapping
from typing import Any

from cpuplan.base.emit import to_json
from cpuplan.base.text import printable_values
from cpuplan.change.impact.changes import Cause, FileChange, ObjectChange, SettingChange
from cpuplan.change.impact.comparison import Capacity, Change, Room
from cpuplan.change.impact.rollout import Rounds
from cpuplan.change.impact.snapshot import Node
from cpuplan.diagnostics import Diagnostic
from cpuplan.facts.settings.costs import Impact, Step
from cpuplan.render.plan.report import Kind, PlanReport, kind, minutes

#: Keys are only ever added while it is this.
FORM = 1


def render(report: PlanReport) -> str:
    """The whole plan, nodes without changes counted only."""
    comparison = report.comparison
    data = {
        "form": FORM,
        "against": report.source,
        "hasChanges": not comparison.is_empty,
        "summary": _summary(report),
        "changes": [_change(change) for change in comparison.changes if not change.is_same],
        "objects": [
            _object(cluster, change) for cluster, of in comparison.objects.items() for change in of
        ],
        "otherFiles": _files(comparison.others, "out/"),
        "moved": _moved(comparison.moved),
        "rounds": [_rounds(rounds, report.minutes) for rounds in report.rounds],
        "warnings": list(map(_warning, report.findings)),
    }
    return to_json(printable_values(data), sort_keys=False)


def _summary(report: PlanReport) -> dict[str, Any]:
    comparison, fleet = report.comparison, report.comparison.fleet
    impacts = dict.fromkeys(Impact, 0)
    fates = dict.fromkeys(Kind, 0)
    for change in comparison.changes:
        fates[kind(change)] += len(change.pair.nodes)
        impacts[change.impact] += len(change.pair.nodes)
    return {
        "impact": comparison.impact.word,
        "clusters": len({change.pair.cluster for change in comparison.changes}),
        "nodes": sum(impacts.values()),
        "nodesByImpact": {impact.word: number for impact, number in impacts.items()},
        "nodesByFate": {of.value: number for of, number in fates.items()},
        "nodesElsewhere": report.elsewhere,
        "exclusiveCPUs": {
            "before": fleet.before,
            "after": fleet.after,
            "nodesUnknown": fleet.unknown,
        },
    }


def _change(change: Change) -> dict[str, Any]:
    pair = change.pair
    return {
        "cluster": pair.cluster,
        "classBefore": pair.before and pair.before[1],
        "classAfter": pair.after and pair.after[1],
        "nodes": list(pair.nodes),
        "fate": kind(change).value,
        "impact": change.impact.word,
        "steps": list(map(_step, change.steps)),
        "moves": [
            {"cpus": str(move.cpus), "before": list(move.before), "after": list(move.after)}
            for move in change.moves
        ],
        "causes": _causes(change.causes),
        "pools": [
            {"name": pool.name, "before": str(pool.before), "after": str(pool.after)}
            for pool in change.pools
        ],
        "settings": list(map(_setting, change.settings)),
        "files": _files(change.files),
        "capacity": _capacity(change.capacity),
        "workloads": list(map(_room, change.rooms)),
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        "impact": step.impact.word,
        "does": step.does,
        "because": step.because,
        "rule": step.rule,
        "origin": step.origin,
        "certain": step.is_certain,
    }


def _setting(setting: SettingChange) -> dict[str, Any]:
    """Values are lists, as boot arguments may have a key several times; empty without the key."""
    return {
        "component": setting.component,
        "key": setting.key,
        "before": list(setting.before),
        "after": list(setting.after),
        "causes": _causes(setting.causes),
    }


def _causes(causes: Iterable[Cause]) -> list[dict[str, Any]]:
    return [
        {
            "text": cause.text,
            "origin": cause.origin,
            "file": cause.place and cause.place.path,
            "line": cause.place and cause.place.line,
        }
        for cause in causes
    ]


def _files(files: Iterable[FileChange], start: str = "") -> list[dict[str, str]]:
    return [{"path": start + file.path, "change": file.how.value} for file in files]


def _capacity(sides: tuple[Capacity, Capacity] | None) -> dict[str, Any] | None:
    if sides is None:
        return None
    return {"before": _side(sides[0]), "after": _side(sides[1])}


def _side(of: Capacity) -> dict[str, Any]:
    if of.unknown:
        return {"unknown": of.unknown}
    nodes = [
        {"numaNode": node.number, "exclusiveCPUs": node.cpus, "largestPod": node.largest}
        for node in of.numa_nodes
    ]
    return {"exclusiveCPUs": of.exclusive, "largestPod": of.largest, "numaNodes": nodes}


def _room(room: Room) -> dict[str, Any]:
    return {
        "name": room.workload,
        "wanted": room.wanted,
        "fitBefore": room.before,
        "fitAfter": room.after,
    }


def _object(cluster: str, change: ObjectChange) -> dict[str, Any]:
    return {
        "cluster": cluster,
        **change.id._asdict(),
        "change": change.how.value,
        "fields": list(change.fields),
        "nameBefore": change.was or None,
    }


def _moved(moved: Mapping[Node, Node]) -> list[dict[str, str]]:
    return [
        {"node": new[1], "clusterBefore": old[0], "clusterAfter": new[0]}
        for new, old in moved.items()
    ]


def _rounds(rounds: Rounds, of_reboot: int | None) -> dict[str, Any]:
    return {
        "cluster": rounds.cluster,
        "group": rounds.group,
        "kind": "pool" if rounds.is_pool else "intent",
        "wave": rounds.wave or None,
        "nodes": rounds.nodes,
        "impact": rounds.impact.word,
        "maxUnavailable": rounds.limit.text,
        "atOnce": rounds.at_once,
        "rounds": rounds.number,
        "reboots": rounds.reboots,
        "minutes": minutes(rounds, of_reboot),
    }


def _warning(finding: Diagnostic) -> dict[str, Any]:
    place = finding.position
    return {
        "code": finding.code,
        "message": finding.message,
        "remedy": finding.remedy,
        "file": place and place.path,
        "line": place and place.line,
    }

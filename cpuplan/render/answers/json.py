"""The answers of a check as JSON: of one node, and of many."""

from collections.abc import Sequence
from typing import Any

from cpuplan.base.emit import to_json
from cpuplan.base.text import printable
from cpuplan.plan.expected import evidence
from cpuplan.plan.expected.evidence import SOMETHING, Answer, Threshold, Verdict
from cpuplan.plan.expected.state import Expected
from cpuplan.render.answers.summary import Checked, Group, Unverified, counts, unverified
from cpuplan.render.diagnostics.json import findings, summary_data
from cpuplan.render.diagnostics.report import Report


def render(
    node: str,
    expected: Expected,
    answers: Sequence[Answer],
    report: Report,
    threshold: Threshold = SOMETHING,
) -> str:
    """The stable form for programs; keys are only ever added while `version` is 1.

    {"version": 1, "node", "cluster", "class", "digest", "situation": "held" | "unseen" |
    "not_compiled" | "not_delivered" | "not_booted" | "drifted", "verified": {"is_enough", "facts",
    "of", "wanted"}, "facts": {"held", "differs", "unverifiable"}, "answers": [{"fact", "verdict":
    "held" | "differs" | "unverifiable", "evidence", "expected", "observed", "reason", "code",
    "severity", "heals": "live" | "restart" | "reboot" | null, "origin"}], "diagnostics",
    "summary"}. `digest` is that of the expected state; `diagnostics` and `summary` are as in the
    JSON of findings. Only what `is_enough` can hold: `facts` were looked at, `of` those that the
    node could show.
    """
    number = counts(answers)
    data = {
        "version": 1,
        "node": node,
        "cluster": expected.cluster,
        "class": expected.name,
        "digest": expected.digest,
        "situation": evidence.standing(answers, threshold).name.lower(),
        "verified": verified(answers, threshold),
        "facts": {verdict.name.lower(): number[verdict] for verdict in Verdict},
        "answers": list(map(_answer, answers)),
        "diagnostics": findings(report),
        "summary": summary_data(report),
    }
    return to_json(data, sort_keys=False)


def verified(answers: Sequence[Answer], threshold: Threshold) -> dict[str, Any]:
    """How much was looked at, and whether that is enough."""
    seen = evidence.evidence_of(answers)
    return {
        "is_enough": threshold.is_met(seen),
        "facts": seen.verified,
        "of": seen.verifiable,
        "wanted": str(threshold),
    }


def _answer(answer: Answer) -> dict[str, Any]:
    finding = answer.finding
    return {
        "fact": printable(answer.fact),
        "verdict": answer.verdict.name.lower(),
        "evidence": printable(answer.evidence),
        "expected": printable(answer.expected),
        "observed": printable(answer.observed),
        "reason": printable(answer.reason),
        "code": finding.code if finding else None,
        "severity": finding.severity.value if finding else None,
        "heals": answer.heals.value if answer.heals else None,
        "origin": answer.origin,
    }


def render_fleet(
    checked: Sequence[Checked],
    groups: Sequence[Group],
    report: Report,
    threshold: Threshold = SOMETHING,
) -> str:
    """The stable form for programs; keys are only ever added while `version` is 1.

    {"version": 1, "nodes": [{"node", "cluster", "class", "digest", "verified": {"is_enough",
    "facts", "of", "wanted"}, "facts": {"held", "differs", "unverifiable"}}], "objects":
    [{"cluster", "verified", "facts"}], "groups": [{"code", "severity",
    "message", "remedy", "facts", "observed", "expected", "heals", "nodes"}], "unverified":
    [{"fact", "reason", "nodes"}], "diagnostics", "summary"}. A group is one difference with all
    nodes that have it; without nodes it is of the cluster's objects. `verified` as in the JSON of
    one node.
    """
    data = {
        "version": 1,
        "nodes": [_node(node, threshold) for node in checked if node.is_node],
        "objects": [_objects(objects) for objects in checked if not objects.is_node],
        "groups": list(map(_group, groups)),
        "unverified": list(map(_unverified, unverified(checked))),
        "diagnostics": findings(report),
        "summary": summary_data(report),
    }
    return to_json(data, sort_keys=False)


def _facts(checked: Checked) -> dict[str, int]:
    number = counts(checked.answers)
    return {verdict.name.lower(): number[verdict] for verdict in Verdict}


def _node(checked: Checked, threshold: Threshold) -> dict[str, Any]:
    return {
        "node": checked.name,
        "cluster": checked.cluster,
        "class": checked.class_name,
        "digest": checked.digest,
        "verified": verified(checked.answers, threshold),
        "facts": _facts(checked),
    }


def _objects(checked: Checked) -> dict[str, Any]:
    return {
        "cluster": checked.cluster,
        "verified": verified(checked.answers, SOMETHING),
        "facts": _facts(checked),
    }


def _group(group: Group) -> dict[str, Any]:
    finding = group.finding
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "message": printable(finding.message),
        "remedy": printable(finding.remedy),
        "facts": list(map(printable, group.facts)),
        "observed": printable(group.observed),
        "expected": printable(group.expected),
        "heals": group.heals.value if group.heals else None,
        "nodes": list(group.nodes),
    }


def _unverified(fact: Unverified) -> dict[str, Any]:
    return {
        "fact": printable(fact.fact),
        "reason": printable(fact.reason),
        "nodes": list(fact.nodes),
    }

"""Answers as Prometheus's metrics: those of the agent, with the node as a label."""

from collections import Counter
from collections.abc import Iterable, Sequence

from cpuplan.diagnostics import Diagnostic
from cpuplan.plan.expected import evidence
from cpuplan.plan.expected.answer import Answer
from cpuplan.render import prometheus
from cpuplan.render.answers.fleet import Checked
from cpuplan.render.answers.summary import counts, unshown
from cpuplan.render.prometheus import Counts


def render(checked: Iterable[Checked]) -> str:
    """The metrics of nodes, each with its name: facts, findings, and the plan's digest."""
    answered, plans = [], []
    for each in checked:
        labels = {
            "node": each.name,
            "plan_cluster": each.cluster,
            "plan_class": each.class_name,
        }
        answered.append((labels, counted(each.answers)))
        plans.append({**labels, "digest": each.digest})
    return prometheus.text([*prometheus.of_answers(answered), prometheus.plan_info(plans)])


def counted(answers: Sequence[Answer]) -> Counts:
    """Facts by verdict, and findings by code and severity.

    What no node shows is counted by itself: `unverifiable` is what a node should show.
    """
    facts = {verdict.name.lower(): number for verdict, number in counts(answers).items()}
    others = unshown(answers)
    facts |= {"unverifiable": facts["unverifiable"] - others, "unshown": others}
    codes = Counter((each.code, each.severity.value) for each in findings(answers))
    return Counts(facts, codes, evidence.is_verified(answers))


def findings(answers: Iterable[Answer]) -> list[Diagnostic]:
    """Each once: two facts may have one cause."""
    return list(dict.fromkeys(answer.finding for answer in answers if answer.finding))

"""The answers of a check as metrics, in Prometheus's text format 0.0.4."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from cpuplan.diagnostics import Diagnostic
from cpuplan.plan.expected import evidence
from cpuplan.plan.expected.evidence import Answer
from cpuplan.render.answers.summary import Checked, counts, unshown

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
#: The values of the label `verdict`: all are always there, so that a rule finds a zero.
VERDICTS = ("held", "differs", "unverifiable", "unshown")

Labels = Mapping[str, str]


class Family(NamedTuple):
    """All samples of one name."""

    name: str
    kind: Literal["gauge", "counter"]
    help: str
    samples: tuple[tuple[Labels, float], ...]


class Counts(NamedTuple):
    """What is counted of the answers about one node."""

    #: Facts by verdict.
    facts: Mapping[str, int]
    #: Findings by code and severity.
    findings: Mapping[tuple[str, str], int]
    #: Whether anything was looked at that tells whether the plan holds.
    is_verified: bool


def text(families: Iterable[Family]) -> str:
    """The families as text; those without a sample are left out."""
    return "".join(line for family in families if family.samples for line in _lines(family))


def of_answers(nodes: Iterable[tuple[Labels, Counts]]) -> Iterator[Family]:
    """Facts and findings of nodes; the labels tell one node from another."""
    known = list(nodes)
    facts = [
        ({**labels, "verdict": verdict}, counts.facts.get(verdict, 0))
        for labels, counts in known
        for verdict in VERDICTS
    ]
    findings = [
        ({**labels, "code": code, "severity": severity}, number)
        for labels, counts in known
        for (code, severity), number in sorted(counts.findings.items())
    ]
    yield gauge("cpuplan_facts", "Facts of the node's plan, by the verdict of the check.", facts)
    verified = [(labels, float(counts.is_verified)) for labels, counts in known]
    yield gauge(
        "cpuplan_verified", "Whether anything of the node's plan was looked at: 1, or 0.", verified
    )
    yield gauge("cpuplan_findings", "Differences from the node's plan, by code.", findings)


def plan_info(plans: Iterable[Labels]) -> Family:
    """The plans that nodes are held against; their digest is a label."""
    samples = [(labels, 1) for labels in plans]
    return gauge("cpuplan_plan_info", "The plan that the node is held against.", samples)


def gauge(name: str, about: str, samples: Iterable[tuple[Labels, float]]) -> Family:
    """A value that goes up and down."""
    return Family(name, "gauge", about, tuple(samples))


def counter(name: str, about: str, samples: Iterable[tuple[Labels, float]]) -> Family:
    """A number since the start of the process; its name ends with `_total`."""
    return Family(name, "counter", about, tuple(samples))


def _lines(family: Family) -> Iterator[str]:
    about = family.help.replace("\\", "\\\\").replace("\n", "\\n")
    yield f"# HELP {family.name} {about}\n"
    yield f"# TYPE {family.name} {family.kind}\n"
    for labels, value in family.samples:
        yield f"{family.name}{_set(labels)} {_number(value)}\n"


def _set(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    """Whole numbers without a fraction; others in full."""
    return str(int(value)) if value == int(value) else repr(float(value))


def render(checked: Iterable[Checked]) -> str:
    """The metrics of nodes, each with its name: facts, findings, and the plan's digest."""
    answered, plans = [], []
    for node in checked:
        labels = {
            "node": node.name,
            "plan_cluster": node.cluster,
            "plan_class": node.class_name,
        }
        answered.append((labels, counted(node.answers)))
        plans.append({**labels, "digest": node.digest})
    return text([*of_answers(answered), plan_info(plans)])


def counted(answers: Sequence[Answer]) -> Counts:
    """Facts by verdict, and findings by code and severity.

    What no node shows is counted by itself: `unverifiable` is what a node should show.
    """
    facts = {verdict.name.lower(): number for verdict, number in counts(answers).items()}
    others = unshown(answers)
    facts |= {"unverifiable": facts["unverifiable"] - others, "unshown": others}
    codes = Counter((finding.code, finding.severity.value) for finding in findings(answers))
    return Counts(facts, codes, evidence.is_verified(answers))


def findings(answers: Iterable[Answer]) -> list[Diagnostic]:
    """Each once: two facts may have one cause."""
    return list(dict.fromkeys(answer.finding for answer in answers if answer.finding))

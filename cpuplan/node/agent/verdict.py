"""What the agent tells the cluster of its node: a condition, and events where it changes."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from cpuplan.base.text import counted
from cpuplan.node.agent.board import View
from cpuplan.plan.expected.situation import UNREAD

CONDITION = "CPUPlanHolds"
#: The reason where nothing was looked at.
NOTHING = "NothingVerified"
#: Events about nodes are in this namespace (the API server refuses others for objects without one).
NAMESPACE = "default"
_SOURCE = "cpuplan-agent"
#: Characters of a message: those of an event (apimachinery, validation of events.k8s.io).
_LONGEST = 1024


class Verdict(NamedTuple):
    """What is said of a node at one moment."""

    status: str  # True, False or Unknown
    reason: str
    message: str


STOPPED = Verdict("Unknown", "AgentStopped", "the agent was stopped: nobody checks this node")


def of(view: View) -> Verdict:
    """True only of facts that were looked at; what could not be verified is said beside it."""
    checked = view.checked
    if checked is None:
        return Verdict("Unknown", "NotChecked", _short(view.problem))
    facts = checked.counts.facts
    codes = {code for code, _ in checked.counts.findings}
    held, differ, other = (facts.get(key, 0) for key in ("held", "differs", "unverifiable"))
    beside = "; ".join(_beside(other, facts.get("unshown", 0)))
    if not checked.counts.is_verified and codes <= UNREAD:
        texts = (*checked.findings, beside)
        message = "; ".join(filter(None, texts)) or "the plan has no facts to verify"
        return Verdict("Unknown", NOTHING, _short(message))
    if differ:
        found = "; ".join(checked.findings)
        verb = "differs" if differ == 1 else "differ"
        texts = (f"{counted(differ, 'fact')} of the plan {verb}: {found}", beside)
        return Verdict("False", "PlanDiffers", _short("; ".join(filter(None, texts))))
    reason = "HoldsWhereVerifiable" if other else "PlanHolds"
    verb = "holds" if held == 1 else "hold"
    texts = (f"{counted(held, 'fact')} of the plan {verb}", beside)
    return Verdict("True", reason, "; ".join(filter(None, texts)))


def _beside(unverifiable: int, unshown: int) -> Iterator[str]:
    """What is not verified: here, and by agents at all."""
    if unverifiable:
        yield f"{counted(unverifiable, 'fact')} cannot be verified here"
    if unshown:
        yield f"{counted(unshown, 'fact')} cannot be seen by an agent"


def condition(verdict: Verdict, since: str, now: float) -> dict[str, str]:
    """The condition of a Node; `since` is the time of its last transition."""
    return {
        "type": CONDITION,
        "status": verdict.status,
        "reason": verdict.reason,
        "message": verdict.message,
        "lastHeartbeatTime": time_text(now),
        "lastTransitionTime": since,
    }


def event(node: str, verdict: Verdict, now: float) -> dict[str, Any]:
    """An Event about a Node, as the kubelet makes its own: the name stands for the UID."""
    at = time_text(now)
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"generateName": f"{node}.cpuplan-", "namespace": NAMESPACE},
        "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": node, "uid": node},
        "reason": verdict.reason,
        "message": verdict.message,
        "type": "Normal" if verdict.status == "True" else "Warning",
        "source": {"component": _SOURCE, "host": node},
        "reportingComponent": _SOURCE,
        "reportingInstance": node,
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
    }


def found_in(status: Mapping[str, Any]) -> Mapping[str, str]:
    """The agent's condition in the status of a Node; empty if it has none."""
    conditions = status.get("conditions") or ()
    return next((one for one in conditions if one.get("type") == CONDITION), {})


def time_text(seconds: float) -> str:
    """A time as Kubernetes writes it: to the second, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _short(message: str) -> str:
    return message if len(message) <= _LONGEST else f"{message[: _LONGEST - 3]}..."

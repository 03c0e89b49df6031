"""What the agent tells the API server of its node: a condition, and events where it changes."""

import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from cpuplan.base.text import counted
from cpuplan.node.agent.kubernetes import Api, ApiError
from cpuplan.node.agent.state import View
from cpuplan.plan.expected.evidence import UNREAD

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


def verdict_of(view: View) -> Verdict:
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


#: Seconds after which an unchanged condition is told again, as the kubelet does with its own
#: (nodeStatusReportFrequency): each is a write to etcd, of each node.
_HEARTBEAT = 300


class Reporter:
    """Keeps the condition of one node, and makes events where it changes."""

    def __init__(
        self, api: Api, node: str, log: Callable[[str], None], *, condition: bool, events: bool
    ) -> None:
        self._api, self._node, self._log = api, node, log
        self._with_condition, self._with_events = condition, events
        self._event_status = "True"
        self._told: Verdict | None = None  # by the condition
        self._since = ""  # when the status of the condition changed last
        self._at = 0.0  # when it was told

    def tell(self, view: View) -> None:
        """Tell what is known now; a server that cannot be reached is asked again next time."""
        current = verdict_of(view)
        try:
            if self._with_events:
                self._event(current)
            if self._with_condition:
                self._condition(current)
        except ApiError as error:
            self._log(f"the API server was not told: {error}")

    def stop(self) -> None:
        """Leave no condition behind that nobody looks after."""
        if self._with_condition and self._told:
            try:
                self._condition(STOPPED)
            except ApiError as error:
                self._log(f"the API server was not told: {error}")

    def _event(self, current: Verdict) -> None:
        """An event where the status changes, and one for a first that is not good."""
        if current.status != self._event_status:
            self._api.add_event(NAMESPACE, event(self._node, current, time.time()))
            self._event_status = current.status

    def _condition(self, current: Verdict) -> None:
        if current == self._told and time.monotonic() - self._at < _HEARTBEAT:
            return
        now = time.time()
        if self._told is None or current.status != self._told.status:
            self._since = self._last_transition(current) or time_text(now)
        self._api.set_condition(self._node, condition(current, self._since, now))
        self._told, self._at = current, time.monotonic()

    def _last_transition(self, current: Verdict) -> str:
        """Since when the node has this status, if an agent before this one has said so."""
        if self._told:
            return ""
        known = found_in(self._api.status(self._node))
        return known.get("lastTransitionTime", "") if known.get("status") == current.status else ""

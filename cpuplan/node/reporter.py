"""What the agent tells the API server of its node, and the two calls that it makes for that.

By the standard library: a client library would be larger than the agent. Where the address and the
credentials are: kubernetes.io, "Accessing the Kubernetes API from a Pod". An attempt has a deadline
of the whole, and all attempts together have one: the same loop checks the node.
"""

import http.client
import json
import os
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from cpuplan.base import served
from cpuplan.base.foreign import ForeignError, Limits, load
from cpuplan.base.served import TEXT, Items, Shape, misfit, path_of
from cpuplan.base.text import counted
from cpuplan.node.view import View
from cpuplan.plan.expected.evidence import UNREAD

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
#: Seconds for one attempt, for all, and between attempts unless the server says how long.
_TIMEOUT, _WHOLE = 10.0, 45.0
_PAUSES = (1.0, 2.0, 4.0)
_LONGEST_PAUSE = 10.0
#: What is read of an answer: a Node with 100 images has 50 kB.
_LIMITS = Limits(bytes=4 * 1024 * 1024, values=100_000, depth=100)
#: What is read of a Node: the conditions.
_NODE: Shape = {
    "status": {
        "conditions": Items(
            {
                "type": TEXT,
                "status": TEXT,
                "reason": TEXT,
                "message": TEXT,
                "lastTransitionTime": TEXT,
            }
        )
    }
}
_OK = range(200, 300)
_BUSY, _FIRST_OF_SERVER = 429, 500
_LONGEST_MESSAGE = 300
_JSON = "application/json"
_MERGE = "application/strategic-merge-patch+json"


class ApiError(Exception):
    """What the API server, or the way to it, refused."""


class _RefusalError(Exception):
    """An answer with another status; `pause` is what the server wants to have waited for."""

    def __init__(self, status: int, text: str, pause: float | None) -> None:
        super().__init__(f"{status} {text}")
        self.is_final = status != _BUSY and status < _FIRST_OF_SERVER
        self.pause = pause


class _Connection(http.client.HTTPSConnection):
    """A connection by the deadline. It knows no proxy and follows no redirect."""

    response_class = served.Response

    def __init__(self, host: str, port: int, context: ssl.SSLContext) -> None:
        super().__init__(host, port, context=context)
        self._create_connection = served.connect


class Api:
    """The API server of the cluster that the pod runs in."""

    def __init__(
        self,
        environment: Mapping[str, str] = os.environ,
        account: Path = ACCOUNT,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Raises ApiError outside of a pod."""
        host = environment.get("KUBERNETES_SERVICE_HOST", "")
        port = environment.get("KUBERNETES_SERVICE_PORT", "443")
        if not host:
            raise ApiError("KUBERNETES_SERVICE_HOST is not set, as it is in pods")
        if not (port.isascii() and port.isdigit()):
            raise ApiError(f"KUBERNETES_SERVICE_PORT is {port!r}, and no number")
        self._host, self._port = host, int(port)
        self._account = account
        self._sleep = sleep

    def status(self, node: str) -> dict[str, Any]:
        """The status of a Node."""
        path = _status(node)
        data = self._call("GET", path)
        if wrong := misfit(data, _NODE):
            raise ApiError(f"GET {path}: {path_of(wrong[0]) or 'the answer'} is {wrong[1]}")
        status: dict[str, Any] = data.get("status") or {}
        return status

    def set_condition(self, node: str, condition: Mapping[str, str]) -> None:
        """Add a condition to a Node, or change it; others stay (they are merged by type)."""
        self._call("PATCH", _status(node), {"status": {"conditions": [condition]}}, _MERGE)

    def add_event(self, namespace: str, event: Mapping[str, Any]) -> None:
        """Create an Event."""
        self._call("POST", f"/api/v1/namespaces/{quote(namespace)}/events", event)

    def _call(self, method: str, path: str, body: Any = None, kind: str = _JSON) -> dict[str, Any]:
        """One answer of the server, after some attempts; ApiError with what it said last."""
        data = None if body is None else json.dumps(body).encode()
        try:
            with served.within(_WHOLE):
                return self._tried(method, path, data, kind)
        except TimeoutError as error:
            raise ApiError(f"{method} {path}: {error}") from error

    def _tried(self, method: str, path: str, data: bytes | None, kind: str) -> dict[str, Any]:
        for pause in (*_PAUSES, None):
            wait = pause
            try:
                with served.within(_TIMEOUT):
                    return self._once(method, path, data, kind)
            except _RefusalError as error:
                problem = str(error)
                if error.is_final:
                    break
                wait = error.pause or pause
            except (OSError, http.client.HTTPException, ValueError) as error:
                problem = str(error) or type(error).__name__
            if pause is None or wait is None:
                break
            seconds = min(wait, _LONGEST_PAUSE)
            if seconds >= served.left_or(_WHOLE):
                break
            self._sleep(seconds)
        raise ApiError(f"{method} {path}: {problem}")

    def _once(self, method: str, path: str, data: bytes | None, kind: str) -> dict[str, Any]:
        # The kubelet renews the token, and the authority's certificate, while the pod runs.
        token = (self._account / "token").read_text().strip()
        context = ssl.create_default_context(cafile=str(self._account / "ca.crt"))
        headers = {"Authorization": f"Bearer {token}", "Content-Type": kind, "Accept": _JSON}
        connection = _Connection(self._host, self._port, context)
        try:
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
            text = answer.read(_LIMITS.bytes + 1)
        finally:
            connection.close()
        if answer.status not in _OK:
            pause = _seconds(answer.headers.get("Retry-After", ""))
            raise _RefusalError(answer.status, _message(text) or answer.reason, pause)
        value = load(text, _LIMITS)
        if not isinstance(value, dict):
            raise ForeignError("the answer is no object")
        return value


def _status(node: str) -> str:
    return f"/api/v1/nodes/{quote(node, safe='')}/status"


def _message(text: bytes) -> str:
    """What a Status object says; empty for anything else."""
    try:
        data = load(text, _LIMITS)
    except ForeignError:
        return ""
    said = data.get("message") if isinstance(data, dict) else None
    return " ".join(said.split())[:_LONGEST_MESSAGE] if isinstance(said, str) else ""


def _seconds(given: str) -> float | None:
    """The seconds of Retry-After; a date is not taken."""
    return float(given[:9]) if given.isascii() and given.isdigit() else None


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
        findings = "; ".join(checked.findings)
        verb = "differs" if differ == 1 else "differ"
        texts = (f"{counted(differ, 'fact')} of the plan {verb}: {findings}", beside)
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
    return next((condition for condition in conditions if condition.get("type") == CONDITION), {})


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

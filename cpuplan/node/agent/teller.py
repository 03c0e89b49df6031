"""Tells the API server what holds: when it changes, and now and then that it still does."""

import time
from collections.abc import Callable

from cpuplan.node.agent import verdict
from cpuplan.node.agent.board import View
from cpuplan.node.agent.kubernetes import Api, ApiError
from cpuplan.node.agent.verdict import Verdict

#: Seconds after which an unchanged condition is told again, as the kubelet does with its own
#: (nodeStatusReportFrequency): each is a write to etcd, of each node.
_HEARTBEAT = 300


class Teller:
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
        current = verdict.of(view)
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
                self._condition(verdict.STOPPED)
            except ApiError as error:
                self._log(f"the API server was not told: {error}")

    def _event(self, current: Verdict) -> None:
        """An event where the status changes, and one for a first that is not good."""
        if current.status != self._event_status:
            self._api.add_event(verdict.NAMESPACE, verdict.event(self._node, current, time.time()))
            self._event_status = current.status

    def _condition(self, current: Verdict) -> None:
        if current == self._told and time.monotonic() - self._at < _HEARTBEAT:
            return
        now = time.time()
        if self._told is None or current.status != self._told.status:
            self._since = self._last_transition(current) or verdict.time_text(now)
        self._api.set_condition(self._node, verdict.condition(current, self._since, now))
        self._told, self._at = current, time.monotonic()

    def _last_transition(self, current: Verdict) -> str:
        """Since when the node has this status, if an agent before this one has said so."""
        if self._told:
            return ""
        known = verdict.found_in(self._api.status(self._node))
        return known.get("lastTransitionTime", "") if known.get("status") == current.status else ""

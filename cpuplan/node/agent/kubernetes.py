"""The two calls that the agent makes to the API server, as the pod's service account.

By the standard library: a client library would be larger than the agent. Where the address and the
credentials are: kubernetes.io, "Accessing the Kubernetes API from a Pod". An attempt has a deadline
of the whole, and all attempts together have one: the same loop checks the node.
"""

import http.client
import json
import os
import ssl
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from cpuplan.base import served
from cpuplan.base.foreign import ForeignError, Limits, load
from cpuplan.base.served import TEXT, Items, Shape, misfit, path_of

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
        found: dict[str, Any] = data.get("status") or {}
        return found

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
        found = load(text, _LIMITS)
        if not isinstance(found, dict):
            raise ForeignError("the answer is no object")
        return found


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

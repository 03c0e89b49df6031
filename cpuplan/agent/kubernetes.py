"""The two calls that the agent makes to the API server, as the pod's service account.

By the standard library: a client library would be larger than the agent. Where the address and the
credentials are: kubernetes.io, "Accessing the Kubernetes API from a Pod".
"""

import json
import os
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
#: Seconds for one attempt, and between attempts unless the server says how long.
_TIMEOUT = 10
_PAUSES = (1.0, 2.0, 4.0)
_LONGEST_PAUSE = 10.0
#: Bytes of an answer that are read: a Node with 100 images has 50 kB.
_MOST = 4 * 1024 * 1024
_MERGE = "application/strategic-merge-patch+json"


class ApiError(Exception):
    """What the API server, or the way to it, refused."""


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
        self._url = f"https://{f'[{host}]' if ':' in host else host}:{port}"
        self._account = account
        self._sleep = sleep

    def status(self, node: str) -> dict[str, Any]:
        """The status of a Node."""
        found: dict[str, Any] = self._call("GET", _status(node)).get("status") or {}
        return found

    def set_condition(self, node: str, condition: Mapping[str, str]) -> None:
        """Add a condition to a Node, or change it; others stay (they are merged by type)."""
        self._call("PATCH", _status(node), {"status": {"conditions": [condition]}}, _MERGE)

    def add_event(self, namespace: str, event: Mapping[str, Any]) -> None:
        """Create an Event."""
        self._call("POST", f"/api/v1/namespaces/{quote(namespace)}/events", event)

    def _call(
        self, method: str, path: str, body: Any = None, kind: str = "application/json"
    ) -> dict[str, Any]:
        """One answer of the server, after some attempts; ApiError with what it said last."""
        data = None if body is None else json.dumps(body).encode()
        for pause in (*_PAUSES, None):
            try:
                return self._once(method, path, data, kind)
            except urllib.error.HTTPError as error:
                problem = f"{error.code} {_message(error)}"
                if error.code != 429 and error.code < 500:
                    raise ApiError(f"{method} {path}: {problem}") from error
                wait = _retry_after(error) or pause
            except (OSError, ValueError) as error:
                problem, wait = str(error), pause
            if pause is None:
                break
            self._sleep(min(wait or pause, _LONGEST_PAUSE))
        raise ApiError(f"{method} {path}: {problem}")

    def _once(self, method: str, path: str, data: bytes | None, kind: str) -> dict[str, Any]:
        # The kubelet renews the token, and the authority's certificate, while the pod runs.
        token = (self._account / "token").read_text().strip()
        context = ssl.create_default_context(cafile=str(self._account / "ca.crt"))
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}),
            urllib.request.HTTPSHandler(context=context),
            _NoRedirect(),
        )
        request = urllib.request.Request(  # noqa: S310 - always https
            self._url + path,
            data,
            {
                "Authorization": f"Bearer {token}",
                "Content-Type": kind,
                "Accept": "application/json",
            },
            method=method,
        )
        with opener.open(request, timeout=_TIMEOUT) as answer:
            found: dict[str, Any] = json.loads(answer.read(_MOST))
        return found


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """An API server does not redirect, and the token is for nobody else."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _status(node: str) -> str:
    return f"/api/v1/nodes/{quote(node, safe='')}/status"


def _message(error: urllib.error.HTTPError) -> str:
    """What a Status object says, else the reason of the answer."""
    try:
        return str(json.loads(error.read(_MOST))["message"])
    except (OSError, ValueError, KeyError, TypeError):
        return str(error.reason)


def _retry_after(error: urllib.error.HTTPError) -> float | None:
    given = error.headers.get("Retry-After", "")
    return float(given) if given.isdigit() else None

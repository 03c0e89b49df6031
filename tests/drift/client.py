"""Applies objects as Argo CD does, server-side and strict, reads them back, and compares."""

import json
import ssl
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection, HTTPSConnection
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tests.drift.crds import Kind, kind_of

_APPLY = "fieldManager=cpuplan-test&force=true&fieldValidation=Strict"
_HEADERS = {"Content-Type": "application/apply-patch+yaml", "Accept": "application/json"}


class Answer(NamedTuple):
    """Status and body of an answer, and its warnings."""

    status: int
    body: Any
    warnings: tuple[str, ...] = ()


class Client:
    """Requests to one API server, whose certificate is its own."""

    def __init__(self, address: str, token: str = "") -> None:
        parts = urlsplit(address)
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        if parts.scheme == "https":
            context = ssl._create_unverified_context()  # noqa: S323 - a server of this test
            self._connection: HTTPConnection = HTTPSConnection(parts.netloc, context=context)
        else:
            self._connection = HTTPConnection(parts.netloc)

    def ask(self, method: str, path: str, data: Any = None) -> Answer:
        """One request."""
        body = None if data is None else json.dumps(data)
        self._connection.request(method, path, body, {**_HEADERS, **self._headers})
        answer = self._connection.getresponse()
        text = answer.read().decode()
        warnings = tuple(answer.headers.get_all("Warning", ()))
        try:
            return Answer(answer.status, json.loads(text), warnings)
        except ValueError:
            return Answer(answer.status, text, warnings)

    def close(self) -> None:
        """Begin a new connection with the next request."""
        self._connection.close()

    def apply(self, data: Mapping[str, Any]) -> Answer:
        """Server-side apply, which refuses fields that the server does not know."""
        return self.ask("PATCH", f"{path_of(data)}?{_APPLY}", data)

    def get(self, data: Mapping[str, Any]) -> Answer:
        """The object as it is now."""
        return self.ask("GET", path_of(data))

    def delete(self, data: Mapping[str, Any]) -> Answer:
        """Remove it, so that objects of other clusters may have its name."""
        return self.ask("DELETE", f"{path_of(data)}?propagationPolicy=Background")


def path_of(data: Mapping[str, Any]) -> str:
    """Where the API has an object."""
    metadata = data["metadata"]
    return f"{collection(kind_of(data), metadata.get('namespace', ''))}/{metadata['name']}"


def collection(kind: Kind, namespace: str = "") -> str:
    """Where the API has the objects of a kind."""
    start = f"/apis/{kind.api}" if kind.group else f"/api/{kind.api}"
    place = f"/namespaces/{namespace}" if namespace else ""
    return f"{start}{place}/{kind.plural}"


def differences(sent: Any, live: Any, at: str = "") -> Iterator[str]:
    """Where what is there is not what was sent; fields that the server adds are none."""
    if isinstance(sent, Mapping) and isinstance(live, Mapping):
        for key, value in sent.items():
            if key not in live:
                yield f"{at}.{key} is gone"
            else:
                yield from differences(value, live[key], f"{at}.{key}")
    elif isinstance(sent, list) and isinstance(live, list) and len(sent) == len(live):
        for index, (mine, other) in enumerate(zip(sent, live, strict=True)):
            yield from differences(mine, other, f"{at}[{index}]")
    elif sent != live or type(sent) is not type(live):
        yield f"{at} is {live!r}, not {sent!r}"


def problems(client: Client, data: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with applying an object twice and reading it back."""
    name = f"{data['kind']} {data['metadata']['name']}"
    first = client.apply(data)
    if first.status not in (200, 201):
        yield f"{name} is refused: {first.body}"
        return
    yield from (f"{name}: {warning}" for warning in first.warnings)
    live = client.get(data)
    yield from (f"{name}{difference}" for difference in differences(data, live.body))
    second = client.apply(data)
    versions = [answer.body["metadata"].get("resourceVersion") for answer in (live, second)]
    if versions[0] != versions[1]:
        yield f"{name} is changed by a second apply"

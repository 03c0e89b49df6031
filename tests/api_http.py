"""A server that answers as the API of a cluster does: lists by pages, single objects, refusals.

A hostile one too: whatever a server can say, by the beginning of a path (`Api.hostile`).
"""

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

import yaml

from cpuplan.check.cluster.live_objects import KINDS

TOKEN = "open-sesame"  # noqa: S105 - of a server that lives for one test


class Writer(Protocol):
    """Where an answer goes."""

    def write(self, data: bytes, /) -> object: ...

    def flush(self) -> None: ...


#: Writes an answer, from its first byte on.
Hostile = Callable[[Writer], object]


class Api:
    """The objects of a cluster; what is asked of it is in `asked`.

    `refusals` are statuses by the beginning of a path, with how often they are given; `unserved`
    are groups that nobody knows; `hostile` are answers of bytes, by the beginning of a path.
    """

    def __init__(self, objects: Sequence[Mapping[str, Any]], page: int = 500) -> None:
        self.objects = list(objects)
        self.page = page
        self.refusals: dict[str, tuple[int, int]] = {}
        self.unserved: tuple[str, ...] = ()
        self.asked: list[tuple[str, str]] = []
        self.hostile: dict[str, Hostile] = {}

    def hostile_to(self, path: str) -> Hostile | None:
        """What answers in place of the API."""
        answers = (answer for start, answer in self.hostile.items() if path.startswith(start))
        return next(answers, None)

    def answer(self, method: str, path: str, query: Mapping[str, list[str]]) -> tuple[int, Any]:
        """Status and body."""
        self.asked.append((method, path))
        for start, (status, times) in self.refusals.items():
            if path.startswith(start) and times:
                self.refusals[start] = status, times - 1
                return status, _status(status, f"refused with {status}")
        _, group, *rest = _parts(path)
        if group in self.unserved:
            return 404, "404 page not found\n"
        return self._found(group, rest, query)

    def _found(
        self, group: str, rest: Sequence[str], query: Mapping[str, list[str]]
    ) -> tuple[int, Any]:
        version, *names = rest
        namespace = ""
        if names[0] == "namespaces" and len(names) > 2:
            namespace, names = names[1], names[2:]
        listed = [item for item in self.objects if _is_of(item, group, names[0])]
        if not listed and names[0] not in {kind.plural for kind in KINDS.values()}:
            return 404, "404 page not found\n"
        if len(names) == 1:
            return 200, self._page(listed, int(query.get("continue", ["0"])[0]), version)
        for item in listed:
            metadata = item["metadata"]
            if (metadata["name"], metadata.get("namespace", "")) == (names[1], namespace):
                return 200, item
        return 404, _status(404, f"{names[0]} {names[1]} not found", name=names[1])

    def _page(self, listed: Sequence[Any], start: int, version: str) -> dict[str, Any]:
        end = start + self.page
        metadata = {"continue": str(end)} if end < len(listed) else {}
        bare = [_without_kind(item) for item in listed[start:end]]
        return {"kind": "List", "apiVersion": version, "metadata": metadata, "items": bare}


def _without_kind(item: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key not in ("kind", "apiVersion")}


def _parts(path: str) -> list[str]:
    """`api` or `apis`, the group (empty for the core), the version, and the rest."""
    first, *rest = path.strip("/").split("/")
    return [first, "", *rest] if first == "api" else [first, *rest]


def _is_of(item: Mapping[str, Any], group: str, plural: str) -> bool:
    kind = KINDS.get(item["kind"])
    return kind is not None and (kind.group, kind.plural) == (group, plural)


def _status(code: int, message: str, name: str = "") -> dict[str, Any]:
    reasons = {401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 410: "Expired"}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": message,
        "reason": reasons.get(code, "InternalError"),
        "details": {"name": name} if name else {},
        "code": code,
    }


def answer(
    body: Any, status: int = 200, kind: str = "application/json", **headers: object
) -> Hostile:
    """An answer with a body: bytes, or data as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    words = {"Content-Type": kind, "Content-Length": len(data), **headers}
    lines = [f"{name.replace('_', '-')}: {value}\r\n" for name, value in words.items()]
    head = f"HTTP/1.1 {status} Said\r\n{''.join(lines)}\r\n".encode()

    def write(file: Writer) -> None:
        file.write(head + data)

    return write


def dripping(data: bytes, wait: Callable[[], object], sent: list[bytes], head: bytes) -> Hostile:
    """An answer of which each byte after the head comes by itself, after a while."""

    def write(file: Writer) -> None:
        file.write(head)
        file.flush()
        for at in range(len(data)):
            wait()
            file.write(data[at : at + 1])
            file.flush()
            sent.append(data[at : at + 1])

    return write


@contextmanager
def serving(api: Api) -> Iterator[str]:
    """The address of a server that runs meanwhile."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if hostile := api.hostile_to(parts.path):
                api.asked.append(("GET", parts.path))
                self.close_connection = True
                with suppress(OSError):  # who asked has gone
                    hostile(self.wfile)
                return
            if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                self._send(401, _status(401, "Unauthorized"))
                return
            with suppress(OSError):
                self._send(*api.answer("GET", parts.path, parse_qs(parts.query)))

        def _send(self, status: int, body: Any) -> None:
            text = body if isinstance(body, str) else json.dumps(body)
            data = text.encode()
            self.send_response(status)
            kind = "text/plain" if isinstance(body, str) else "application/json"
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Nothing: what was asked is kept by the API."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def kubeconfig(path: Path, server: str, user: Mapping[str, Any] | None = None) -> Path:
    """A file with one context, `test`."""
    data = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": server}}],
        "users": [{"name": "me", "user": dict(user or {"token": TOKEN})}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "me"}}],
    }
    path.write_text(yaml.safe_dump(data))
    return path

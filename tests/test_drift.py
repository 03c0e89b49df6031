"""Nothing drifts: an API server gives emitted objects back as they were sent.

In every run, by the schemas of CRDs with their defaults. With the programs that CPUPLAN_ETCD and
CPUPLAN_KUBE_APISERVER name, on a real server: each object is applied server-side with strict
validation, twice, and read back.
"""

import copy
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.drift import crds, objects, server
from tests.drift.client import Client, collection, differences, path_of, problems
from tests.projects import needs_shared

#: What a server answers about an API that it does not serve.
_UNSERVED = (404, 405)


def kinds() -> set[str]:
    """All kinds that are emitted."""
    return {item["kind"] for _, members in objects.every() for item in members}


def test_every_kind_is_known() -> None:
    assert kinds() == {*crds.BUILT_IN, *crds.CUSTOM}


@needs_shared
def test_no_default_changes_an_object() -> None:
    """What a server adds is listed, with the reason why it is no difference."""
    added: dict[str, set[str]] = {}
    for where, members in objects.every():
        for item in members:
            if more := crds.additions(item):
                added.setdefault(item["kind"], set()).update(more)
                assert more <= crds.ADDED.get(item["kind"], set()), where
    assert added == crds.ADDED


@needs_shared
@pytest.mark.parametrize(
    ("field", "value"),
    [(("spec", "kernelPageSize"), "64k"), (("spec", "workloadHints"), {"realTime": True})],
)
def test_what_is_written_is_not_defaulted(field: tuple[str, str], value: Any) -> None:
    profile: dict[str, Any] = {
        "apiVersion": "performance.openshift.io/v2",
        "kind": "PerformanceProfile",
        "spec": {},
    }
    assert crds.additions(profile) == {"spec.kernelPageSize"}
    profile["spec"][field[1]] = value
    of_hints = {"spec.kernelPageSize"} if field[1] == "workloadHints" else set()
    assert crds.additions(profile) == of_hints
    # A parent that is there gets the defaults of its fields.
    profile["spec"]["workloadHints"] = {}
    assert "spec.workloadHints.realTime" in crds.additions(profile)


@pytest.mark.slow
@pytest.mark.skipif(bool(server.missing()), reason=server.missing())
def test_a_real_server_keeps_every_object(tmp_path: Path) -> None:
    with server.running(tmp_path) as client:
        clusters = list(objects.every())
        everything = [item for _, members in clusters for item in members]
        _define(client, everything)
        refused = [wrong for _, members in clusters for wrong in _applied(client, members)]
    assert refused == []


def _define(client: Client, everything: list[dict[str, Any]]) -> None:
    """The CRDs and namespaces of all objects."""
    custom = {crds.kind_of(item) for item in everything if item["kind"] in crds.CUSTOM}
    base = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    apply = "fieldManager=cpuplan-test&force=true"
    for kind in sorted(custom):
        data = crds.definition(kind)
        name = data["metadata"]["name"]
        answer = client.ask("PATCH", f"{base}/{name}?{apply}", data)
        assert answer.status in (200, 201), answer.body
    server.until(lambda: all(_is_served(client, kind) for kind in custom))
    for namespace in sorted({item["metadata"].get("namespace", "") for item in everything} - {""}):
        made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        assert client.apply(made).status in (200, 201)


def _is_served(client: Client, kind: crds.Kind) -> bool:
    return client.ask("GET", collection(kind)).status == 200


def _applied(client: Client, members: list[dict[str, Any]]) -> Iterator[str]:
    """What is wrong with the objects of one cluster; they are gone afterwards."""
    for item in members:
        # APIs behind a gate that is off, or that a newer server does not serve any more.
        kind = crds.kind_of(item)
        if client.ask("GET", f"/apis/{kind.api}").status in _UNSERVED and kind.group:
            assert kind.version != "v1", kind
            continue
        yield from problems(client, item)
    for item in reversed(members):
        if item["kind"] != "Namespace":
            client.delete(item)


class Store:
    """A server that keeps what is applied, after `changes` were made to it."""

    def __init__(self, changes: dict[str, Any] | None = None, *, restless: bool = False) -> None:
        self.changes = changes or {}
        self.restless = restless
        self.kept: dict[str, dict[str, Any]] = {}

    def apply(self, path: str, data: dict[str, Any]) -> dict[str, Any]:
        made = copy.deepcopy(data)
        made["spec"] = {**made.get("spec", {}), **self.changes}
        before = self.kept.get(path)
        version = int(before["metadata"]["resourceVersion"]) if before else 0
        if before is None or self.restless:
            version += 1
        made["metadata"]["resourceVersion"] = str(version)
        self.kept[path] = made
        return made


@contextmanager
def serving(store: Store) -> Iterator[Client]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_PATCH(self) -> None:
            length = int(self.headers["Content-Length"])
            data = json.loads(self.rfile.read(length))
            self._send(store.apply(self.path.partition("?")[0], data))

        def do_GET(self) -> None:
            self._send(store.kept[self.path])

        def _send(self, body: Any) -> None:
            data = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever, daemon=True)
    thread.start()
    client = Client(f"http://127.0.0.1:{listening.server_port}")
    try:
        yield client
    finally:
        client.close()
        listening.shutdown()
        listening.server_close()


POOL: dict[str, Any] = {
    "apiVersion": "machineconfiguration.openshift.io/v1",
    "kind": "MachineConfigPool",
    "metadata": {"name": "worker"},
    "spec": {"paused": True, "maxUnavailable": 1},
}


@pytest.mark.parametrize(
    ("store", "expected"),
    [
        (Store(), []),
        (Store({"configuration": {"name": "rendered-worker-1"}}), []),
        (Store({"paused": False}), ["MachineConfigPool worker.spec.paused is False, not True"]),
        (Store({"paused": 1}), ["MachineConfigPool worker.spec.paused is 1, not True"]),
        (Store(restless=True), ["MachineConfigPool worker is changed by a second apply"]),
    ],
)
def test_a_server_that_changes_something_is_found(store: Store, expected: list[str]) -> None:
    with serving(store) as client:
        assert list(problems(client, POOL)) == expected


def test_differences_of_lists() -> None:
    assert list(differences({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2, "c": 3}], "d": 4})) == []
    assert list(differences({"a": [1]}, {"a": [1, 2]})) == [".a is [1, 2], not [1]"]
    assert list(differences({"a": {"b": 1}}, {"a": {}})) == [".a.b is gone"]


def test_paths_of_the_api() -> None:
    start = "/apis/machineconfiguration.openshift.io/v1/machineconfigpools"
    assert path_of(POOL) == f"{start}/worker"
    config: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap"}
    config["metadata"] = {"name": "a", "namespace": "b"}
    assert path_of(config) == "/api/v1/namespaces/b/configmaps/a"

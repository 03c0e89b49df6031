"""`check cluster` against servers that refuse, fail, lie, drip and never end.

Each ends with a word, and none is a pass.
"""

import json
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import api_http
from tests.api_http import Api, Hostile, Writer, answer, kubeconfig, serving
from tests.projects import REJECTED, make_project, run_in

pytest.importorskip("kubernetes", reason="the extra cluster is not installed")

NODES, CLASSES = "/api/v1/nodes", "/apis/node.k8s.io"
FORBIDDEN = {
    "kind": "Status",
    "reason": "Forbidden",
    "message": 'nodes is forbidden: User "me" cannot list resource "nodes" in API group ""',
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from contextlib import chdir

    from cpuplan.cli.main import run

    folder = make_project(tmp_path_factory.mktemp("made"), REJECTED / "CP888-other-handler")
    with chdir(folder):
        assert run(["compile", "-q"]) == 0
    return folder


def good(project: Path) -> list[dict[str, Any]]:
    """The objects of a cluster that took what was compiled."""
    files = sorted((project / "out/clusters/lab/expected/objects").glob("*.json"))
    listed = [json.loads(file.read_text())["object"] for file in files]
    for name in ("worker-0", "worker-1"):
        status = {"capacity": {"cpu": "16"}, "allocatable": {"cpu": "10"}}
        listed.append(
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}
        )
    return listed


class Asked:
    """The command, its server, and what it said."""

    def __init__(self, project: Path, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.project, self.folder, self.capture = project, folder, capture
        self.api = Api(good(project))
        self.api.unserved = ("topology.node.k8s.io",)
        self.code, self.out, self.said = 0, "", ""

    def __call__(self, *options: str) -> int:
        with serving(self.api) as server:
            file = kubeconfig(self.folder / "config", server)
            words = ["check", "cluster", "--kubeconfig", str(file), *options]
            self.code, self.out, self.said = run_in(self.project, words, self.capture)
        return self.code


@pytest.fixture
def asked(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> Asked:
    monkeypatch.setattr("time.sleep", lambda _: None)
    return Asked(project, tmp_path, capsys)


def test_a_cluster_that_took_everything(asked: Asked) -> None:
    assert asked() == 0
    assert asked.said.startswith("2 of 2 nodes hold what was compiled (")


@pytest.mark.parametrize("status", [403, 429, 500, 502, 503, 504, 418])
def test_nothing_that_is_refused_holds(asked: Asked, status: int) -> None:
    asked.api.refusals["/"] = status, 10_000
    assert asked() == 7
    code = "CP8130" if status == 403 else "CP8131"
    assert asked.said.startswith(f"error[{code}]: ")
    assert "error[CP8132]: 2 of 2 nodes (all): 0 of 8 facts were looked at" in asked.said
    last = asked.said.splitlines()[-1]
    assert last.startswith("not verified: 2 of 2 nodes; 0 of 2 nodes hold what was compiled (0 ")
    assert len(asked.api.asked) < 60


def test_a_client_that_takes_all_of_the_time(asked: Asked, monkeypatch: Any) -> None:
    def over() -> float:
        raise TimeoutError("there was no whole answer in time")

    monkeypatch.setattr("cpuplan.base.served.left", over)
    assert asked("--timeout", "6s") == 2
    assert "error[CP897]: " in asked.said
    assert "--timeout gives it more" in asked.said


@pytest.mark.parametrize("status", [401, 403, 500])
def test_credentials_that_a_server_repeats_are_not_printed(asked: Asked, status: int) -> None:
    told = {"kind": "Status", "message": f"got Authorization: Bearer {api_http.TOKEN}"}
    asked.api.hostile["/"] = answer(told, status)
    assert asked() in (2, 7)
    assert api_http.TOKEN not in asked.said + asked.out
    assert "REDACTED" in asked.said


def test_the_missing_right_and_what_gives_it(asked: Asked) -> None:
    asked.api.hostile[NODES] = answer(FORBIDDEN, 403)
    assert asked() == 7
    assert (
        "error[CP8130]: nodes are not verified: the user may not list nodes (nodes is forbidden: "
        'User "me" cannot list resource "nodes" in API group "")'
    ) in asked.said
    assert "--verb=get,list --resource=nodes`" in asked.said


def test_a_right_for_some_objects_only(asked: Asked) -> None:
    """Nodes hold; of one object nothing is known, and that is no pass."""
    asked.api.refusals[CLASSES] = 403, 10_000
    assert asked() == 7
    assert "the user may not get runtimeclasses.node.k8s.io" in asked.said
    assert "rule {apiGroups: ['node.k8s.io'], resources: ['runtimeclasses'], verbs" in asked.said
    assert asked.said.splitlines()[-1].startswith("2 of 2 nodes hold what was compiled (")


def test_what_differs_counts_more_than_what_is_refused(asked: Asked) -> None:
    asked.api.refusals[CLASSES] = 403, 10_000
    asked.api.objects[-1]["status"]["allocatable"]["cpu"] = "12"
    assert asked() == 1
    assert asked.said.index("CP8130") < asked.said.index("CP890")


@pytest.mark.parametrize(
    ("threshold", "code"), [("1", 0), ("2", 0), ("3", 7), ("25%", 0), ("26%", 7), ("100%", 7)]
)
def test_how_much_is_enough(asked: Asked, threshold: str, code: int) -> None:
    """Of each node two facts hold, and six are not known without an exporter."""
    assert asked("--min-verified", threshold) == code
    wanted = threshold if "%" in threshold else f"at least {threshold}"
    told = f"2 of 8 facts were looked at, and it must be {wanted}"
    assert (f"2 of 2 nodes (all): {told}" in asked.said) is (code == 7)
    assert ("2 of 2 nodes hold" in asked.said) is (code == 0)


@pytest.mark.parametrize("threshold", ["", "0", "-1", "101%", "0%", "many", "1.5", "9999999"])
def test_what_is_no_threshold(asked: Asked, threshold: str) -> None:
    assert asked("--min-verified", threshold) == 2


@pytest.mark.parametrize("output_format", ["json", "junit", "sarif", "github", "gitlab", "jsonl"])
def test_every_format_says_that_nothing_is_verified(asked: Asked, output_format: str) -> None:
    asked.api.refusals["/"] = 403, 10_000
    assert asked("--format", output_format) == 7
    assert "CP8130" in asked.out
    assert "CP8132" in asked.out
    if output_format == "json":
        report = json.loads(asked.out)
        assert [node["verified"]["is_enough"] for node in report["nodes"]] == [False, False]
        assert report["diagnostics"][0]["code"] in ("CP8130", "CP8132")
    if output_format == "junit":
        assert re.search(r'<testsuites name="cpuplan check" .* errors="[2-9]"', asked.out)
        assert '<error type="CP8132"' in asked.out


def test_waiting_goes_on_while_something_is_not_seen(asked: Asked) -> None:
    """A right that is given later is waited for."""
    asked.api.refusals[NODES] = 403, 2
    assert asked("--wait", "1h") == 0
    assert "waiting: nodes are not verified: the user may not list nodes" in asked.said
    assert "waiting: 2 of 2 nodes are not verified" in asked.said


def deep(open_: bytes, number: int = 3_000) -> bytes:
    return open_ * number


NULL_ITEMS: list[Any] = [
    {"items": [None]},
    {"items": 1},
    {"items": "x"},
    {"items": {"a": 1}},
    {"items": [[]]},
    {"items": [1]},
    {"items": ["worker-0"]},
    {},
    {"kind": "PodList", "items": []},
    {"items": [], "metadata": 3},
    {"items": [], "metadata": {"continue": 5}},
    {"items": [{}]},
    {"items": [{"metadata": None}]},
    {"items": [{"metadata": []}]},
    {"items": [{"metadata": {"name": 1}}]},
    {"items": [{"metadata": {"name": ["worker-0"]}}]},
    {"items": [{"metadata": {"name": "worker-0", "labels": "x"}}]},
    {"items": [{"metadata": {"name": "worker-0", "annotations": {"a": {}}}}]},
    {"items": [{"metadata": {"name": "worker-0"}, "status": []}]},
    {"items": [{"metadata": {"name": "worker-0"}, "status": {"capacity": []}}]},
    {"items": [{"metadata": {"name": "worker-0"}, "status": {"capacity": {"cpu": [1]}}}]},
    {"items": [{"metadata": {"name": "worker-0"}, "status": {"capacity": {"cpu": 1.5}}}]},
    {"items": [{"metadata": {"name": "worker-0"}, "status": {"allocatable": {"cpu": True}}}]},
    {"items": [{"metadata": {"name": "worker-0"}, "kind": "Pod"}]},
    {"items": [{"metadata": {"name": "worker-0"}, "apiVersion": "v2"}]},
    {"items": [{"metadata": {"name": "worker-0"}}, {"metadata": {"name": "worker-0"}}]},
    {"items": [{"metadata": {"name": "worker-0"}, "status": {"capacity": {"cpu": "\ud800"}}}]},
]


@pytest.mark.parametrize("body", NULL_ITEMS, ids=json.dumps)
def test_lists_that_no_api_server_gives(asked: Asked, body: Any) -> None:
    asked.api.hostile[NODES] = answer(body)
    assert asked() == 7
    assert "error[CP8131]: nodes are not verified: /api/v1/nodes cannot be read: " in asked.said
    assert "0 of 2 nodes hold" in asked.said


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "Pod", "metadata": {"name": "performance-main"}},
        {"kind": "RuntimeClass", "metadata": {"name": "other"}},
        {"kind": "RuntimeClass", "metadata": {}},
        {"kind": "RuntimeClass"},
        {"kind": "RuntimeClass", "metadata": {"name": "performance-main", "labels": [1]}},
        {"apiVersion": "v1", "metadata": {"name": "performance-main"}},
    ],
)
def test_objects_that_are_others_than_asked_for(asked: Asked, body: Any) -> None:
    asked.api.hostile[CLASSES] = answer(body)
    assert asked() == 7
    assert "error[CP8131]: runtimeclasses are not verified: " in asked.said


@pytest.mark.parametrize(
    "body",
    [
        deep(b"["),
        deep(b"[", 100_000),
        deep(b'{"a":'),
        deep(b"[") + b"1" + deep(b"]"),
        b"<html>Log in</html>",
        b"",
        b"null",
        b"[]",
        b"NaN",
        b'{"items": [' + b"9" * 5_000 + b"]}",
        b'{"items": [NaN]}',
        b"\xff\xfe{}",
        b'{"items": [' + b"{}," * 1_000_000 + b"{}]}",
    ],
    ids=lambda body: repr(body[:20]),
)
@pytest.mark.parametrize("kind", ["application/json", "text/html; charset=utf-8"])
def test_what_is_no_api_server(asked: Asked, body: bytes, kind: str) -> None:
    asked.api.hostile["/"] = answer(body, kind=kind)
    assert asked() == 2
    assert "error[CP897]: cluster lab cannot be read: " in asked.said


@pytest.mark.parametrize("status", [404, 403, 500, 401, 410])
def test_refusals_with_a_deep_body(asked: Asked, status: int) -> None:
    asked.api.hostile["/"] = answer(deep(b"["), status)
    assert asked() in (2, 7)
    assert "nodes" in asked.said


def test_an_object_that_is_nested_deeply(asked: Asked) -> None:
    body = b'{"items":[{"metadata":{"name":"worker-0"},"spec":' + deep(b"[", 500) + deep(b"]", 500)
    asked.api.hostile[NODES] = answer(body + b"}]}")
    assert asked() == 7
    assert "Node worker-0 is nested deeper than 100 levels" in asked.said


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    "later", ["100000", "9" * 400, "-1", "soon", "Fri, 31 Dec 2099 23:59:59 GMT"]
)
def test_a_server_that_wants_to_be_asked_much_later(asked: Asked, status: int, later: str) -> None:
    asked.api.hostile[NODES] = answer({"message": "busy"}, status, Retry_After=later)
    assert asked() == 7
    assert "/api/v1/nodes cannot be read: busy" in asked.said


def test_how_long_a_busy_server_is_waited_for(asked: Asked, monkeypatch: Any) -> None:
    paused: list[float] = []
    monkeypatch.setattr("time.sleep", paused.append)
    asked.api.hostile["/"] = answer({"message": "busy"}, 503, Retry_After="5")
    assert asked() == 7
    assert paused == [5, 5, 5]


_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n"
_CHUNKED = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
)


@pytest.mark.parametrize(
    ("head", "data"),
    [
        (_HEAD, b" " * 5_000),
        (_CHUNKED, b"1\r\n \r\n" * 1_000),
        (b"", _HEAD + b" " * 5_000),
        (b"HTTP/1.1 200 OK\r\nX: ", b"a" * 5_000),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 200),
        (b"HTTP/1.1 500 Sorry\r\nContent-Length: 5000\r\n\r\n", b" " * 5_000),
    ],
    ids=["body", "chunks", "all", "header", "continue", "refusal"],
)
def test_an_answer_that_drips(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], head: bytes, data: bytes
) -> None:
    """It ends although each read is quick: long before the last byte."""
    asked, sent = Asked(project, tmp_path, capsys), list[bytes]()
    pause = threading.Event()
    asked.api.hostile["/"] = api_http.dripping(data, lambda: pause.wait(0.02), sent, head)
    assert asked("--timeout", "2s") == 2
    assert "there was no whole answer for /api/v1/nodes" in asked.said
    assert len(sent) < len(data)
    assert len(asked.api.asked) == 1


def test_a_server_that_never_says_anything(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked, over = Asked(project, tmp_path, capsys), threading.Event()
    asked.api.hostile["/"] = lambda _: over.wait(30)
    assert asked("--timeout", "1s") == 2
    over.set()
    assert "there was no whole answer for /api/v1/nodes" in asked.said


def endless(page: Callable[[int], Any]) -> Hostile:
    numbers = iter(range(10**9))

    def write(file: Writer) -> None:
        answer(page(next(numbers)))(file)

    return write


def _node(name: str, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, **more}


@pytest.mark.parametrize(
    "page",
    [
        lambda at: {"items": [], "metadata": {"continue": str(at)}},
        lambda _: {"items": [], "metadata": {"continue": "same"}},
        lambda at: {"items": [_node(f"n{at}")], "metadata": {"continue": str(at)}},
    ],
    ids=["empty", "same", "more"],
)
def test_pages_without_end(asked: Asked, page: Callable[[int], Any]) -> None:
    asked.api.hostile[NODES] = endless(page)
    assert asked() == 7
    assert "there are more than 100,000, or its pages lead in a circle" in asked.said
    assert len(asked.api.asked) < 250


def test_objects_that_are_too_much_together(asked: Asked, monkeypatch: Any) -> None:
    monkeypatch.setattr("cpuplan.check.cluster.reading.MAX_VALUES", 1_000)
    body = {"items": [_node("worker-0", spec={"a": list(range(1_000))})]}
    asked.api.hostile[NODES] = answer(body)
    assert asked() == 7
    assert "all objects together have more than 1,000 values" in asked.said


def test_an_answer_without_end(asked: Asked, monkeypatch: Any) -> None:
    from cpuplan.base.foreign import Limits

    monkeypatch.setattr("cpuplan.check.cluster.client.LIMITS", Limits(10_000, 10_000, 100))
    asked.api.hostile[NODES] = answer(b" " * 20_000)
    assert asked() == 7
    assert "an answer has more than 10,000 bytes" in asked.said


def test_a_list_of_other_nodes(asked: Asked) -> None:
    asked.api.hostile[NODES] = answer({"items": [_node("other")]})
    assert asked() == 1
    assert "Node worker-0 is not there: the cluster has no Node worker-0" in asked.said


def test_an_empty_list_of_nodes(asked: Asked) -> None:
    asked.api.hostile[NODES] = answer({"kind": "NodeList", "items": []})
    assert asked() == 1


def test_nodes_that_nobody_serves(asked: Asked) -> None:
    asked.api.hostile[NODES] = answer(b"404 page not found", 404, "text/plain")
    assert asked() == 2
    assert "it has no nodes: it is no API server of a cluster" in asked.said


def test_the_token_goes_nowhere_else(asked: Asked) -> None:
    other = Api([])
    with serving(other) as address:
        asked.api.hostile["/"] = answer({}, 302, Location=f"{address}/api/v1/nodes")
        assert asked() == 2
    assert other.asked == []
    assert "it sends to another address (302)" in asked.said


def test_no_proxy_of_the_environment_gets_the_token(asked: Asked, monkeypatch: Any) -> None:
    proxy = Api([])
    with serving(proxy) as address:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, address)
        assert asked() == 0
    assert proxy.asked == []


def test_a_packed_answer_is_not_unpacked(asked: Asked) -> None:
    import gzip

    body = gzip.compress(b"[" * 10_000_000)
    asked.api.hostile["/"] = answer(body, Content_Encoding="gzip")
    assert asked() == 2
    assert "is no JSON" in asked.said


def test_a_program_that_never_gives_credentials(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "sleep",
        "args": ["15"],
        "interactiveMode": "Never",
    }
    with serving(Api([])) as server:
        file = kubeconfig(tmp_path / "config", server, {"exec": program})
        words = ["check", "cluster", "--kubeconfig", str(file), "--timeout", "1s"]
        code, _, said = run_in(project, words, capsys)
    assert code == 2
    assert "the program of the kubeconfig that gives credentials did not end in 1 s" in said


@pytest.mark.parametrize("timeout", ["0", "-5m", "x", "999999h"])
def test_what_is_no_timeout(asked: Asked, timeout: str) -> None:
    assert asked("--timeout", timeout) == 2
    assert not asked.api.asked

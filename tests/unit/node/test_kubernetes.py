"""The calls to the API server, over HTTPS to a server that answers as it is told."""

import json
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cpuplan.node.reporter import Api, ApiError
from tests.api_http import Writer

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
REFUSED = {"kind": "Status", "message": 'nodes "n" is forbidden'}


class Request(NamedTuple):
    method: str
    path: str
    kind: str
    account: str
    body: Any


class Server(HTTPServer):
    """Answers with what `answers` has next, and keeps what it was asked."""

    answers: list[tuple[int, dict[str, str], Any]]
    asked: list[Request]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def answer(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(length)) if length else None
        kind, account = self.headers["Content-Type"], self.headers["Authorization"]
        self.server.asked.append(Request(self.command, self.path, kind, account, body))
        status, headers, data = self.server.answers.pop(0)
        text = data if isinstance(data, bytes) else json.dumps(data).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PATCH = answer  # noqa: N815 - the names in http.server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a pod has of its service account; the server's key lies beside it."""
    folder = tmp_path_factory.mktemp("account")
    words = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 "
    words += "-addext subjectAltName=IP:127.0.0.1 -keyout key -out ca.crt"
    subprocess.run(["openssl", *words.split()], cwd=folder, check=True, capture_output=True)
    (folder / "token").write_text("first\n")
    return folder


@pytest.fixture
def server(account: Path) -> Iterator[Server]:
    made = Server(("127.0.0.1", 0), Handler)
    made.answers, made.asked = [], []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(account / "ca.crt", account / "key")
    made.socket = context.wrap_socket(made.socket, server_side=True)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def api(server: Server, account: Path, pauses: list[float]) -> Api:
    environment = {
        "KUBERNETES_SERVICE_HOST": "127.0.0.1",
        "KUBERNETES_SERVICE_PORT": str(server.server_port),
    }
    return Api(environment, account, pauses.append)


def test_a_condition_is_merged_with_the_others(server: Server, account: Path) -> None:
    server.answers = [(200, {}, {})]
    api(server, account, []).set_condition("a/b", {"type": "CPUPlanHolds"})
    kind = "application/strategic-merge-patch+json"
    body = {"status": {"conditions": [{"type": "CPUPlanHolds"}]}}
    path = "/api/v1/nodes/a%2Fb/status"
    assert server.asked == [Request("PATCH", path, kind, "Bearer first", body)]


def test_the_token_is_read_again(server: Server, account: Path) -> None:
    server.answers = [(200, {}, {"status": {"a": 1}}), (201, {}, {})]
    client = api(server, account, [])
    assert client.status("n") == {"a": 1}
    (account / "token").write_text("second\n")
    client.add_event("default", {"kind": "Event"})
    assert [request.account for request in server.asked] == ["Bearer first", "Bearer second"]
    assert server.asked[1][:2] == ("POST", "/api/v1/namespaces/default/events")
    (account / "token").write_text("first\n")


def test_a_busy_server_is_asked_again(server: Server, account: Path) -> None:
    pauses: list[float] = []
    server.answers = [
        (429, {"Retry-After": "3"}, {}),
        (503, {"Retry-After": "99"}, b"no JSON"),
        (500, {}, {}),
        (200, {}, {}),
    ]
    assert api(server, account, pauses).status("n") == {}
    assert pauses == [3, 10, 4]


def test_a_server_that_stays_busy(server: Server, account: Path) -> None:
    pauses: list[float] = []
    server.answers = [(503, {}, {"message": "overloaded"})] * 4
    with pytest.raises(ApiError, match="GET /api/v1/nodes/n/status: 503 overloaded"):
        api(server, account, pauses).status("n")
    assert pauses == [1, 2, 4]


@pytest.mark.parametrize("status", [401, 403, 404, 409])
def test_what_is_refused_is_not_asked_again(server: Server, account: Path, status: int) -> None:
    server.answers = [(status, {}, REFUSED)]
    with pytest.raises(ApiError, match=f'{status} nodes "n" is forbidden'):
        api(server, account, []).status("n")


def test_the_token_is_sent_nowhere_else(server: Server, account: Path) -> None:
    server.answers = [(302, {"Location": f"https://127.0.0.1:{server.server_port}/x"}, {})]
    with pytest.raises(ApiError, match="302"):
        api(server, account, []).status("n")
    assert len(server.asked) == 1


def test_another_authority_is_not_believed(server: Server, account: Path, tmp_path: Path) -> None:
    words = "req -x509 -newkey rsa:2048 -nodes -subj /CN=127.0.0.1 -keyout key -out ca.crt"
    subprocess.run(["openssl", *words.split()], cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "token").write_text("secret")
    with pytest.raises(ApiError, match="CERTIFICATE_VERIFY_FAILED"):
        api(server, tmp_path, []).status("n")
    assert not server.asked


def test_an_answer_that_is_no_json(server: Server, account: Path) -> None:
    server.answers = [(200, {}, b"<html>")] * 4
    with pytest.raises(ApiError, match="Expecting value"):
        api(server, account, []).status("n")


def test_outside_of_a_pod() -> None:
    with pytest.raises(ApiError, match="KUBERNETES_SERVICE_HOST is not set"):
        Api({})


class Time:
    """Writes bytes one by one, after a pause each, until nobody reads them."""

    def __init__(self, pause: float) -> None:
        self.sent = 0
        self._wait = threading.Event()
        self._pause = pause

    def drip(self, file: Writer, data: bytes) -> None:
        with suppress(OSError):
            for at in range(len(data)):
                self._wait.wait(self._pause)
                file.write(data[at : at + 1])
                file.flush()
                self.sent += 1


HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n"


@pytest.mark.parametrize("begun", [b"", HEAD], ids=["head", "body"])
def test_an_answer_that_drips(
    server: Server, account: Path, monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    """Each byte is quick, and the whole has an end: of an attempt, and of all."""
    monkeypatch.setattr("cpuplan.node.reporter._TIMEOUT", 0.3)
    time = Time(0.02)

    def answer(handler: Handler) -> None:
        handler.wfile.write(begun)
        handler.close_connection = True
        time.drip(handler.wfile, HEAD + b" " * 3000)

    monkeypatch.setattr(Handler, "do_GET", answer)
    pauses: list[float] = []
    with pytest.raises(ApiError, match=r"there was no whole answer in time|timed out"):
        api(server, account, pauses).status("n")
    assert pauses == [1, 2, 4]
    assert time.sent < 4 * 200


def test_all_attempts_have_an_end(
    server: Server, account: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cpuplan.node.reporter._WHOLE", 5.0)
    pauses: list[float] = []
    server.answers = [(503, {"Retry-After": "100000"}, {"message": "busy"})] * 4
    with pytest.raises(ApiError, match="503 busy"):
        api(server, account, pauses).status("n")
    assert pauses == []


@pytest.mark.parametrize(
    "data",
    [
        {"status": []},
        {"status": {"conditions": [None]}},
        {"status": {"conditions": 1}},
        {"status": {"conditions": [{"type": ["CPUPlanHolds"]}]}},
        {"status": {"conditions": [{"type": "CPUPlanHolds", "lastTransitionTime": 3}]}},
        [],
        None,
        b"[" * 3000,
        b'{"a":' * 3000,
        b"9" * 5000,
        b"[" + b"1," * 200_000 + b"1]",
        b" " * (5 * 1024 * 1024),
    ],
    ids=lambda data: repr(data)[:30],
)
def test_an_answer_that_no_api_server_gives(server: Server, account: Path, data: Any) -> None:
    server.answers = [(200, {}, data)] * 4
    with pytest.raises(ApiError, match="GET /api/v1/nodes/n/status: "):
        api(server, account, []).status("n")


@pytest.mark.parametrize("later", ["9" * 400, "-1", "1e9", "\u0661", "soon"])
def test_how_long_a_server_wants_to_be_waited_for(
    server: Server, account: Path, later: str
) -> None:
    pauses: list[float] = []
    text = later.encode("utf-8").decode("latin-1")
    server.answers = [(503, {"Retry-After": text}, b"["), (200, {}, {})]
    assert api(server, account, pauses).status("n") == {}
    assert pauses in ([1], [10])


def test_no_proxy_of_the_environment(
    server: Server, account: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    server.answers = [(200, {}, {})]
    assert api(server, account, []).status("n") == {}

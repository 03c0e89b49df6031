"""The agent's HTTP server."""

import http.client
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, suppress

import pytest

from cpuplan.node import server as agent_server
from cpuplan.node.server import Answer, Server, metrics

PAGES = {
    "/metrics": metrics(lambda: "up 1\n"),
    "/healthz": lambda: Answer("ok\n"),
    "/readyz": lambda: Answer("no check has ended yet\n", 503),
}


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server("127.0.0.1", 0, PAGES)
    made.start()
    yield made
    made.stop()


def ask(server: Server, path: str, method: str = "GET") -> tuple[int, str, str]:
    with closing(http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)) as way:
        way.request(method, path)
        answer = way.getresponse()
        return answer.status, answer.getheader("Content-Type", ""), answer.read().decode()


def test_pages(server: Server) -> None:
    kind = "text/plain; version=0.0.4; charset=utf-8"
    assert ask(server, "/metrics") == (200, kind, "up 1\n")
    assert ask(server, "/metrics?x=1")[0] == 200
    assert ask(server, "/healthz")[::2] == (200, "ok\n")
    assert ask(server, "/readyz")[::2] == (503, "no check has ended yet\n")


def test_nothing_else(server: Server) -> None:
    assert ask(server, "/etc/passwd")[0] == 404
    assert ask(server, "/metrics", "HEAD")[::2] == (200, "")
    assert ask(server, "/metrics", "POST")[0] == 501


class Drip:
    """Connections that send a byte of a request now and then, as long as the server lets them."""

    def __init__(self, port: int, number: int) -> None:
        self._ends = threading.Event()
        self.begun = threading.Event()
        self.port, self.number = port, number
        self.opened = 0
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Drip":
        self._thread.start()
        assert self.begun.wait(30)
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()

    def _run(self) -> None:
        ways = [self._way() for _ in range(self.number)]
        while not self._ends.wait(0.02):
            ways = [way if self._is_open(way) else self._way() for way in ways]
            self.begun.set()
        for way in ways:
            way.close()

    def _way(self) -> socket.socket:
        self.opened += 1
        way = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        way.sendall(b"GET /metrics HTTP/1.1\r\n")
        way.setblocking(False)
        return way

    @staticmethod
    def _is_open(way: socket.socket) -> bool:
        try:
            way.send(b"x")
            is_open = way.recv(100) != b""
        except BlockingIOError:
            return True
        except OSError:
            is_open = False
        if not is_open:
            way.close()
        return is_open


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """So much that room is made, and not waited for."""
    monkeypatch.setattr(agent_server, "_PATIENCE", 120.0)


@pytest.mark.usefixtures("patience")
def test_dripping_clients_keep_nobody_out(server: Server) -> None:
    """Many more than there is room for, each of which comes back as soon as it is put out."""
    with Drip(server.server_port, 200) as drip:
        for _ in range(20):
            assert ask(server, "/metrics")[0] == 200
            assert ask(server, "/healthz")[0] == 200
    assert drip.opened > 200


@pytest.mark.usefixtures("patience")
def test_who_has_one_connection_keeps_it(server: Server) -> None:
    """The many of one address put out one another, and not the probe of the kubelet."""
    way = socket.create_connection(
        ("127.0.0.1", server.server_port), timeout=10, source_address=("127.0.0.2", 0)
    )
    way.sendall(b"GET /healthz HTTP/1.1\r\n")
    with way, Drip(server.server_port, 200):
        way.sendall(b"Host: a\r\n\r\n")
        assert way.recv(1000).startswith(b"HTTP/1.1 200 OK\r\n")


def test_a_whole_exchange_has_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that sends on and on is put out, though no single wait is long."""
    monkeypatch.setattr(agent_server, "_PATIENCE", 0.3)
    made = Server("127.0.0.1", 0, PAGES)
    made.start()
    with socket.create_connection(("127.0.0.1", made.server_port), timeout=10) as way:
        sent = bytes_taken(way, 2000)
    made.stop()
    assert 0 < sent < 2000


def bytes_taken(way: socket.socket, most: int) -> int:
    """How many bytes of a slow request are sent before the server ends it."""
    for sent in range(most):
        try:
            way.sendall(b"x")
        except OSError:
            return sent
        threading.Event().wait(0.01)
    return most


def test_a_client_that_reads_nothing_has_a_deadline_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_server, "_PATIENCE", 0.3)
    large = {"/metrics": lambda: Answer("x" * 50_000_000)}
    made = Server("127.0.0.1", 0, large)
    made.start()
    with socket.create_connection(("127.0.0.1", made.server_port), timeout=10) as way:
        way.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        threading.Event().wait(1)
        read = b"x"
        size = 0
        with suppress(ConnectionResetError):
            while read:
                read = way.recv(1_000_000)
                size += len(read)
        assert size < 50_000_000
    made.stop()


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET /healthz HTTP/1.1\r\n\r\n", b"200"),
        (b"GET /healthz HTTP/1.0\n\n", b"200"),
        (b"GET /healthz\r\n\r\n", b"400"),
        (b"GET  /healthz HTTP/1.1\r\n\r\n", b"400"),
        (b"GET /healthz HTTP/2\r\n\r\n", b"400"),
        (b"GET /health\x00z HTTP/1.1\r\n\r\n", b"400"),
        (b"\x16\x03\x01\x02\x00\n\n", b"400"),
        (b"PUT /healthz HTTP/1.1\r\n\r\n", b"501"),
        (b"GET /broken HTTP/1.1\r\n\r\n", b"500"),
        (b"GET /healthz HTTP/1.1\r\n" + b"a: b\r\n" * 5000, b"431"),
        (b"G" * 20_000, b"431"),
        (b"POST /healthz HTTP/1.1\r\nContent-Length: 9\r\n\r\n123456789", b"501"),
    ],
)
def test_requests(request_: bytes, status: bytes) -> None:
    def broken() -> Answer:
        raise ValueError

    made = Server("127.0.0.1", 0, {**PAGES, "/broken": broken})
    made.start()
    with socket.create_connection(("127.0.0.1", made.server_port), timeout=10) as way:
        way.sendall(request_)
        answer = b""
        while piece := way.recv(1000):
            answer += piece
    assert answer.split(b" ")[1] == status
    assert ask(made, "/healthz")[0] == 200
    made.stop()


def test_an_address_that_is_taken(server: Server) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(OSError, match="in use"):
            Server("127.0.0.1", taken.getsockname()[1], PAGES)


def test_without_an_address_it_is_reached_by_any() -> None:
    made = Server("", 0, PAGES)
    made.start()
    assert ask(made, "/healthz")[0] == 200
    made.stop()

"""The agent's HTTP server."""

import http.client
import socket
from collections.abc import Iterator
from contextlib import closing

import pytest

from cpuplan.agent.server import Answer, Server, metrics

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


def test_silent_clients_keep_nobody_out(server: Server) -> None:
    """More than there is room for; those that come while it is full are turned away, not kept."""
    address = ("127.0.0.1", server.server_port)
    silent = [socket.create_connection(address) for _ in range(40)]
    for each in silent:
        each.close()
    for _ in range(50):
        try:
            assert ask(server, "/healthz")[0] == 200
            return
        except OSError:
            continue
    pytest.fail("the server answers nobody")


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

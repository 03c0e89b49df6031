"""Deadlines of the whole."""

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from cpuplan.base import served


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


def test_the_earlier_end_holds() -> None:
    with served.within(1_000):
        with served.within(2_000):
            assert served.left() <= 1_000
        with served.within(10):
            assert served.left() <= 10
        assert served.left() > 10
        assert not served.is_over()
    assert served.left_or(5) == 5


def test_nothing_is_asked_when_time_is_over() -> None:
    with served.within(0):
        assert served.is_over()
        with pytest.raises(TimeoutError, match="no whole answer in time"):
            served.left()
        with pytest.raises(TimeoutError):
            served.connect(("127.0.0.1", 9))


def test_an_address_that_refuses_is_not_the_last(
    listening: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = socket.create_server(("127.0.0.1", 0))
    places = [closed.getsockname(), listening.getsockname()]
    closed.close()
    addresses = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", place) for place in places]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: addresses)
    option = (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with served.connect(("api.lab", 443), options=[option]) as made:
        assert made.getpeername() == listening.getsockname()
        assert made.getsockopt(*option[:2])


def test_a_host_without_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [])
    with pytest.raises(OSError, match=r"api\.lab has no address"):
        served.connect(("api.lab", 443))


def test_each_address_has_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host with many addresses that swallow everything takes no longer than one."""
    given: list[float] = []

    class Deaf:
        def __init__(self, *_: Any) -> None:
            pass

        def settimeout(self, seconds: float) -> None:
            given.append(seconds)

        def connect(self, _: Any) -> None:
            raise TimeoutError("timed out")

        def close(self) -> None:
            pass

    addresses = [(0, 0, 0, "", ("192.0.2.1", 443))] * 4
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: addresses)
    monkeypatch.setattr(socket, "socket", Deaf)
    with pytest.raises(TimeoutError):
        served.connect(("api.lab", 443))
    assert [round(served.CONNECT / timeout) for timeout in given] == [4, 3, 2, 1]

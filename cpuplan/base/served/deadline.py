"""Answers of servers, by a deadline of the whole: connecting, the head, and each byte of the body.

Python's sockets have a limit for each read. A server that sends a byte now and then keeps such a
reader for ever. Here every read is given only what is left of the time of all.

`Response` is the class of answers of a connection of `http.client`, and so of urllib3's.
"""

import http.client
import io
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

#: Seconds for one connection, over all addresses of a host: in a network, milliseconds.
CONNECT = 10.0
#: When all that is asked must be answered, by the monotonic clock.
_END: ContextVar[float | None] = ContextVar("end", default=None)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """What is asked meanwhile ends after so many seconds, or with an earlier deadline around it."""
    end, around = time.monotonic() + seconds, _END.get()
    token = _END.set(end if around is None else min(end, around))
    try:
        yield
    finally:
        _END.reset(token)


def left() -> float:
    """The seconds that are left. Raises TimeoutError once there are none."""
    end = _END.get()
    if end is None:
        return CONNECT  # nobody has said how long: then for each read
    seconds = end - time.monotonic()
    if seconds <= 0:
        raise TimeoutError("there was no whole answer in time")
    return seconds


def is_over() -> bool:
    """Whether there is no time left."""
    end = _END.get()
    return end is not None and end <= time.monotonic()


def left_or(seconds: float) -> float:
    """The seconds that are left; so many where nobody has said how long."""
    return seconds if _END.get() is None else left()


def connect(
    address: tuple[str, int],
    timeout: object = None,
    source_address: object = None,
    *,
    options: Iterable[tuple[Any, ...]] = (),
) -> socket.socket:
    """A connection to the first address of a host that takes it, as `socket.create_connection`."""
    problem: OSError = OSError(f"{address[0]} has no address")
    with within(CONNECT):
        found = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)
        for at, (family, kind, protocol, _, place) in enumerate(found):
            made = socket.socket(family, kind, protocol)
            try:
                for option in options:
                    made.setsockopt(*option)
                made.settimeout(left() / (len(found) - at))
                made.connect(place)
                made.settimeout(left())  # for what TLS says first
                return made
            except OSError as error:
                made.close()
                problem = error
    raise problem


class Response(http.client.HTTPResponse):
    """An answer that is read by the deadline."""

    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        # The file that is read holds the socket open when its connection is closed.
        self.fp = io.BufferedReader(_Timed(sock, self.fp.detach()))


class _Timed(io.RawIOBase):
    """The bytes of a socket."""

    def __init__(self, sock: socket.socket, raw: Any) -> None:
        super().__init__()
        self._socket, self._raw = sock, raw

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._socket.settimeout(left())
        number: int | None = self._raw.readinto(buffer)
        return number

    def close(self) -> None:
        self._raw.close()
        super().close()

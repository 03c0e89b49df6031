"""The agent's HTTP server: `/metrics`, `/healthz` and `/readyz`, and nothing else.

One thread serves all connections, each for a few seconds in all and with a few kB, so that nobody
who is slow, silent or many keeps a scraper or a probe away: where there is no room, a connection of
whoever has most of them goes. http.server has limits for each read only, and servers that have them
for a whole request are larger than the agent.
"""

import errno
import selectors
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import NamedTuple

from cpuplan.render.answers.prometheus import CONTENT_TYPE

#: Connections at once: a scraper and two probes, with room.
_MOST = 64
#: Seconds for a whole exchange: those that a probe waits.
_PATIENCE = 5.0
#: Bytes of a request: a line, and headers that nobody reads.
_LARGEST = 8 * 1024
_PIECE = 4096
#: Accepted without looking at those that are open.
_AT_ONCE = 16
_PLAIN = "text/plain; charset=utf-8"
_METHODS = ("GET", "HEAD")
_LAST = 0x7F


class Answer(NamedTuple):
    """What a page says."""

    text: str
    status: int = 200
    kind: str = _PLAIN


#: What makes each page, by its path.
Pages = dict[str, Callable[[], Answer]]


def metrics(text: Callable[[], str]) -> Callable[[], Answer]:
    """A page of metrics."""
    return lambda: Answer(text(), kind=CONTENT_TYPE)


class _Connection:
    """One client: what it has sent, and what it is still to get."""

    def __init__(self, way: socket.socket, peer: str) -> None:
        self.way, self.peer = way, peer
        self.until = time.monotonic() + _PATIENCE
        self.received = bytearray()
        self.unsent = b""
        #: Everything was sent: only the client's end is waited for.
        self.is_done = False


class Server:
    """Serves pages in a thread of its own. OSError where the address cannot be had."""

    def __init__(self, host: str, port: int, pages: Pages) -> None:
        self._pages = pages
        self._open: dict[int, _Connection] = {}
        self._selector = selectors.DefaultSelector()
        self._listener = _listener(host, port)
        self.server_port: int = self._listener.getsockname()[1]
        self._bell, self._wake = socket.socketpair()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._wake, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._run, name="http", daemon=True)

    def start(self) -> None:
        """Serve until the process ends."""
        self._thread.start()

    def stop(self) -> None:
        """Close the address, and all connections."""
        self._bell.close()
        self._thread.join()
        for connection in list(self._open.values()):
            self._close(connection)
        for way in (self._listener, self._wake):
            way.close()
        self._selector.close()

    def _run(self) -> None:
        while True:
            for key, events in self._selector.select(self._patience()):
                if key.fileobj is self._wake:
                    return
                if key.fileobj is self._listener:
                    self._accept()
                elif key.fd in self._open:
                    self._go_on(self._open[key.fd], events)
            self._end_late()

    def _patience(self) -> float | None:
        """Seconds until the next connection has had its time."""
        first = min((connection.until for connection in self._open.values()), default=None)
        return None if first is None else max(0.0, first - time.monotonic())

    def _end_late(self) -> None:
        now = time.monotonic()
        for connection in [late for late in self._open.values() if late.until <= now]:
            self._close(connection)

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                way, address = self._listener.accept()
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                    self._make_room()
                return  # nobody waits, or somebody went away already
            while len(self._open) >= _MOST:
                self._make_room()
            way.setblocking(False)
            connection = _Connection(way, str(address[0]))
            self._open[way.fileno()] = connection
            self._selector.register(way, selectors.EVENT_READ)
            self._go_on(connection, selectors.EVENT_READ)

    def _make_room(self) -> None:
        """End the oldest connection of whoever has most; one that has its answer goes first."""
        if not self._open:
            time.sleep(0.1)  # others of this process have all descriptors
            return
        done = [connection for connection in self._open.values() if connection.is_done]
        counts = Counter(connection.peer for connection in self._open.values())
        most = max(counts.values())
        of_most = (
            connection for connection in self._open.values() if counts[connection.peer] == most
        )
        self._close(done[0] if done else next(of_most))

    def _go_on(self, connection: _Connection, events: int) -> None:
        try:
            if events & selectors.EVENT_READ:
                self._read(connection)
            if connection.way.fileno() >= 0 and connection.unsent:
                self._write(connection)
        except (BlockingIOError, InterruptedError):
            pass  # nothing more at the moment
        except OSError:
            self._close(connection)

    def _read(self, connection: _Connection) -> None:
        data = connection.way.recv(_PIECE)
        if not data:
            self._close(connection)
        elif not (connection.unsent or connection.is_done):
            connection.received += data
            connection.unsent = self._reply(bytes(connection.received))

    def _write(self, connection: _Connection) -> None:
        sent = connection.way.send(connection.unsent)
        connection.unsent = connection.unsent[sent:]
        connection.is_done = not connection.unsent
        if connection.is_done:
            # What the client still sends is read: closing before would take the answer from it.
            connection.way.shutdown(socket.SHUT_WR)
        wanted = selectors.EVENT_READ | (0 if connection.is_done else selectors.EVENT_WRITE)
        self._selector.modify(connection.way, wanted)

    def _close(self, connection: _Connection) -> None:
        self._open.pop(connection.way.fileno(), None)
        with suppress(KeyError, ValueError):
            self._selector.unregister(connection.way)
        connection.way.close()

    def _reply(self, received: bytes) -> bytes:
        """The whole answer; nothing while the request is not complete."""
        head, end, _ = received.replace(b"\r\n", b"\n").partition(b"\n\n")
        if not end:
            too_large = len(received) > _LARGEST
            return _rendered(_refusal(431), with_text=True) if too_large else b""
        method, answer = self._answer(head.split(b"\n", 1)[0])
        return _rendered(answer, with_text=method != "HEAD")

    def _answer(self, line: bytes) -> tuple[str, Answer]:
        """The method, and what is said to a request's first line."""
        words = line.decode("latin-1").split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1.") or not _is_plain(line):
            return "", _refusal(400)
        method, target, _ = words
        if method not in _METHODS:
            return method, _refusal(501)
        page = self._pages.get(target.partition("?")[0])
        if page is None:
            return method, Answer("not found\n", 404)
        try:
            return method, page()
        except Exception:
            return method, _refusal(500)


def _is_plain(line: bytes) -> bool:
    return all(ord(" ") <= byte < _LAST for byte in line)


def _refusal(status: int) -> Answer:
    return Answer(f"{HTTPStatus(status).phrase.lower()}\n", status)


def _rendered(answer: Answer, *, with_text: bool) -> bytes:
    data = answer.text.encode()
    head = (
        f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}",
        f"Content-Type: {answer.kind}",
        f"Content-Length: {len(data)}",
        "Connection: close",
        "",
        "",
    )
    return "\r\n".join(head).encode() + (data if with_text else b"")


def _listener(host: str, port: int) -> socket.socket:
    """An address of both families where none is given; no name server is asked for our own name."""
    is_any = not host and socket.has_dualstack_ipv6()
    made = socket.socket(socket.AF_INET6 if is_any or ":" in host else socket.AF_INET)
    try:
        if is_any:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(_MOST)
        made.setblocking(False)
    except BaseException:
        made.close()
        raise
    return made

"""What servers send: answers at any pace, by a deadline, and JSON of the types that are expected.

Python's sockets have a limit for each read. A server that sends a byte now and then keeps such a
reader for ever. Here every read is given only what is left of the time of all.

`Response` is the class of answers of a connection of `http.client`, and so of urllib3's.

`load` and `measure` bound what a text may cost. A shape says which types the fields that are read
must have; what it does not name may be anything, and null is as good as nothing, as in Go.
"""

import http.client
import io
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeAlias

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
        addresses = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)
        for at, (family, kind, protocol, _, place) in enumerate(addresses):
            made = socket.socket(family, kind, protocol)
            try:
                for option in options:
                    made.setsockopt(*option)
                made.settimeout(left() / (len(addresses) - at))
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


#: The way to a value: keys and indexes from the top.
Place: TypeAlias = tuple[str | int, ...]
_MAX_SHOWN = 40
#: Of a number in Go's int64.
_LARGEST = 1 << 63


class Scalar(NamedTuple):
    """A type of single values."""

    name: str
    fits: Callable[[Any], bool]


class Entries(NamedTuple):
    """A mapping whose keys may be anything."""

    of: "Shape"


class Items(NamedTuple):
    """A list; without `with_nulls`, null is no item of it."""

    of: "Shape"
    with_nulls: bool = False


#: A mapping of names to shapes is one with these fields.
Shape: TypeAlias = Scalar | Entries | Items | Mapping[str, "Shape"]


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _LARGEST


TEXT = Scalar("a text", lambda value: isinstance(value, str))
WHOLE = Scalar("a whole number", _is_whole)
FLAG = Scalar("true or false", lambda value: isinstance(value, bool))
#: A quantity: YAML and JSON have it with quotes or without.
AMOUNT = Scalar(
    "a text or a whole number", lambda value: isinstance(value, str) or _is_whole(value)
)
TEXTS = Entries(TEXT)
#: Any mapping, or any list.
MAPPING: Shape = {}


def misfit(value: Any, shape: Shape) -> tuple[Place, str] | None:
    """The first value that has not the type that its shape says: its place, and what is wrong."""
    return next(_misfits(value, shape, ()), None)


def _misfits(value: Any, shape: Shape, place: Place) -> Iterator[tuple[Place, str]]:
    if value is None:
        return
    if isinstance(shape, Scalar):
        if not shape.fits(value):
            yield place, f"{shown(value)}, and no {shape.name.removeprefix('a ')}"
    elif isinstance(shape, Items):
        if not isinstance(value, list):
            yield place, f"{shown(value)}, and no list"
            return
        for index, item in enumerate(value):
            if item is None and not shape.with_nulls:
                yield (*place, index), "null"
            yield from _misfits(item, shape.of, (*place, index))
    elif not isinstance(value, dict):
        yield place, f"{shown(value)}, and no mapping"
    elif isinstance(shape, Entries):
        for key, item in value.items():
            yield from _misfits(item, shape.of, (*place, str(key)))
    else:
        for key, part in shape.items():
            yield from _misfits(value.get(key), part, (*place, key))


def shown(value: Any) -> str:
    """A value in a few words."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        return "a text"
    if isinstance(value, bool | None):
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, int) and abs(value) > _LARGEST:
        return "a number out of range"
    return f"the number {str(value)[:_MAX_SHOWN]}"


def path_of(place: Place) -> str:
    """A place in a message: `items[3].metadata.name`."""
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text

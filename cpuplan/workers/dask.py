"""Dask's scheduler as an executor: its workers may be on other machines.

Dask sends much as pickles, which run what their writer likes where they are read. Workers do that:
whoever can reach a scheduler runs programs there. This process does not: while it has a scheduler,
no pickle finds a class or function here, but for those of plain bytes and texts, in which results
come (`codec`). What else a scheduler sends is lost, and with it the words of workers' errors.
"""

import logging
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from cpuplan.diagnostics import CpuplanError, Diagnostic, diagnose
from cpuplan.workers.divide import Workers

#: Seconds in which a scheduler answers, and in which it has a worker, perhaps a new one.
_ANSWERS = 10
_HAS_WORKERS = 30
#: How often Dask begins a part again whose worker was fine and lost it all the same.
_RETRIES = 2


#: All that pickles may find: what plain bytes and texts are made of.
_PLAIN = frozenset({("builtins", "bytes"), ("builtins", "str")})


class UnreadError(TypeError):
    """A pickle that is not read, since it would make or call something."""


class _Guards:
    """Refuses pickles in the threads that begin while one is set, and in the one that sets it."""

    def __init__(self) -> None:
        self._others: list[frozenset[threading.Thread]] = []
        self._is_there = False

    def set(self) -> None:
        if not self._is_there:
            sys.addaudithook(self._look)  # there is no way to take one back
            self._is_there = True
        others = frozenset(threading.enumerate()) - {threading.current_thread()}
        self._others.append(others)

    def unset(self) -> None:
        self._others.pop()

    def _look(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event != "pickle.find_class" or not self._others or arguments in _PLAIN:
            return
        thread = threading.current_thread()
        if any(thread not in others for others in self._others):
            raise UnreadError("{}.{} is not made here".format(*arguments))


_GUARDS = _Guards()


@contextmanager
def scheduler(address: str) -> Iterator[Workers]:
    """The workers of the scheduler at `address`, such as `tcp://scheduler:8786`.

    Raises CP625 without Dask, and CP623 where there is no scheduler, or none with workers.
    """
    distributed = _dask()
    _GUARDS.set()
    client = None
    try:
        client = _client(distributed, address)
        threads = _threads(client, address)
        # `pure` would take the result of whoever asked the same before.
        yield Workers(threads, client.get_executor(pure=False, retries=_RETRIES))
    finally:
        with suppress(Exception):  # what was asked of it is here already, or is an error of its own
            if client is not None:
                client.close(timeout=2)
        if client is None or client.status == "closed":
            _GUARDS.unset()  # else it may still listen


def _dask() -> Any:
    try:
        distributed = import_module("distributed")
    except ImportError as error:
        raise CpuplanError([diagnose("CP625", problem=error)]) from error
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    # Schedulers could print here, and warn in pickles.
    distributed.Client._default_event_handlers = {}
    return distributed


def _client(distributed: Any, address: str) -> Any:
    try:
        return distributed.Client(address, timeout=_ANSWERS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise CpuplanError([_unreachable(address, _reason(address, error))]) from error


def _threads(client: Any, address: str) -> int:
    """The threads of all workers."""
    try:
        client.wait_for_workers(1, timeout=_HAS_WORKERS)
    except (OSError, TimeoutError) as error:
        raise CpuplanError([_unreachable(address, "it has no workers")]) from error
    return sum(client.nthreads().values())


def _unreachable(address: str, problem: str) -> Diagnostic:
    return diagnose("CP623", what=f"the scheduler at {address} cannot be used", problem=problem)


def _reason(address: str, error: Exception) -> str:
    """Why there is no answer: Dask wraps what the system says in others, or gives up in a try."""
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    is_refused = isinstance(cause, OSError | ValueError | TypeError) and str(cause)
    return str(cause) if is_refused else _refusal(address)


def _refusal(address: str) -> str:
    """What the system says of a connection to an address."""
    place = urlsplit(address)
    try:
        with socket.create_connection((place.hostname, place.port or 0), _ANSWERS):
            return f"it does not answer as a scheduler within {_ANSWERS} seconds"
    except (OSError, ValueError) as error:
        return str(error)

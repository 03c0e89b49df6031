"""Dask's scheduler as an executor: its workers may be on other machines."""

import logging
import socket
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


@contextmanager
def scheduler(address: str) -> Iterator[Workers]:
    """The workers of the scheduler at `address`, such as `tcp://scheduler:8786`.

    Raises CP625 without Dask, and CP623 where there is no scheduler, or none with workers.
    """
    client = _client(address)
    try:
        threads = _threads(client, address)
        # `pure` would take the result of whoever asked the same before.
        yield Workers(threads, client.get_executor(pure=False, retries=_RETRIES))
    finally:
        with suppress(Exception):  # what was asked of it is here already, or is an error of its own
            client.close(timeout=2)


def _client(address: str) -> Any:
    try:
        distributed = import_module("distributed")
    except ImportError as error:
        raise CpuplanError([diagnose("CP625", problem=error)]) from error
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
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

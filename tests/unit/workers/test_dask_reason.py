"""Why a scheduler does not answer, whatever Dask makes of it."""

import asyncio
import socket

from cpuplan.workers import dask


def test_the_systems_own_words_are_found_in_those_of_dask() -> None:
    wrapped = OSError("Timed out")
    wrapped.__cause__ = ConnectionRefusedError(111, "Connection refused")
    assert dask._reason("tcp://127.0.0.1:1", wrapped) == "[Errno 111] Connection refused"


def test_a_try_that_was_given_up_is_made_again() -> None:
    given_up = OSError("Timed out")
    given_up.__cause__ = asyncio.CancelledError()
    assert dask._reason("tcp://127.0.0.1:1", given_up) == "[Errno 111] Connection refused"


def test_who_listens_and_is_no_scheduler() -> None:
    given_up = OSError("Timed out")
    given_up.__cause__ = asyncio.CancelledError()
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        assert "does not answer as a scheduler" in dask._reason(address, given_up)

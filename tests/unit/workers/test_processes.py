"""Processes that do parts of some work, and what happens when they end before it."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cpuplan import workers
from cpuplan.diagnostics import CpuplanError
from cpuplan.workers import Workers, divide
from tests.projects import REPOSITORY
from tests.unit.workers.toy import Toy

_NUMBERS = tuple(range(40))
_SQUARES = [number * number for number in _NUMBERS]


@pytest.fixture(autouse=True)
def _no_process_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not multiprocessing.active_children()
    monkeypatch.setattr(divide, "_MANY", 32)


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_any_number_of_processes(jobs: int) -> None:
    assert list(workers.results(Toy(_NUMBERS), Workers(jobs))) == _SQUARES
    assert not multiprocessing.active_children()


def test_whoever_is_ready_first() -> None:
    work = Toy(_NUMBERS, pause=0.003)
    assert list(workers.results(work, Workers(3))) == _SQUARES


def test_what_a_killed_process_had_is_done_again(tmp_path: Path) -> None:
    work = Toy(_NUMBERS, fatal=21, once=tmp_path / "killed")
    assert list(workers.results(work, Workers(2))) == _SQUARES
    assert (tmp_path / "killed").exists()


def test_what_kills_its_process_is_said() -> None:
    made: list[int] = []
    with pytest.raises(CpuplanError) as caught:
        made.extend(workers.results(Toy(_NUMBERS, fatal=21, here=os.getpid()), Workers(2)))
    assert [finding.code for finding in caught.value.diagnostics] == ["CP622"]
    assert not multiprocessing.active_children()


def test_little_work_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    few = Toy(_NUMBERS[:8], fatal=5, here=os.getpid())
    assert list(workers.results(few, Workers(2))) == _SQUARES[:8]
    # unless it takes long: then what is left goes to others, which end
    monkeypatch.setattr(divide, "_PATIENCE", 0)
    with pytest.raises(CpuplanError):
        list(workers.results(few, Workers(2)))


def _children(parent: int) -> list[int]:
    done = subprocess.run(
        ["ps", "--ppid", str(parent), "-o", "pid="], capture_output=True, text=True, check=False
    )
    return list(map(int, done.stdout.split()))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nobody_outlives_who_divided_the_work(number: signal.Signals) -> None:
    program = (
        "import signal; from cpuplan import workers; from tests.unit.workers.toy import Toy\n"
        # Shells start programs in the background without it.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "workers.divide._MANY = 32\n"
        "try: list(workers.results(Toy(tuple(range(-90, -50)), pause=1.0), workers.Workers(2)))\n"
        "except KeyboardInterrupt: print('interrupted')\n"
    )
    words = [sys.executable, "-c", program]
    with subprocess.Popen(
        words, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        while len(children := _children(process.pid)) < 2:
            assert process.poll() is None
            time.sleep(0.05)
        time.sleep(0.2)
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
    assert not err
    assert out == ("interrupted\n" if number == signal.SIGINT else "")
    end = time.monotonic() + 10
    while any(Path(f"/proc/{child}/cmdline").exists() for child in children):
        assert time.monotonic() < end
        time.sleep(0.05)

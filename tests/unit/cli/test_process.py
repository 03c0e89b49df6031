"""The process as a whole: how it ends, and what its output may be connected to."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.projects import REPOSITORY

PROGRAM = [sys.executable, "-m", "cpuplan", "-C", str(REPOSITORY)]


def test_the_exit_code_is_the_commands() -> None:
    assert subprocess.run([*PROGRAM, "show"], capture_output=True, check=False).returncode == 0
    done = subprocess.run([*PROGRAM, "show", "nobody"], capture_output=True, text=True, check=False)
    assert (done.returncode, "CP250" in done.stderr) == (2, True)


def test_a_reader_may_have_seen_enough() -> None:
    with subprocess.Popen(
        [*PROGRAM, "show", "worker1.internal"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_no_bug() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*PROGRAM, "show"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, "[CP607]: standard output" in done.stderr) == (2, True)


def test_a_profiler_has_its_say_at_the_end() -> None:
    words = [sys.executable, "-m", "cProfile", "-m", "cpuplan", "--version"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=REPOSITORY)
    assert "function calls" in done.stdout


def test_shells_are_told_how_to_complete() -> None:
    words = "import sys; from cpuplan.__main__ import main; sys.argv[0] = 'cpuplan'; main()"
    for typed, offered in (
        ("cpuplan comp", "compile"),
        ("cpuplan validate --col", "--color"),
        ("cpuplan schema --color al", "always"),
        ("cpuplan check --format ju", "junit"),
    ):
        completing = {
            "_CPUPLAN_COMPLETE": "bash_complete",
            "COMP_WORDS": typed,
            "COMP_CWORD": str(typed.count(" ")),
        }
        done = subprocess.run(
            [sys.executable, "-c", words],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **completing},
            cwd=REPOSITORY,
        )
        assert offered in done.stdout

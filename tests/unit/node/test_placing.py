"""Where the agent runs, in a process of its own."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import os, sys, threading, time
from cpuplan.node import loop
other = threading.Thread(target=time.sleep, args=(60,), daemon=True)
other.start()
left = loop.leave(map(int, sys.argv[1:]))
tasks = os.listdir("/proc/self/task")
assert len(tasks) == 2
assert all(os.sched_getaffinity(int(task)) == left for task in tasks), tasks
print(*sorted(left))
"""
ALLOWED = sorted(os.sched_getaffinity(0))


def left(*isolated: int) -> list[int]:
    words = [sys.executable, "-c", PROGRAM, *map(str, isolated)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return list(map(int, done.stdout.split()))


@pytest.mark.skipif(len(ALLOWED) < 2, reason="this machine has one CPU")
def test_all_threads_leave_the_isolated_cpus() -> None:
    assert left(ALLOWED[-1], 100_000) == ALLOWED[:-1]


def test_it_stays_where_all_are_isolated_or_none() -> None:
    assert left(*ALLOWED) == ALLOWED
    assert left() == ALLOWED

"""What the agent knows at a moment: the last check, and whether it still counts.

A check counts until three intervals have passed, or until another check fails or the expected state
changes. What does not count is not told: an agent that cannot look says so, and never that the plan
holds.
"""

import threading
import time
from typing import NamedTuple

from cpuplan.render.prometheus import Counts

#: Intervals after which a check no longer counts.
LIFE = 3


class Plan(NamedTuple):
    """The plan that a node is held against."""

    cluster: str
    name: str
    digest: str


class Checked(NamedTuple):
    """What one check found."""

    plan: Plan
    counts: Counts
    #: The findings in short, worst first: for people, in a condition or an event.
    findings: tuple[str, ...]


class View(NamedTuple):
    """What is known at one moment."""

    #: The last check; None if there is none that counts.
    checked: Checked | None
    #: Why there is none.
    problem: str
    #: Seconds since 1970 when the last check ended; None before the first.
    ended: float | None
    #: How long it took, in seconds.
    duration: float
    #: Seconds since it ended.
    age: float
    #: Checks since the start of the agent that ended, and that failed.
    done: int
    failed: int


class Board:
    """Written by the loop, read by the server's threads."""

    def __init__(self, interval: float) -> None:
        self.interval = interval
        self._lock = threading.Lock()
        self._checked: Checked | None = None
        self._problem = "no check has ended yet"
        self._ended: float | None = None
        self._at = self._beat = time.monotonic()
        self._duration = 0.0
        self._done = self._failed = 0

    def beat(self) -> None:
        """The loop runs."""
        self._beat = time.monotonic()

    def is_alive(self) -> bool:
        """Whether the loop ran of late; one check may take as long as several intervals."""
        return time.monotonic() - self._beat < LIFE * self.interval + 60

    def put(self, checked: Checked, duration: float) -> None:
        """A check has ended."""
        with self._lock:
            self._checked, self._problem = checked, ""
            self._ended, self._at, self._duration = time.time(), time.monotonic(), duration
            self._done += 1

    def fail(self, problem: str) -> None:
        """A check could not be made."""
        with self._lock:
            self._checked, self._problem = None, problem
            self._failed += 1

    def forget(self, problem: str) -> None:
        """The last check is about something else than now."""
        with self._lock:
            self._checked, self._problem = None, problem

    def view(self) -> View:
        """What is known now."""
        with self._lock:
            age = time.monotonic() - self._at
            checked, problem = self._checked, self._problem
            if checked and age > LIFE * self.interval:
                checked, problem = None, f"the last check ended {age:.0f} s ago"
            return View(
                checked, problem, self._ended, self._duration, age, self._done, self._failed
            )

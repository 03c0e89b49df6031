"""What the agent knows at a moment, and the same as metrics, served or in a file."""

import glob
import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from cpuplan import __version__
from cpuplan.render.answers import prometheus
from cpuplan.render.answers.prometheus import Counts, Family, Labels, counter, gauge

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


class State:
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


#: A file that is new: no link of others is followed, and nothing of theirs written to.
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_textfile(path: Path, text: str) -> None:
    """Replace the file as a whole: a reader sees the old text or the new one.

    The collector reads all `*.prom` of its folder; the new file is not called so until it is whole.
    It always has one name, so that what a killed agent left is replaced. Raises OSError.
    """
    unfinished = path.with_name(f".{path.name}.tmp")
    with suppress(FileNotFoundError):
        unfinished.unlink()
    try:
        with os.fdopen(os.open(unfinished, _NEW, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
            os.fchmod(file.fileno(), 0o644)  # the collector is another user
        unfinished.replace(path)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise


def clear_textfile(path: Path) -> None:
    """Remove what agents of earlier releases left, whose unfinished files had names by chance."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.????????.tmp"):
        with suppress(OSError):
            left.unlink()


def text(view: View, plan: Plan | None, *, with_age: bool = True) -> str:
    """All metrics; facts and findings only of a check that still counts.

    In a file that somebody else reads later, an age would be wrong: it is left out there.
    """
    return prometheus.text(_families(view, plan, with_age=with_age))


def labels_of(plan: Plan) -> Labels:
    """The labels of each sample: a metric `cluster` of a scraper's own would hide ours."""
    return {"plan_cluster": plan.cluster, "plan_class": plan.name}


def _families(view: View, plan: Plan | None, *, with_age: bool) -> Iterator[Family]:
    labels = labels_of(plan) if plan else {}
    if view.checked:
        yield from prometheus.of_answers([(labels, view.checked.counts)])
    if plan:
        yield prometheus.plan_info([{**labels, "digest": plan.digest}])
    holds = float(view.checked is not None)
    yield gauge(
        "cpuplan_check_current", "Whether the last check counts: 1, or 0.", [(labels, holds)]
    )
    if view.ended is not None:
        yield gauge(
            "cpuplan_check_timestamp_seconds",
            "When the last check ended, in seconds since 1970.",
            [(labels, round(view.ended, 3))],
        )
        yield gauge(
            "cpuplan_check_duration_seconds",
            "How long the last check took.",
            [(labels, round(view.duration, 6))],
        )
        if with_age:
            yield gauge(
                "cpuplan_check_age_seconds",
                "Time since the last check ended.",
                [(labels, round(view.age, 3))],
            )
    yield counter(
        "cpuplan_checks_total",
        "Checks since the agent started.",
        [({"result": "done"}, view.done), ({"result": "failed"}, view.failed)],
    )
    yield gauge("cpuplan_build_info", "The agent's own version.", [({"version": __version__}, 1)])

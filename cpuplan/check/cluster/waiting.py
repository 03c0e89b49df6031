"""Looks at a cluster again and again until a rollout has arrived."""

from collections.abc import Callable
from typing import NamedTuple

from cpuplan.check.cluster.live import Seen, has_arrived, summary_of
from cpuplan.check.cluster.reading import UnreachableError
from cpuplan.plan.expected.evidence import SOMETHING, Threshold


class Clock(NamedTuple):
    """The time in seconds, how to let it pass, and how long between two looks."""

    now: Callable[[], float]
    sleep: Callable[[float], None]
    interval: float


def wait(
    look: Callable[[], Seen],
    seconds: float,
    clock: Clock,
    say: Callable[[str], None],
    threshold: Threshold = SOMETHING,
) -> Seen:
    """What is seen once nothing differs and enough is seen, or when `seconds` are over.

    What it waits for is told when it changes. An API that cannot be asked for a while, as while a
    control plane is updated, is waited for too: UnreachableError only from the last look.
    """
    end = clock.now() + seconds
    told: list[str] = []
    while True:
        is_last = clock.now() >= end
        try:
            seen = look()
            waits = summary_of(seen, threshold)
            if is_last or has_arrived(seen, threshold):
                return seen
        except UnreachableError as error:
            if is_last:
                raise
            waits = [f"the cluster cannot be read: {error}"]
        if waits != told:
            for line in waits:
                say(f"waiting: {line}")
            told = waits
        clock.sleep(max(0.0, min(clock.interval, end - clock.now())))

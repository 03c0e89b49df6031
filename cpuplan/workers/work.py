"""Work that can be divided, and the cores there are for it."""

import os
from collections.abc import Sequence
from typing import Protocol, TypeVar


def cores() -> int:
    """Their number: those of its affinity, as `taskset` and cpusets of containers leave them."""
    try:
        return len(os.sched_getaffinity(0)) or 1
    except (AttributeError, OSError):  # not on every system
        return os.cpu_count() or 1


Result = TypeVar("Result")


class Work(Protocol[Result]):
    """Equal pieces of work, which do not depend on each other; a value that can be sent."""

    def __len__(self) -> int: ...

    def prepare(self) -> None:
        """Load what every part needs: this process is about to be copied."""

    def part(self, chosen: slice) -> "Work[Result]":
        """Some of the pieces, with what they need."""

    def results(self) -> list[Result]:
        """Do it: a result for each piece, in their order."""

    def packed(self) -> bytes:
        """Do it elsewhere: the results as they are sent back."""

    def unpacked(self, data: bytes) -> Sequence[Result]:
        """The results of `packed` of this work, read by who sent it."""

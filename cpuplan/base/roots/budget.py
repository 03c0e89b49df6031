"""What is asked of one root in all: its links and folders can lead around without an end."""

from collections.abc import Sized
from typing import NamedTuple


class Budget(NamedTuple):
    """The most that is asked of one root."""

    #: Files and folders.
    questions: int
    #: Names in the folders that are listed.
    names: int
    bytes: int


class Excess(NamedTuple):
    """A limit that was passed: `asks for` at most so many `files and folders`."""

    verb: str
    limit: int
    what: str


class Meter:
    """Counts the questions to one root, and what was answered."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.asked = 0
        self._names = self._bytes = 0

    def count(self, answer: object) -> Excess | None:
        """Count a question with its answer, None for none; the limit that is passed with it."""
        self.asked += 1
        if isinstance(answer, bytes):
            self._bytes += len(answer)
        elif isinstance(answer, Sized):
            self._names += len(answer)
        if self.asked > self._budget.questions:
            return Excess("asks for", self._budget.questions, "files and folders")
        if self._names > self._budget.names:
            return Excess("lists", self._budget.names, "names")
        if self._bytes > self._budget.bytes:
            return Excess("reads", self._budget.bytes, "bytes")
        return None

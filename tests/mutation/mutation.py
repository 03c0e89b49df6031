"""One change of a node, what it must be found by, and how the check did."""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from cpuplan.check.host import check
from cpuplan.check.subject import nowhere
from cpuplan.plan.expected.evidence import Answer, Verdict
from cpuplan.plan.expected.state import Expected
from tests.mutation.image import Content, Image

#: What nothing matches.
NOTHING = r"(?!)"


class Mutation(NamedTuple):
    """A change, as contents by path, and the findings that are right about it."""

    family: str
    name: str
    changes: Mapping[str, Content]
    #: A regular expression for `CODE fact evidence: message` of the finding that must appear;
    #: `NOTHING` for a change that does not matter.
    about: str
    #: The same for findings that follow from the change and may appear too.
    also: str = NOTHING
    #: Facts that must not be held any more, whatever is said of them.
    lost: tuple[str, ...] = ()


class Outcome(NamedTuple):
    """What the check said of a mutation and not of the node as it was."""

    case: str
    mutation: Mutation
    new: tuple[str, ...]
    held: frozenset[str]

    @property
    def is_found(self) -> bool:
        """Whether the change was found, or is none."""
        if self.mutation.lost:
            return self.held.isdisjoint(self.mutation.lost)
        if self.mutation.about == NOTHING:
            return True
        return any(re.search(self.mutation.about, text) for text in self.new)

    @property
    def wrongly(self) -> list[str]:
        """Findings on what was not changed."""
        right = re.compile(f"{self.mutation.about}|{self.mutation.also}")
        return [text for text in self.new if not right.search(text)]


class Case:
    """A node that holds everything."""

    def __init__(self, name: str, image: Image, expected: Expected) -> None:
        self.name, self.image, self.expected = name, image, expected

    def answers(self, changes: Mapping[str, Content] | None = None) -> list[Answer]:
        """What the check says of it, or of a copy with changes."""
        image = self.image.but(changes) if changes else self.image
        return check(image.root(), self.expected, self.expected.nodes[0], nowhere)

    @cached_property
    def clean(self) -> list[Answer]:
        """What the check says of it as it is."""
        return self.answers()

    def judge(self, mutation: Mutation) -> Outcome:
        """Check a copy with the change."""
        known, answers = set(_findings(self.clean)), self.answers(mutation.changes)
        new = tuple(text for text in _findings(answers) if text not in known)
        held = frozenset(answer.fact for answer in answers if answer.verdict is Verdict.HELD)
        return Outcome(self.name, mutation, new, held)


def _findings(answers: list[Answer]) -> Iterator[str]:
    for answer in answers:
        if answer.finding:
            finding = answer.finding
            yield f"{finding.code} {answer.fact} {answer.evidence}: {finding.message}"


def named(*words: str) -> str:
    """A finding that says one of these words."""
    return "|".join(rf"(?<![\w.-]){re.escape(word)}(?![\w-])" for word in words)

"""A rule of what a change costs, and the step that it makes."""

from typing import NamedTuple

from cpuplan.change.impact.impact import Impact, Step


class Rule(NamedTuple):
    """What a platform does when something changes, and how that is known."""

    id: str
    #: None where the node disruption policies of a cluster decide.
    impact: Impact | None
    #: What a node or an operator does; names in braces are filled in.
    does: str
    #: The rule in words.
    sentence: str
    #: A file, a document or an issue of the program that does it.
    source: str
    #: Whether it is known for sure; one that is not counts as the worse.
    is_certain: bool = True

    def step(self, because: str, origin: str = "", **names: str) -> Step:
        """The step of a rule that has an impact of its own."""
        if self.impact is None:
            raise ValueError(f"rule {self.id} has no impact of its own")
        return self.step_of(self.impact, because, origin, **names)

    def step_of(self, impact: Impact, because: str, origin: str = "", **names: str) -> Step:
        """The step of a rule whose impact somebody else decided."""
        does = self.does.format(**names)
        return Step(impact, does, because, self.id, origin, self.is_certain)

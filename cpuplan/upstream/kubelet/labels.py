"""One requirement of a label selector (apimachinery, pkg/labels/selector.go)."""

from collections.abc import Mapping
from typing import NamedTuple

Labels = Mapping[str, str]


class Requirement(NamedTuple):
    """One condition: Equals is In with one value."""

    key: str
    operator: str
    values: tuple[str, ...]

    def matches(self, labels: Labels) -> bool:
        """Whether an object with these labels fulfils it."""
        if self.operator == "In":
            return self.key in labels and labels[self.key] in self.values
        if self.operator == "NotIn":
            return self.key not in labels or labels[self.key] not in self.values
        return (self.key in labels) == (self.operator == "Exists")

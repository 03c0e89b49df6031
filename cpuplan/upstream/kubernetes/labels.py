"""One requirement of a label selector (apimachinery, pkg/labels/selector.go).

Upstream: kubernetes/kubernetes staging/src/k8s.io/apimachinery/pkg/labels/selector.go
  @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

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

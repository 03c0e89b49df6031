"""What koordlet computes on a node."""

from tests.conformance.operations import Judge

KINDS: dict[str, Judge] = {}

"""What the scheduler's plugin NodeNUMAResource decides."""

from tests.conformance.operations import Judge

KINDS: dict[str, Judge] = {}

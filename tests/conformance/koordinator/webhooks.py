"""What the webhooks of koord-manager admit and change."""

from tests.conformance.operations import Judge

KINDS: dict[str, Judge] = {}

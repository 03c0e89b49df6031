"""What is said about Koordinator: of targets, objects of users, and clusters."""

from cpuplan.diagnostics.codes.koordinator import checking, objects, targets

CODES = {**targets.CODES, **objects.CODES, **checking.CODES}

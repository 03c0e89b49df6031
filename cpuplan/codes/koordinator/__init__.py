"""What is said about Koordinator: of targets, and of objects that users bring."""

from cpuplan.codes.koordinator import objects, targets

CODES = {**targets.CODES, **objects.CODES}

"""A running node differs from its plan: what its threads and control groups show."""

from cpuplan.diagnostics.codes.nodes import pods, roots

CODES = {**pods.CODES, **roots.CODES}

"""What Git has of a project and what is published with it: CP688 to CP699."""

from cpuplan.diagnostics.codes.git import history, publishing

CODES = {**history.CODES, **publishing.CODES}

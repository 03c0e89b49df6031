"""A mistake in cpuplan itself: the CP9xx."""

from cpuplan.codes.code import Code

CODES = {
    "CP901": Code(
        "bug in cpuplan",
        "cpuplan failed: {problem}",
        "please report it with {path}; files are written whole or not at all, so none is damaged",
        "A mistake in cpuplan and not in its input. The file holds the traceback.",
    ),
}

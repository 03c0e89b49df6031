"""A mistake in cpuplan itself: the CP9xx."""

from cpuplan.diagnostics.codes.code import Code

CODES = {
    "CP901": Code(
        "bug in cpuplan",
        "cpuplan failed: {problem}",
        "report this with {path}; files are written completely or not at all, so none is damaged",
        "This is a mistake in cpuplan and not in its input. The file contains the traceback.",
    ),
}

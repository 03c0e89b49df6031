"""The end of a command that could not do its work."""

import errno

from cpuplan.diagnostics import CpuplanError, diagnose


def report(error: Exception, arguments: list[str]) -> int:
    """Say what stopped the command and return the exit code; a bug leaves its traceback in a file."""
    from cpuplan.cli.output import print_diagnostics
    from cpuplan.write.files import Locked

    if isinstance(error, CpuplanError):
        print_diagnostics(error.diagnostics)
        if isinstance(error, Locked):
            return 5
        # Files that cannot be read or written, and names on the command line that nobody has.
        return 2 if all(found.code.startswith(("CP1", "CP25", "CP6")) for found in error.diagnostics) else 1
    if isinstance(error, OSError) and error.errno == errno.ENOSPC and error.filename is None:
        print_diagnostics([diagnose("CP607", path="standard output", problem=error.strerror)])
        return 2
    path = _save_traceback(error, arguments)
    print_diagnostics([diagnose("CP901", problem=f"{type(error).__name__}: {error}", path=path)])
    return 70


def _save_traceback(error: Exception, arguments: list[str]) -> str:
    import tempfile
    import traceback

    from cpuplan.cli.output import note

    try:
        with tempfile.NamedTemporaryFile("w", prefix="cpuplan-", suffix=".txt", delete=False) as file:
            file.write(f"cpuplan {' '.join(arguments)}\n\n")
            traceback.print_exception(error, file=file)
    except OSError as problem:
        note("".join(traceback.format_exception(error)))
        return f"(could not be saved: {problem})"
    return file.name

"""The end of a command that could not do its work."""

import errno
import re
from collections.abc import Sequence
from pathlib import Path

import click

from cpuplan.cli.options import Settings
from cpuplan.diagnostics import CpuplanError, Diagnostic, diagnose
from cpuplan.render.diagnostics import FORMATS

#: What a system refuses of a file, whoever asks: rights, room, disks, names that are too long,
#: links in circles, how many files are open at once.
_REFUSALS = frozenset(
    {
        errno.EACCES,
        errno.EPERM,
        errno.EROFS,
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EIO,
        errno.ESTALE,
        errno.ELOOP,
        errno.ENAMETOOLONG,
        errno.EMFILE,
    }
)


def report(error: Exception, arguments: list[str], settings: Settings, command: str) -> int:
    """Say what stopped `command` and return the exit code; a bug leaves its traceback in a file.

    In the format that the command line asks for, so that what reads a report always finds one; as
    text where one was made before.
    """
    if type(error).__name__ == "NoArgsIsHelpError" and isinstance(error, click.UsageError):
        error.show()  # `cpuplan` alone: the help
        return 2
    findings, code = _findings(error, arguments)
    wanted, file = ("text", None) if settings.reported else _asked(arguments)
    settings.output = None if settings.reported else settings.output or file
    with click.Context(click.Command(command), info_name=command, obj=settings):
        from cpuplan.cli.output import echo, print_diagnostics

        if isinstance(error, click.UsageError) and error.ctx:
            echo(error.ctx.get_usage(), err=True)
        try:
            print_diagnostics(findings, wanted, finished=code == 1)
        except CpuplanError as second:  # the file of -o cannot be written
            settings.output = None
            print_diagnostics([*findings, *second.diagnostics], "text")
    return code


def _findings(error: Exception, arguments: list[str]) -> tuple[Sequence[Diagnostic], int]:
    from cpuplan.write.files import Locked

    if isinstance(error, click.ClickException):
        context = error.ctx if isinstance(error, click.UsageError) else None
        path = context.command_path if context else "cpuplan"
        return [diagnose("CP292", problem=error.format_message(), command=path)], 2
    if isinstance(error, CpuplanError):
        if isinstance(error, Locked):
            return error.diagnostics, 5
        if any(finding.code in ("CP570", "CP901") for finding in error.diagnostics):
            return error.diagnostics, 70
        # Files that cannot be read or written, and names on the command line that nobody has.
        unread = all(
            finding.code.startswith(("CP1", "CP25", "CP293", "CP6", "CP897"))
            for finding in error.diagnostics
        )
        return error.diagnostics, 2 if unread else 1
    if isinstance(error, OSError) and _refused(error):
        return [diagnose("CP607", path=_refused(error), problem=error.strerror)], 2
    if isinstance(error, ModuleNotFoundError) and _is_left_out(error.name or ""):
        said = next((word for word in arguments if not word.startswith("-")), "cpuplan")
        return [diagnose("CP893", command=said, module=error.name)], 2
    if isinstance(error, MemoryError | RecursionError):
        return [_exhausted(error)], 2
    path = _save_traceback(error, arguments)
    return [diagnose("CP901", problem=f"{type(error).__name__}: {error}", path=path)], 70


def _refused(error: OSError) -> str:
    """What the system refuses to read or write; empty where that is no cause of the error."""
    if error.errno == errno.ENOSPC and error.filename is None:
        return "standard output"
    if error.errno in _REFUSALS and isinstance(error.filename, str):
        return error.filename
    return ""


def _exhausted(error: MemoryError | RecursionError) -> Diagnostic:
    """CP1175. What was in work is given back first: to say so takes memory as well."""
    import traceback

    from cpuplan.base.files import last_read

    cause: BaseException | None = error
    while cause is not None:
        traceback.clear_frames(cause.__traceback__)
        cause = cause.__cause__ or cause.__context__
    is_memory = isinstance(error, MemoryError)
    problem = "memory does not suffice" if is_memory else "something is nested too deeply"
    return diagnose("CP1175", problem=problem, path=last_read() or "no file")


def _is_left_out(module: str) -> bool:
    """Whether a module is one that an installation can be without."""
    from cpuplan.base.program import is_bundled

    return is_bundled() if module.startswith("cpuplan.") else module != "cpuplan"


def _asked(arguments: Sequence[str]) -> tuple[str, Path | None]:
    """The format and the file of a command line, be it wrong."""
    values = {"--format": "text", "--output": ""}
    words = iter(arguments)
    for word in words:
        if word == "--":
            break
        name, equals, value = word.partition("=")
        if short := re.fullmatch("-[qv]*o(.*)", word):
            name, equals, value = "--output", short[1], short[1]
        if name in values:
            values[name] = value if equals else next(words, "")
    wanted = values["--format"] if values["--format"] in FORMATS else "text"
    # Without a format, -o may be the folder of a command that writes documents.
    return wanted, Path(values["--output"]) if values["--output"] and wanted != "text" else None


def _save_traceback(error: Exception, arguments: list[str]) -> str:
    import tempfile
    import traceback

    from cpuplan.cli.output import note

    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="cpuplan-", suffix=".txt", delete=False
        ) as file:
            file.write(f"cpuplan {' '.join(arguments)}\n\n")
            traceback.print_exception(error, file=file)
    except OSError as problem:
        note("".join(traceback.format_exception(error)))
        return f"(could not be saved: {problem})"
    return file.name

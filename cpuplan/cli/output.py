"""How commands print: diagnostics in the format asked for, colour only where it is read."""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cpuplan.base.text import listed, printable
from cpuplan.cli import options
from cpuplan.cli.options import Settings
from cpuplan.diagnostics import Diagnostic
from cpuplan.render.diagnostics import FORMATS

if TYPE_CHECKING:
    from cpuplan.pipeline import Project

Command = TypeVar("Command", bound=Callable[..., Any])


def settings() -> Settings:
    """The options of the group, for the command that runs."""
    context = click.get_current_context(silent=True)
    kept = context.find_object(Settings) if context else None
    return kept or Settings()


def use_colour(stream: Any = None) -> bool:
    """Whether `stream` (standard output) is a terminal whose user has not said no."""
    asked = settings().colour
    if asked is not None:
        return asked
    return (
        (stream or sys.stdout).isatty()
        and "NO_COLOR" not in os.environ
        and os.environ.get("TERM") != "dumb"
    )


def screen_width() -> int:
    """Columns for what is drawn: the terminal's, within reason."""
    import shutil

    given = click.get_current_context().terminal_width
    return given or min(160, max(60, shutil.get_terminal_size((100, 24)).columns))


def format_option(command: Command) -> Command:
    """`--format` and `-o`, for commands whose result is diagnostics."""
    return _format_option(command, FORMATS)


def answer_format_option(command: Command) -> Command:
    """The same for commands whose result is facts: Prometheus counts them."""
    return _format_option(command, (*FORMATS, "prometheus"))


def _format_option(command: Command, formats: Sequence[str]) -> Command:
    told = "Write the report to this file. Without -q, the text is also printed."
    return click.option(
        "--format",
        "output_format",
        type=click.Choice(formats),
        default="text",
        callback=options.keep,
        help="Format of the findings; all formats except text go to standard output.",
    )(_output_option(command, told))


def _output_option(command: Command, told: str) -> Command:
    return click.option(
        "-o",
        "--output",
        metavar="FILE",
        type=click.Path(dir_okay=False, path_type=Path, allow_dash=True),
        help=told,
        expose_value=False,
        callback=options.keep,
    )(command)


def echo(
    text: str,
    *,
    colour: bool = False,
    err: bool = False,
    nl: bool = True,
    has_own_commands: bool = False,
) -> None:
    """The door for all that commands print: no text that others wrote steers a terminal or CI."""
    from cpuplan.render.text import on_terminal

    noted = settings().said
    if noted is not None:
        from cpuplan.write.record import Said

        noted.append(Said(text, colour, err, nl))
    shown = on_terminal(text, colour=colour, has_own_commands=has_own_commands)
    click.echo(shown, err=err, nl=nl, color=colour)


def result_options(command: Command) -> Command:
    """`--format` and `-o`, for commands with a result of their own, as text or JSON."""
    return _result_options(command, ("text", "json"))


def document_options(command: Command) -> Command:
    """The same with Markdown, for results that a merge request shows."""
    return _result_options(command, ("text", "json", "markdown"))


def _result_options(command: Command, formats: Sequence[str]) -> Command:
    command = _output_option(command, "Write the result to this file.")
    return click.option(
        "--format",
        "output_format",
        type=click.Choice(formats),
        default="text",
        callback=options.keep,
        help="Format of the result.",
    )(command)


def script_option(command: Command) -> Command:
    """`-o`, for commands whose result is a script."""
    return _output_option(command, "Write the script to this file.")


def filter_options(command: Command) -> Command:
    """`--cluster` and `--node`, for commands that tell of many nodes."""
    return _with(command, options.filters())


def work_options(command: Command) -> Command:
    """`--jobs`, for commands whose work can be divided."""
    return _with(command, options.work())


def divided_option(command: Command) -> Command:
    """`--jobs` and `--dask`, for commands that keep no results."""
    return _with(command, options.work(with_cache=False))


def cluster_option(command: Command) -> Command:
    """`--cluster`, for commands of one node."""
    return _with(command, options.filters(by_node=False))


def time_limit_option(command: Command) -> Command:
    """`--time-limit`, for commands that solve layouts."""
    return _with(command, [options.time_limit()])


def _with(command: Command, made: Sequence[click.Option]) -> Command:
    """The command with options that are made already, as click's own decorators add them."""
    decorated: Any = command
    if not hasattr(decorated, "__click_params__"):
        decorated.__click_params__ = []
    decorated.__click_params__ += reversed(made)
    return command


def narrow_to(project: "Project") -> None:
    """Limit the report to the nodes of --cluster and --node.

    Raises CpuplanError (CP293) for an unknown name.
    """
    if settings().is_narrowed:
        from cpuplan.cli.scope import Scope

        settings().scope = Scope(project, settings().clusters, settings().nodes)


def print_diagnostics(
    diagnostics: Iterable[Diagnostic],
    output_format: str = "",
    *,
    strict: bool = False,
    finished: bool = True,
) -> None:
    """Text goes to standard error, other formats to standard output or the file of -o."""
    output_format = output_format or settings().format
    findings = _of_today(diagnostics)
    to_file = _output_file()
    if not findings and output_format == "text" and not to_file:
        return
    from cpuplan.cli.report import Reporter

    reporter = Reporter(settings(), findings, strict=strict, finished=finished)
    if output_format == "text" or not finished or (to_file and not settings().quiet):
        colour = use_colour(sys.stderr)
        echo(reporter.text(sys.stderr, colour=colour), err=True, nl=False, colour=colour)
    if output_format == "text" and not to_file:
        return
    settings().reported = True
    text = reporter.document(output_format)
    if to_file:
        from cpuplan.write.files import write_file

        write_file(to_file, text)
    else:
        echo(text, nl=False, has_own_commands=output_format == "github")
    print_remarks(reporter.notices(output_format))


def _of_today(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    findings = list(diagnostics)
    if any(finding.after or finding.waiver for finding in findings):
        from cpuplan.diagnostics import as_of

        return as_of(findings, today())
    return findings


def fails(diagnostics: Iterable[Diagnostic], *, strict: bool = False) -> bool:
    """Whether the findings fail a command today: errors, and with `strict` unwaived warnings."""
    from cpuplan.diagnostics import counting

    return bool(counting(_of_today(diagnostics), strict=strict))


def today() -> str:
    """The date (UTC) on which waivers hold or not: the only clock that findings depend on."""
    from datetime import UTC, datetime

    return datetime.now(UTC).date().isoformat()


def echo_result(text: str, *, colour: bool = False) -> None:
    """The result of a command: to standard output, or the file of -o, whole or not at all."""
    file = _output_file()
    # What is told from here on is no result.
    settings().reported, settings().output = True, None
    if file:
        from cpuplan.write.files import write_file

        write_file(file, text)
    else:
        echo(text, nl=False, colour=colour)


def _output_file() -> Path | None:
    """The file of -o; None for none, and for `-`."""
    given = settings().output
    if given is None or str(given) == "-":
        return None
    from cpuplan.language.read.files import FOLDERS

    place = os.path.realpath(given)
    for folder in FOLDERS:
        if place.startswith(os.path.realpath(settings().root / folder) + os.sep):
            from cpuplan.diagnostics import CpuplanError, diagnose

            kind = f"among the documents of {folder}/"
            raise CpuplanError([diagnose("CP601", path=given, kind=kind, wanted="a report")])
    return given


def shown_path(path: Path) -> str:
    """A file of the command line in messages: relative to the project, absolute outside of it."""
    root = settings().root
    if root == Path() or path.is_absolute():
        return path.as_posix()
    place, folder = (os.path.abspath(name) for name in (path, root))
    return os.path.relpath(place, folder) if place.startswith(folder + os.sep) else place


def note(text: str) -> None:
    """A line for people beside the result: standard error; nothing with -q."""
    if not settings().quiet:
        echo(text, err=True)


#: Lines of notes, and names in one, that fit on a screen.
_MOST_NOTES, _MOST_NAMES = 30, 8


def note_names(head: str, names: Sequence[str]) -> None:
    """`paused: a, b, c and 7 more`; with -v all names."""
    note(f"{head}: {listed(names, len(names) if settings().verbose else _MOST_NAMES)}")


def note_all(lines: Iterable[str]) -> None:
    """Lines for people beside the result; of many the first ones, unless -v asks for all."""
    given = list(lines)
    is_long = len(given) > _MOST_NOTES and not settings().verbose
    for line in given[:_MOST_NOTES] if is_long else given:
        note(printable(line))
    if is_long:
        note(f"and {len(given) - _MOST_NOTES} more lines; -v shows them")


def print_remarks(sentences: Iterable[str]) -> None:
    """What a reader may want to know, and nobody did wrong."""
    for sentence in sentences:
        note(f"note: {printable(sentence)}")

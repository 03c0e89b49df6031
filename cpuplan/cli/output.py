"""How commands print: diagnostics in the format asked for, colour only where it is read."""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from cpuplan.cli.options import Settings
from cpuplan.diagnostics import Diagnostic
from cpuplan.files import Unreadable, read_regular

Command = TypeVar("Command", bound=Callable[..., Any])


def settings() -> Settings:
    """The options of the group, for the command that runs."""
    context = click.get_current_context(silent=True)
    found = context.find_object(Settings) if context else None
    return found or Settings(Path(), None)


def use_colour(stream: Any = None) -> bool:
    """Whether `stream` (standard output) is a terminal whose user has not said no."""
    asked = settings().colour
    if asked is not None:
        return asked
    return (stream or sys.stdout).isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def screen_width() -> int:
    """Columns for what is drawn: the terminal's, within reason."""
    import shutil

    given = click.get_current_context().terminal_width
    return given or min(160, max(60, shutil.get_terminal_size((100, 24)).columns))


def format_option(command: Command) -> Command:
    """`--format`, for commands whose result is diagnostics."""
    option = click.option(
        "--format",
        "output_format",
        type=click.Choice(["text", "json", "sarif"]),
        default="text",
        help="Of the diagnostics; json and sarif go to standard output.",
    )
    return option(command)


def echo(text: str, *, colour: bool = False, err: bool = False, nl: bool = True) -> None:
    """The door for all that commands print: no text that others wrote steers a terminal."""
    from cpuplan.render.ansi import on_terminal

    click.echo(on_terminal(text, colour=colour), err=err, nl=nl, color=colour)


def print_diagnostics(diagnostics: Iterable[Diagnostic], output_format: str = "text") -> None:
    """Text goes to standard error; JSON and SARIF to standard output, also when nothing was found."""
    found = list(diagnostics)
    if not found and output_format == "text":
        return
    from cpuplan.render import diagnostics as render

    if output_format == "json":
        echo(render.to_json(found), nl=False)
    elif output_format == "sarif":
        echo(render.to_sarif(found), nl=False)
    else:
        colour = use_colour(sys.stderr)
        echo(render.to_text(found, colour=colour, read_lines=_read_lines), err=True, nl=False, colour=colour)


def _read_lines(path: str) -> Sequence[str]:
    root = settings().root
    try:
        data = read_regular(root / path, within=root if (root / path).is_relative_to(root) else None)
    except Unreadable:
        return ()
    return data.decode("utf-8-sig", errors="replace").splitlines()


def shown_path(path: Path) -> str:
    """What messages call a file of the command line, so that `_read_lines` finds it."""
    root = settings().root
    return path.as_posix() if root == Path() or path.is_absolute() else path.absolute().as_posix()


def note(text: str) -> None:
    """A line for people beside the result: standard error."""
    echo(text, err=True)


def print_remarks(sentences: Iterable[str]) -> None:
    """What a reader may want to know, and nobody did wrong."""
    for sentence in sentences:
        note(f"note: {sentence}")


def count(number: int, noun: str) -> str:
    """`1 node`, `2 nodes`, `2 classes`."""
    plural = noun + ("es" if noun.endswith(("s", "x")) else "s")
    return f"{number} {noun if number == 1 else plural}"

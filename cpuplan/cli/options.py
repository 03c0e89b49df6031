"""The options that hold for every command, before its name or after it."""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import click

#: Of what is found; what each is for: `render.formats`.
FORMATS = ("text", "json", "jsonl", "sarif", "junit", "github", "gitlab")


class Settings:
    """What was said on the command line beside the command's own words."""

    def __init__(self, say: Callable[[str], None] = lambda _: None) -> None:
        self.say = say
        self.given_root: Path | None = None
        self.colour: bool | None = None  # None: only on a terminal
        self.quiet = False
        self.verbose = False
        #: Where the report goes; None for standard output or error.
        self.output: Path | None = None
        self.cluster: str | None = None
        self.node: str | None = None
        #: Whether the report has been written: what goes wrong afterwards is told as text.
        self.reported = False

    @cached_property
    def root(self) -> Path:
        """The project's folder: the given one, or that in which, or below which, the user stands; said if above."""
        if self.given_root is not None:
            return self.given_root
        from cpuplan.cli.folders import find_project

        found = find_project()
        if found != Path():
            self.say(f"project: {found}")
        return found


def shared() -> list[click.Option]:
    """New options, for the program and for each of its commands; what is said last holds."""
    return [
        click.Option(
            ["-C", "given_root"],
            metavar="DIR",
            type=click.Path(exists=True, file_okay=False, path_type=Path),
            help="The project's folder, with inventories/, intents/ and out/.  [default: here, or the nearest one "
            "above in the same repository]",
            expose_value=False,
            callback=_keep,
        ),
        click.Option(
            ["--color", "colour"],
            type=click.Choice(["auto", "always", "never"]),
            help="Colour: auto (the default) is on a terminal only, and not with NO_COLOR.",
            expose_value=False,
            callback=_keep,
        ),
        click.Option(
            ["-q", "--quiet"],
            is_flag=True,
            help="Only what was found or asked for: no word of what was done.",
            expose_value=False,
            callback=_keep,
        ),
        click.Option(
            ["-v", "--verbose"],
            is_flag=True,
            help="All findings one by one, waived ones too, instead of groups with examples.",
            expose_value=False,
            callback=_keep,
        ),
    ]


def _keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Keep what was said; what was not said leaves what was said before the command's name."""
    if value in (None, False):
        return
    settings = context.ensure_object(Settings)
    if parameter.name == "colour":
        value = None if value == "auto" else value == "always"
    setattr(settings, str(parameter.name), value)
    if settings.quiet and settings.verbose:
        raise click.UsageError("-q and -v exclude each other", context)


#: For options of some commands that are kept in the same way.
keep = _keep

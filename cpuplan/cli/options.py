"""The options that hold for every command, before its name or after it."""

import os
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from cpuplan.write.record import Said


class Settings:
    """What was said on the command line beside the command's own words."""

    def __init__(self, say: Callable[[str], None] = lambda _: None) -> None:
        self.say = say
        self.given_root: Path | None = None
        self.colour: bool | None = None  # None: only on a terminal
        self.quiet = False
        #: Processes that much work is divided among; None: as many as there are cores.
        self.jobs: int | None = None
        #: The address of a scheduler of Dask, whose workers do the work.
        self.dask: str | None = None
        #: Whether anything may come from earlier runs; see `workers.uses_cache`.
        self.cache = not is_without_cache()
        self.verbose = False
        #: What each layout may take, in seconds of work; None for the default.
        self.time_limit: int | None = None
        #: Where the report goes; None for standard output or error.
        self.output: Path | None = None
        self.format = "text"
        #: What findings and nodes are told of; empty for all. `scope` is made of them when the
        #: project is read.
        self.clusters: tuple[str, ...] = ()
        self.nodes: tuple[str, ...] = ()
        self.scope: Any = None
        #: Files of which no line is shown: those of a node may hold secrets.
        self.private: frozenset[str] = frozenset()
        #: What is said of finished work after Ctrl-C.
        self.kept = ""
        #: Whether the report has been written: what goes wrong afterwards is told as text.
        self.reported = False
        #: The whole command line.
        self.words: tuple[str, ...] = ()
        #: Where all that is printed is noted, if anybody wants to know; see `recorded`.
        self.said: list[Said] | None = None

    @property
    def is_narrowed(self) -> bool:
        """Whether --cluster or --node leaves something out."""
        return bool(self.clusters or self.nodes)

    @cached_property
    def root(self) -> Path:
        """The project's folder: the given one, or the nearest one in or above the current one."""
        if self.given_root is not None:
            return self.given_root
        from cpuplan.cli.folders import find_project

        folder = find_project()
        if folder != Path():
            self.say(f"project: {folder}")
        return folder


#: What services say in the environment of their jobs that do not set CI.
_CI = ("TF_BUILD", "JENKINS_URL", "TEAMCITY_VERSION", "CODEBUILD_BUILD_ID")
#: Options whose value is called otherwise here.
_NAMES = {"output_format": "format"}


def shared() -> list[click.Option]:
    """New options, for the program and for each of its commands; what is said last holds."""
    return [
        click.Option(
            ["-C", "given_root"],
            metavar="DIR",
            type=click.Path(exists=True, file_okay=False, path_type=Path),
            help="Project folder, with inventories/, intents/ and out/. Paths on the command line "
            "are relative to the current folder all the same.  "
            "[default: the current folder, or the nearest one above it in the same repository]",
            expose_value=False,
            callback=keep,
        ),
        click.Option(
            ["--color", "colour"],
            type=click.Choice(["auto", "always", "never"]),
            help="Use colour; auto (the default): only on a terminal, and not with NO_COLOR.",
            expose_value=False,
            callback=keep,
        ),
        click.Option(
            ["-q", "--quiet"],
            is_flag=True,
            help="Print only findings and results, and no messages about progress.",
            expose_value=False,
            callback=keep,
        ),
        click.Option(
            ["-v", "--verbose"],
            is_flag=True,
            help="Print each finding, including waived ones, instead of groups with examples.",
            expose_value=False,
            callback=keep,
        ),
    ]


def keep(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Keep what was said; what was not said leaves what was said before the command's name."""
    if value in (None, False, ()):
        return value
    settings = context.ensure_object(Settings)
    if parameter.name == "colour":
        settings.colour = {"auto": None, "always": True, "never": False}[value]
    else:
        setattr(settings, _NAMES.get(str(parameter.name), str(parameter.name)), value)
    if settings.quiet and settings.verbose:
        raise click.UsageError("-q and -v cannot be used together", context)
    return value


def time_limit() -> click.Option:
    """`--time-limit`, for commands that solve layouts."""
    from cpuplan.solve.budget import DEFAULT

    return click.Option(
        ["--time-limit"],
        type=click.IntRange(min=1),
        metavar="SECONDS",
        help="How long each layout may be searched for and proven best, and how long pods may be "
        "simulated on nodes of a class, in seconds of work: counted in steps and not by a clock, "
        f"so that the result is the same on every machine.  [default: {DEFAULT:g}]",
        expose_value=False,
        callback=keep,
    )


def filters(*, by_node: bool = True) -> list[click.Option]:
    """`--cluster` and `--node`, for commands that tell of many nodes."""
    cluster = click.Option(
        ["--cluster", "clusters"],
        multiple=True,
        metavar="NAME",
        help="Report only on nodes of this cluster; may be repeated. Everything is still checked.",
        expose_value=False,
        callback=keep,
    )
    node = click.Option(
        ["--node", "nodes"],
        multiple=True,
        metavar="NAME",
        help="Report only on this node, NAME or CLUSTER/NAME; may be repeated.",
        expose_value=False,
        callback=keep,
    )
    return [cluster, node] if by_node else [cluster]


def work(*, with_cache: bool = True) -> list[click.Option]:
    """`--jobs` and what else says how much work on many classes or nodes is done."""
    jobs = click.Option(
        ["-j", "--jobs"],
        metavar="N",
        type=click.IntRange(min=1),
        help="Divide much work among N processes; with 1, this process does it all. The result is "
        "the same with every number.  [default: the cores that this process may use]",
        expose_value=False,
        callback=keep,
    )
    no_cache = click.Option(
        ["--no-cache", "cache"],
        flag_value=False,
        default=True,
        help="Take nothing from earlier runs: make everything anew, and keep nothing. Also with "
        "CPUPLAN_NO_CACHE=1 in the environment, and wherever CI is set.",
        expose_value=False,
        callback=_keep_cache,
    )
    dask = click.Option(
        ["--dask"],
        metavar="ADDRESS",
        help="Give the work to the scheduler of Dask at this address, such as "
        "tcp://scheduler:8786, whose workers have the same cpuplan. Needs the extra `dask`.",
        expose_value=False,
        callback=keep,
    )
    return [jobs, dask, no_cache] if with_cache else [jobs, dask]


def _keep_cache(context: click.Context, _parameter: click.Parameter, value: bool) -> bool:
    context.ensure_object(Settings).cache = value and not is_without_cache()
    return value


def is_without_cache() -> bool:
    """Whether the environment says that nothing is taken from earlier runs.

    Also in a job of CI: what ran before it, as the same user, may have been anybody's code.
    """
    is_in_ci = os.environ.get("CI", "").lower() not in ("", "0", "false")
    return is_in_ci or any(map(os.environ.get, (*_CI, "CPUPLAN_NO_CACHE")))

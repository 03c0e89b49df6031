"""The command line's top: which commands there are, and what an exit code means.

0 fine; 1 findings: errors in the input, no layout, a node that differs; 2 usage, reading and
writing; 3 `out/` is stale (--check), or a plan has changes (--exit-code); 4 the impact of a plan is
above --max-impact; 5 another run is writing; 6 compiled, with a layout that is not proven best, or
simulated, and the limit of work was reached before all was known; 7 a check found nothing that
differs, but looked at too little to say that it holds; 70 a bug; 130 and 143 interrupted, with the
old output intact.
"""

import os
import sys
from importlib import import_module
from importlib.util import find_spec

import click

from cpuplan import __version__
from cpuplan.base.progress import Progress, watched
from cpuplan.base.text import nearest
from cpuplan.cli import options
from cpuplan.cli.options import Settings

#: Commands in the order of their use: name -> what the overview says. The module is
#: `cpuplan.cli.commands.<name>`.
COMMANDS = {
    "init": "Start a project: a folder with a first inventory and intent.",
    "import": "Read hardware from hosts, must-gathers and output of other tools into inventories/.",
    "catalog": "List server models, and copy them into inventories/.",
    "propose": "Propose an intent for a pool of a must-gather, from numbers of CPUs.",
    "validate": "Report everything that is wrong with the inventories and intents.",
    "compile": "Solve the layouts and write out/.",
    "plan": "Show what a change costs each node, compared with what was compiled before.",
    "merge-check": "Say whether merging a branch would give a valid project, before it is merged.",
    "publish": "Commit out/ to a branch, with a message that says what changes.",
    "provenance": "State which inputs gave which files of out/, as an in-toto statement.",
    "verify-output": "Compile again and compare every file of out/: is it what the inputs give?",
    "show": "Draw a machine, or the pools of a node on its sockets, NUMA nodes, caches and cores.",
    "simulate": "Show what the kubelets of planned nodes would do with pods.",
    "explain": "Explain a CPU, pool or setting, with the cost of alternatives; or a code or rule.",
    "check": "Compare a node with its compiled settings.",
    "check cluster": "Compare a live cluster with what was compiled for it.",
    "agent": "Check this node every so often, and serve what was found as metrics.",
    "bundle": "Write what checks nodes as one file, for nodes with nothing but Python.",
    "snapshot": "Print a script that collects what check reads of a node.",
    "fmt": "Rewrite inventories and intents in canonical form, with their comments.",
    "versions": "List the releases of every program that are known, how, and until when.",
    "schema": "Print the JSON Schema of a kind of document.",
}


def _module(name: str) -> str:
    module = name.replace("import", "import_").replace(" ", "_").replace("-", "_")
    return f"cpuplan.cli.commands.{module}"


def _commands() -> dict[str, str]:
    """The commands of this installation: a bundle has some of them."""
    from cpuplan.base.program import is_bundled

    if not is_bundled():
        return COMMANDS
    return {name: text for name, text in COMMANDS.items() if find_spec(_module(name))}


class _Commands(click.Group):
    """Imports a command when it is called, and none for the overview, so that it starts fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_commands())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(_module(cmd_name)).command
        if not any(parameter.name == "given_root" for parameter in command.params):
            command.params += options.shared()
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if len(args) > 1 and f"{args[0]} {args[1]}" in COMMANDS:
            return super().resolve_command(ctx, [f"{args[0]} {args[1]}", *args[2:]])
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            near = nearest(args[0], COMMANDS)
            hint = f" Did you mean {near!r}?" if near else ""
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_commands().items()))


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(
    __version__, "-V", "--version", prog_name="cpuplan", message="%(prog)s %(version)s"
)
def cli() -> None:
    """A compiler for CPU partitioning on Kubernetes nodes.

    Reads inventories/ (the hardware) and intents/ (what its CPUs are for), proves that a layout
    exists, and writes all files for it to out/.

    The options below can also follow the command.
    """
    try:
        os.getcwd()
    except OSError as error:
        from cpuplan.diagnostics import CpuplanError, diagnose

        os.chdir("/")  # to say so, one must stand somewhere
        raise CpuplanError(
            [diagnose("CP607", path="the current folder", problem=error.strerror)]
        ) from error


cli.params[:0] = options.shared()


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code: every end is one, never a traceback."""
    output = sys.stdout
    settings = Settings(_say)
    settings.words = tuple(arguments)
    try:
        with watched(_line(settings)):
            result = cli.main(
                args=arguments, prog_name="cpuplan", standalone_mode=False, obj=settings
            )
        return result if isinstance(result, int) else 0
    except (click.Abort, KeyboardInterrupt):
        return _interrupted(settings)
    except SystemExit as end:
        # click ends by itself after a completion, and where the reader of our output has seen
        # enough, with another one.
        return int(end.code or 0) if sys.stdout is output else 0
    except BrokenPipeError:
        # The reader of our output (`head`, a pager) has seen enough.
        sys.stdout = None
        return 0
    except Exception as error:
        if _is_interrupt(error):
            return _interrupted(settings)
        from cpuplan.cli.failure import report

        name = next((word for word in arguments if word in COMMANDS), "cpuplan")
        return report(error, arguments, settings, name)


def _interrupted(settings: Settings) -> int:
    from cpuplan.cli.output import note

    note(f"interrupted; existing files are unchanged{settings.kept}")
    return 130


def _is_interrupt(error: BaseException) -> bool:
    """Whether Ctrl-C was the cause: an extension that is being loaded makes an error of it."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__
    return cause is not None


def _line(settings: Settings) -> Progress | None:
    """Who is told of progress; nobody unless standard error is a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    from cpuplan.base.progress import Line, is_wanted

    return Line(lambda: settings.quiet) if is_wanted() else None


def _say(text: str) -> None:
    from cpuplan.cli.output import note

    note(text)

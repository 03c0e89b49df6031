"""`cpuplan check cluster`: does a live cluster have what was compiled for it?"""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from cpuplan.base.progress import stage
from cpuplan.cli.answers import min_verified_option
from cpuplan.cli.output import answer_format_option, cluster_option, note, settings

if TYPE_CHECKING:
    from cpuplan.check.cluster.live import Compilation, Seen
    from cpuplan.check.cluster.reading import Reader
    from cpuplan.diagnostics.source import Locate
    from cpuplan.plan.expected.evidence import Threshold
    from cpuplan.render.answers.summary import Checked

#: Seconds between two looks at a cluster on its way.
_INTERVAL = 15.0
#: The share of --timeout that one answer may take: with the default 30 s, half of the API server's
#: own limit. A Node in a list has some 20 kB, a page of 500 some 10 MB.
_OF_ONE_ANSWER = 1 / 10
_LONGEST = 8760 * 3600
_MISSING = "pip install 'cpuplan[cluster]', which brings the Kubernetes project's client"
_UNREACHABLE = (
    "try `kubectl get nodes` with the same kubeconfig and context; log in again if its credentials "
    "have expired"
)


def _duration(_context: click.Context, _option: click.Parameter, text: str) -> float:
    """Seconds of a duration as Go writes them, at most a year."""
    from cpuplan.upstream.kubernetes.durations import parse_duration
    from cpuplan.upstream.kubernetes.errors import KubeletError

    try:
        seconds = parse_duration(text) / 1e9
    except KubeletError as error:
        raise click.BadParameter("give a duration such as 60m or 1h30m") from error
    if not 0 <= seconds <= _LONGEST:
        raise click.BadParameter("give a duration from 0 to 8760h")
    return seconds


def _some_time(context: click.Context, option: click.Parameter, text: str) -> float:
    """The same, but no time at all is too short for any answer."""
    seconds = _duration(context, option, text)
    if seconds < 1:
        raise click.BadParameter("give at least 1s")
    return seconds


@click.command()
@click.option(
    "--context", metavar="NAME", help="Context of the kubeconfig.  [default: the current]"
)
@click.option(
    "--kubeconfig",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="[default: $KUBECONFIG, the service account of a pod, or ~/.kube/config]",
)
@click.option(
    "--state",
    type=click.Path(exists=True, path_type=Path),
    help="What was compiled: out/ of a project, or a folder with expected states.  [default: out/ "
    "of the project]",
)
@click.option(
    "--wait",
    metavar="DURATION",
    default="0",
    callback=_duration,
    help="Look again until nothing differs and enough is verified, at most so long (60m).",
)
@click.option(
    "--timeout",
    metavar="DURATION",
    default="5m",
    callback=_some_time,
    help="Give up asking after so long, with --wait each time; one answer may take a tenth of it.  "
    "[default: 5m]",
)
@click.option("--coverage", is_flag=True, help="List every fact with its verdict, and the nodes.")
@min_verified_option
@answer_format_option
@cluster_option
def command(  # noqa: PLR0913, PLR0917 - one for each option
    context: str | None,
    kubeconfig: Path | None,
    state: Path | None,
    wait: float,
    timeout: float,
    coverage: bool,
    threshold: "Threshold",
    output_format: str,
) -> int:
    """Compare what the API of a cluster says with what was compiled for it.

    Read are Nodes with their amounts, MachineConfigPools and rendered MachineConfigs, compiled
    objects such as RuntimeClasses and admission policies, and NodeResourceTopologies; with
    Koordinator pods too. Only get and list are used. A node called `cluster` is checked as
    CLUSTER/cluster.

    Exit code 0: nothing differs; 1: something differs, or still does when --wait is over; 2: the
    cluster cannot be read; 7: nothing differs, but the user may not read all that is compared, or
    of a node nothing was verified, or less than --min-verified asks for.
    """
    from cpuplan.cli.answers import Statements, report_fleet

    compilation = _compilation(state or settings().root / "out")
    statements = Statements(settings().root)
    reader = _reader(kubeconfig, context, compilation.name, timeout)
    asking = _Asking(reader, compilation, statements.locate, timeout)
    seen = _settled(asking, wait, threshold)
    return report_fleet(
        _checked(compilation, seen),
        statements,
        output_format,
        with_coverage=coverage,
        problems=seen.refused,
        threshold=threshold,
    )


def _checked(compilation: "Compilation", seen: "Seen") -> "list[Checked]":
    """The answers on each node, and on the objects of the cluster."""
    from cpuplan.render.answers.summary import Checked

    of = seen.nodes
    nodes = [
        Checked(name, compilation.name, state.name, state.digest, tuple(of[name]), state.intent)
        for state in compilation.states
        for name in state.nodes
    ]
    objects = Checked(f"objects of {compilation.name}", compilation.name, "", "", seen.objects)
    return [*nodes, objects] if seen.objects else nodes


def _compilation(place: Path) -> "Compilation":
    from cpuplan.check.cluster.live import Compilation
    from cpuplan.diagnostics import CpuplanError, diagnose
    from cpuplan.plan.expected.folder import files, load, objects_of

    states = [load(file) for file in files(place)]
    names = list(dict.fromkeys(state.cluster for state in states))
    if not states:
        raise CpuplanError([diagnose("CP878", path=place)])
    wanted = settings().clusters or (names if len(names) == 1 else ())
    if len(wanted) != 1:
        raise click.UsageError(f"say which cluster with --cluster: {', '.join(names)}")
    name = wanted[0]
    if name not in names:
        raise click.UsageError(f"no cluster {name!r} was compiled, but {', '.join(names)}")
    own = tuple(state for state in states if state.cluster == name)
    return Compilation(name, own, objects_of(place, name) or ())


def _reader(kubeconfig: Path | None, context: str | None, cluster: str, timeout: float) -> "Reader":
    from time import sleep

    from cpuplan.base.served import within
    from cpuplan.check.cluster.client import Client, MissingClientError
    from cpuplan.check.cluster.reading import Reader, UnreachableError

    try:
        with within(timeout):
            return Reader(Client(kubeconfig, context, timeout * _OF_ONE_ANSWER), sleep)
    except MissingClientError as error:
        raise _unread(cluster, "the client for its API is not installed", _MISSING) from error
    except UnreachableError as error:
        raise _unread(cluster, str(error), _UNREACHABLE) from error
    except TimeoutError as error:  # its client was loaded, or gave credentials, for so long
        problem = f"nothing was asked within {timeout:g} s; --timeout gives it more"
        raise _unread(cluster, problem, _UNREACHABLE) from error


def _unread(cluster: str, problem: str, remedy: str) -> Exception:
    from cpuplan.diagnostics import CpuplanError, diagnose

    server = f"cluster {cluster}"
    return CpuplanError([diagnose("CP897", server=server, problem=problem, remedy=remedy)])


class _Asking(NamedTuple):
    """Who is asked for what, and how long at most."""

    reader: "Reader"
    compilation: "Compilation"
    locate: "Locate"
    timeout: float

    def once(self) -> "Seen":
        """What is seen now. Raises UnreachableError, also when time is over."""
        from cpuplan.base.served import within
        from cpuplan.check.cluster.live import look
        from cpuplan.check.cluster.reading import UnreachableError

        try:
            with stage(f"asking cluster {self.compilation.name}"), within(self.timeout):
                return look(self.reader, self.compilation, self.locate)
        except TimeoutError as error:
            problem = f"not all was answered within {self.timeout:g} s; --timeout gives it more"
            raise UnreachableError(problem) from error


def _settled(asking: _Asking, seconds: float, threshold: "Threshold") -> "Seen":
    """What is seen when nothing differs any more, or time is out."""
    from time import monotonic, sleep

    from cpuplan.check.cluster.live import Clock, wait
    from cpuplan.check.cluster.reading import UnreachableError

    clock = Clock(monotonic, sleep, _INTERVAL)
    try:
        return wait(asking.once, seconds, clock, note, threshold)
    except UnreachableError as error:
        raise _unread(asking.compilation.name, str(error), _UNREACHABLE) from error

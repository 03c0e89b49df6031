"""`cpuplan agent`: check this node every so often, and serve what was found."""

import gc
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cpuplan.cli.output import echo, echo_result, note, settings

if TYPE_CHECKING:
    from cpuplan.node.loop import Node, Tell
    from cpuplan.node.reporter import Reporter
    from cpuplan.node.server import Pages, Server
    from cpuplan.node.view import State, View

_UNITS = {"s": 1, "m": 60, "h": 3600}
#: Python's own: for commands, which end soon, it is set so that nothing is collected.
_COLLECT = (700, 10, 10)
_LAST_PORT = 65535


def _seconds(_context: Any, _option: Any, value: str) -> float:
    """The seconds of `60s`, `5m` or `1h`."""
    parts = re.fullmatch(r"([1-9][0-9]{0,4})([smh])", value)
    if not parts:
        raise click.BadParameter(f"{value!r} is no time such as 60s, 5m or 1h")
    return float(int(parts[1]) * _UNITS[parts[2]])


def _address(_context: Any, _option: Any, value: str) -> tuple[str, int] | None:
    """Host and port of `host:port`, `:port` or `[address]:port`; None for `off`."""
    if value == "off":
        return None
    parts = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]]*):([0-9]{1,5})", value)
    if not parts or int(parts[2]) > _LAST_PORT:
        raise click.BadParameter(f"{value!r} is no address such as :9876 or 127.0.0.1:9876")
    return parts[1].strip("[]"), int(parts[2])


@click.command()
@click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path("/"),
    help="The node's root file system; /host in a container.  [default: /]",
)
@click.option(
    "--state",
    "compiled",
    type=click.Path(path_type=Path),
    help="The expected state of the node's class, or a folder with those of several; read again "
    "when it changes.  [default: out/ of the project]",
)
@click.option(
    "--node",
    envvar="NODE_NAME",
    help="The node's name.  [default: $NODE_NAME, or the planned node of its host name]",
)
@click.option(
    "--interval",
    metavar="TIME",
    callback=_seconds,
    default="60s",
    help="Time from check to check, such as 30s or 5m.  [default: 60s]",
)
@click.option(
    "--listen",
    metavar="ADDRESS",
    callback=_address,
    default=":9876",
    help="Serve /metrics, /healthz and /readyz at this address, or `off`.  [default: :9876]",
)
@click.option(
    "--textfile",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the metrics to this file, for node_exporter's textfile collector.",
)
@click.option(
    "--condition", is_flag=True, help="Set the condition CPUPlanHolds of the Node in the cluster."
)
@click.option("--events", is_flag=True, help="Create an Event about the Node if that changes.")
@click.option("--once", is_flag=True, help="Check once, tell it, and end; serve nothing.")
def command(  # noqa: PLR0913, PLR0917 - one for each option
    root: Path,
    compiled: Path | None,
    node: str | None,
    interval: float,
    listen: tuple[str, int] | None,
    textfile: Path | None,
    condition: bool,
    events: bool,
    once: bool,
) -> int:
    """Check this node against its plan every so often, and tell others what was found.

    As metrics at /metrics or in a file; on request as a condition of the Node, with Events. What
    was not looked at, or not of late, is never told to hold.

    SIGHUP makes it check at once. Exit code with --once: 0 if nothing differs; 7 if nothing could
    be verified; else 1.
    """
    from cpuplan.node.loop import Agent, Node
    from cpuplan.node.view import State

    if (condition or events) and not node:
        raise click.UsageError("--condition and --events need --node, or NODE_NAME")
    source = Node(root, compiled or settings().root / "out", node or "")
    state = State(interval)
    reporter = _reporter(node or "", condition=condition, events=events)
    writers = [_writer(textfile, source)] if textfile else []
    tells: list[Tell] = [*writers, *([reporter.tell] if reporter else [])]
    agent = Agent(source, state, tells, _log)
    if once:
        agent.once()
        return _tell(state.view(), source, to_file=textfile is not None)
    gc.set_threshold(*_COLLECT)
    _on_signals(agent.end, agent.ask)
    server = _server(listen, state, source) if listen else None
    agent.run()
    state.forget("the agent was stopped")
    for write in writers:
        write(state.view())
    if reporter:
        reporter.stop()
    if server:
        server.stop()
    return 0


def _log(text: str) -> None:
    """A line of the log; with -q too: it says why a node is not checked."""
    echo(text, err=True)


def _on_signals(end: Callable[[], None], ask: Callable[[], None]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: end())
    signal.signal(signal.SIGHUP, lambda *_: ask())


def _writer(path: Path, source: "Node") -> "Tell":
    from cpuplan.node.view import clear_textfile, text, write_textfile

    clear_textfile(path)

    def tell(view: "View") -> None:
        try:
            write_textfile(path, text(view, source.plan(), with_age=False))
        except OSError as error:
            _log(f"{path} is not written: {error.strerror}")

    return tell


def _reporter(node: str, *, condition: bool, events: bool) -> "Reporter | None":
    """What tells the cluster. Raises CpuplanError (CP895) outside of one."""
    if not (condition or events):
        return None
    from cpuplan.diagnostics import CpuplanError, diagnose
    from cpuplan.node.reporter import Api, ApiError, Reporter

    try:
        api = Api()
    except ApiError as error:
        raise CpuplanError([diagnose("CP895", problem=error)]) from error
    return Reporter(api, node, _log, condition=condition, events=events)


def _server(listen: tuple[str, int], state: "State", source: "Node") -> "Server":
    """The server, which has begun. Raises CpuplanError (CP896)."""
    from cpuplan.diagnostics import CpuplanError, diagnose
    from cpuplan.node.server import Server

    try:
        server = Server(*listen, _pages(state, source))
    except OSError as error:
        address = f"{listen[0]}:{listen[1]}"
        problem = error.strerror or str(error)
        raise CpuplanError([diagnose("CP896", address=address, problem=problem)]) from error
    server.start()
    note(f"listening on port {server.server_port}")
    return server


def _pages(state: "State", source: "Node") -> "Pages":
    from cpuplan.node.server import Answer, metrics
    from cpuplan.node.view import text

    def healthz() -> Answer:
        return Answer("ok\n") if state.is_alive() else Answer("the loop does not run\n", 503)

    def readyz() -> Answer:
        problem = state.view().problem
        return Answer(f"{problem}\n", 503) if problem else Answer("ok\n")

    return {
        "/metrics": metrics(lambda: text(state.view(), source.plan())),
        "/healthz": healthz,
        "/readyz": readyz,
    }


def _tell(view: "View", source: "Node", *, to_file: bool) -> int:
    """What one check found: the metrics, unless a file has them."""
    from cpuplan.node import reporter
    from cpuplan.node.view import text

    if not to_file:
        echo_result(text(view, source.plan(), with_age=False))
    status, reason, _ = reporter.verdict_of(view)
    if status == "True":
        return 0
    return 7 if reason == reporter.NOTHING else 1

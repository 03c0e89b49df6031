"""`cpuplan snapshot`: the script that collects what `check` reads of a node."""

import click

from cpuplan.cli.output import echo_result, script_option
from cpuplan.resources import resource


@click.command()
@script_option
def command() -> int:
    """Print a script that collects what `check` reads of a node into one archive.

    It runs on the node, where nothing of cpuplan needs to be: `cpuplan snapshot | ssh NODE sudo sh
    > NODE.tar.gz`, then `cpuplan check --root NODE.tar.gz`. The script changes nothing, and leaves
    out keys, passwords, tokens and environments.
    """
    echo_result(resource("templates", "snapshot", "cpuplan-snapshot.sh").read_text())
    return 0

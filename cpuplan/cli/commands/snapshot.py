"""`cpuplan snapshot`: the script that collects what `check` reads of a node."""

import click

from cpuplan.base.program import resource
from cpuplan.cli.output import echo_result, script_option


@click.command()
@click.option(
    "--list", "lists", is_flag=True, help="List what the script collects, instead of printing it."
)
@script_option
def command(*, lists: bool) -> int:
    """Print a script that collects what `check` reads of a node into one archive.

    It runs on the node, where nothing of cpuplan needs to be: `cpuplan snapshot | ssh NODE sudo sh
    > NODE.tar.gz`, then `cpuplan check --root NODE.tar.gz`. The script changes nothing. Of files it
    takes known keys only: all other values, and words that look like secrets, stay on the node.
    """
    if lists:
        from cpuplan.check import collected

        echo_result(collected.listing())
    else:
        echo_result(resource("templates", "snapshot", "cpuplan-snapshot.sh").read_text())
    return 0

"""`cpuplan schema`: the JSON Schemas that editors and other tools check documents with."""

import click

from cpuplan.cli.output import echo
from cpuplan.resources import resource


@click.command()
@click.argument("kind", type=click.Choice(["hardware", "nodes", "intent"], case_sensitive=False))
def command(kind: str) -> int:
    """Print the JSON Schema of a KIND of document."""
    echo(resource("schemas", f"{kind}.schema.json").read_text(), nl=False)
    return 0

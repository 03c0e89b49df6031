"""`cpuplan schema`: the JSON Schemas that editors and other tools check documents with."""

import click

from cpuplan.base.program import resource
from cpuplan.cli.output import echo

_ENDING = ".schema.json"


def _kinds() -> list[str]:
    """The kinds that there are schemas of."""
    return sorted(
        path.name.removesuffix(_ENDING) for path in resource("schemas").glob(f"*{_ENDING}")
    )


@click.command()
@click.argument("kind", type=click.Choice(_kinds(), case_sensitive=False))
def command(kind: str) -> int:
    """Print the JSON Schema of a KIND of document."""
    echo(resource("schemas", kind + _ENDING).read_text(), nl=False)
    return 0

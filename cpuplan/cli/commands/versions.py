"""`cpuplan versions`: which releases of every program are known, how, and until when."""

from typing import Any

import click

from cpuplan.base.text import did_you_mean
from cpuplan.cli.output import echo_result, result_options
from cpuplan.facts.programs import PROGRAMS


@click.command()
@click.argument("names", nargs=-1, metavar="[PROGRAM]...")
@result_options
def command(names: tuple[str, ...], output_format: str, **_: Any) -> int:
    """List the releases that cpuplan knows of every program, or of PROGRAMs one by one.

    A release is known by recorded answers of the program, or because its source was read. Others
    are predicted by the rules of another release, or unproven; where a target names one of these,
    a note says so (CP5625).
    """
    from cpuplan.render import tables

    if unknown := [name for name in names if name not in PROGRAMS]:
        hint = did_you_mean(unknown[0], PROGRAMS)
        raise click.UsageError(f"no program is called {unknown[0]!r}. {hint}".rstrip(". "))
    chosen = [PROGRAMS[name] for name in dict.fromkeys(names or PROGRAMS)]
    if output_format == "json":
        from cpuplan.base.emit import to_json

        echo_result(to_json(tables.programs_data(chosen)))
    else:
        echo_result(tables.programs(chosen, every=bool(names)))
    return 0

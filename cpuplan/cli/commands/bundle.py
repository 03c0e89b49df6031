"""`cpuplan bundle`: write what checks nodes as one file."""

from pathlib import Path

import click

from cpuplan.cli.output import note


@click.command()
@click.option(
    "-o",
    "--output",
    "target",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("cpuplan.pyz"),
    help="The file.  [default: cpuplan.pyz]",
)
def command(target: Path) -> int:
    """Write cpuplan.pyz: one file that checks nodes, for Python 3.11 or later and nothing else.

    It has the commands agent, check, explain and snapshot, without models and without a solver. The
    same release of cpuplan and of its packages gives the same bytes.

    \b
    cpuplan bundle -o cpuplan.pyz
    python3 cpuplan.pyz check NODE --state state.json
    """
    from hashlib import sha256

    from cpuplan.node.bundle import build
    from cpuplan.write.files import write_file

    data = build()
    write_file(target, data)
    note(f"{target}: {len(data):,} bytes, SHA-256 {sha256(data).hexdigest()}")
    return 0

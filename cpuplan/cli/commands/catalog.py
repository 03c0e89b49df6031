"""`cpuplan catalog`: server models in use, to copy into inventories/ and edit."""

from pathlib import Path

import click

from cpuplan.base.text import did_you_mean
from cpuplan.cli.documents import write_new
from cpuplan.cli.output import echo, settings
from cpuplan.diagnostics import CpuplanError, diagnose

_HINT = "view the entry with `cpuplan show Hardware/{name}`, or overwrite the file with --force"


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Folder for the documents.  [default: inventories/]",
)
@click.option("--force", is_flag=True, help="Overwrite existing documents.")
def command(names: tuple[str, ...], output: Path | None, force: bool) -> int:
    """List the server models of the catalogue, or copy those with NAMEs into inventories/.

    Add memory, huge pages and devices yourself: they differ from server to server.
    """
    from cpuplan.fleet import hardware

    entries = hardware.read_catalog()
    if not names:
        from cpuplan.render.tables import models

        echo(models(entries), nl=False)
        return 0
    known = {document.name: document for document in entries}
    if wrong := [name for name in names if name not in known]:
        raise CpuplanError(
            [diagnose("CP254", name=name, hint=did_you_mean(name, known)) for name in wrong]
        )
    folder = output or settings().root / "inventories"
    return write_new(
        {folder / f"{name}.yaml": hardware.catalog_text(known[name]) for name in names},
        _HINT,
        force=force,
    )

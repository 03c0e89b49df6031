"""`cpuplan catalog`: server models in use, to copy into inventories/ and edit."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cpuplan.cli.output import note, print_diagnostics, settings
from cpuplan.diagnostics import CpuplanError, diagnose

if TYPE_CHECKING:
    from cpuplan.load.documents import Document

_HINT = "look at the entry with `cpuplan show Hardware/{name}`, or overwrite the file with --force"


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Folder for the documents.  [default: inventories/]"
)
@click.option("--force", is_flag=True, help="Overwrite documents that are there already.")
def command(names: tuple[str, ...], output: Path | None, force: bool) -> int:
    """List the server models of the catalogue; with NAMEs, copy them into inventories/, yours to edit.

    Memory, huge pages and devices are yours to add: they differ from server to server.
    """
    from cpuplan.load import catalog

    entries = catalog.read()
    if not names:
        from cpuplan.render.overview import catalogue

        click.echo(catalogue(entries), nl=False)
        return 0
    known = {document.name: document for document in entries}
    if wrong := [name for name in names if name not in known]:
        from cpuplan.load.mistakes import did_you_mean

        raise CpuplanError([diagnose("CP254", name=name, hint=did_you_mean(name, known)) for name in wrong])
    return _write([known[name] for name in names], output or settings().root / "inventories", force=force)


def _write(entries: "list[Document]", folder: Path, *, force: bool) -> int:
    from cpuplan.load import catalog
    from cpuplan.write.files import write_file

    texts = {f"{entry.name}.yaml": catalog.text(entry) for entry in entries}
    blocked = [
        diagnose("CP621", path=folder / name, hint=_HINT.format(name=name.removesuffix(".yaml")))
        for name, text in texts.items()
        if not force and (folder / name).exists() and (folder / name).read_text() != text
    ]
    if blocked:
        print_diagnostics(blocked)
        return 2
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        write_file(folder / name, text)
        note(f"wrote {folder / name}")
    return 0

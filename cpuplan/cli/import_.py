"""`cpuplan import`: hardware that is there becomes inventory documents that people read and edit."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cpuplan.cli.output import count, note, print_diagnostics, settings
from cpuplan.diagnostics import Diagnostic, diagnose, errors

if TYPE_CHECKING:
    from cpuplan.importers.base import Imported

FORMATS = ("must-gather", "sysroot")
_HINT = "look at the new one with --stdout, then overwrite it with --force, or choose another folder with -o"


@click.command("import")
@click.argument("words", nargs=-1, required=True, metavar="[FORMAT] PATH")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Folder for the documents.  [default: inventories/]"
)
@click.option("--cluster", help="Name of the nodes' cluster, where the input does not tell.")
@click.option("--stdout", "to_stdout", is_flag=True, help="Print the documents and write nothing.")
@click.option("--force", is_flag=True, help="Overwrite documents that are there already.")
def command(words: tuple[str, ...], output: Path | None, cluster: str | None, to_stdout: bool, force: bool) -> int:
    """Read hardware from PATH and write Hardware and Nodes documents.

    FORMAT is must-gather (an OpenShift must-gather with node snapshots) or sysroot (a live host's root, a copy of its
    /sys and /proc, or a tar archive of them); left out, it is found by looking. What the input does not tell is
    listed and left open.
    """
    kind, path = _parse(words)
    from cpuplan import importers
    from cpuplan.importers import documents

    imported = importers.run(kind, path, cluster)
    print_diagnostics(imported.diagnostics)
    for remark in imported.remarks:
        note(f"note: {remark}")
    if not imported.nodes:
        return 1
    header = "yaml-language-server: $schema=../schemas/{kind}.schema.json\n"
    texts = documents.render(imported, header)
    if to_stdout:
        click.echo("---\n".join(texts.values()), nl=False)
        return 0
    return _write(imported, texts, output or settings().root / "inventories", force=force)


def _parse(words: tuple[str, ...]) -> tuple[str | None, Path]:
    if len(words) == 1:
        kind, name = None, words[0]
    elif len(words) == 2:
        kind, name = words
    else:
        raise click.UsageError("one path at a time: cpuplan import [FORMAT] PATH")
    if kind is not None and kind not in FORMATS:
        raise click.UsageError(f"there is no format {kind!r}; there are {', '.join(FORMATS)}")
    path = Path(name)
    if not path.exists():
        raise click.UsageError(f"there is no file or folder {name!r}")
    return kind, path


def _write(imported: "Imported", texts: dict[str, str], folder: Path, *, force: bool) -> int:
    from cpuplan.write.files import write_file

    blocked: list[Diagnostic] = [
        diagnose("CP621", path=folder / name, hint=_HINT)
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
    note(f"{count(len(imported.nodes), 'node')} read")
    return 1 if errors(imported.diagnostics) else 0

"""`cpuplan import`: hardware that is there becomes inventory documents that people read and edit."""

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cpuplan.cli.output import count, note, print_diagnostics, settings
from cpuplan.diagnostics import Diagnostic, diagnose, errors

if TYPE_CHECKING:
    from cpuplan.importers.base import Imported

#: What becomes an Intent, not an inventory.
PROFILES = "performanceprofile"
_HINT = "look at the new one with --stdout, then overwrite it with --force, or choose another folder with -o"


@click.command("import")
@click.argument("words", nargs=-1, required=True, metavar="[FORMAT] PATH...")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Folder for the documents.  [default: inventories/]"
)
@click.option("--cluster", help="Name of the nodes' cluster, where the input does not tell.")
@click.option("--stdout", "to_stdout", is_flag=True, help="Print the documents and write nothing.")
@click.option("--force", is_flag=True, help="Overwrite documents that are there already.")
def command(words: tuple[str, ...], output: Path | None, cluster: str | None, to_stdout: bool, force: bool) -> int:
    """Read hardware from each PATH and write Hardware and Nodes documents.

    FORMAT is found by looking at each PATH, or one of: sysroot (a live host's root, a copy of its /sys and /proc, or a
    tar archive of them), must-gather (of OpenShift, with node snapshots), lscpu (what lscpu -J, -e or -p printed),
    hwloc (XML of lstopo), objects (NodeResourceTopology and Node objects), machineinfo (of cAdvisor), ironic
    (introspection data). A folder of files is read file by file. What several sources tell of a node is brought
    together by its name; what none of them tells is listed and left open.

    FORMAT performanceprofile writes an Intent for each PerformanceProfile of OpenShift's node tuning operator, to
    intents/.
    """
    from cpuplan import importers
    from cpuplan.importers import documents

    kind, paths = _parse(words, [*importers.IMPORTERS, PROFILES])
    if kind == PROFILES:
        from cpuplan.cli import import_profiles

        return import_profiles.run(paths, output or settings().root / "intents", to_stdout=to_stdout, force=force)
    imported = importers.run(kind, paths, cluster)
    print_diagnostics(imported.diagnostics)
    for remark in imported.remarks:
        note(f"note: {remark}")
    if not imported.nodes:
        return 1
    header = "yaml-language-server: $schema=../schemas/{kind}.schema.json\n"
    texts = documents.render(imported, header)
    if to_stdout:
        click.echo("---\n".join(texts.values()), nl=False)
        return 1 if errors(imported.diagnostics) else 0
    return _write(imported, texts, output or settings().root / "inventories", force=force)


def _parse(words: tuple[str, ...], known: Collection[str]) -> tuple[str | None, list[Path]]:
    """The format and the paths; a first word that is a format and no file says which."""
    names = list(words)
    kind = names.pop(0) if names[0] in known else None
    paths = list(map(Path, names))
    if not paths:
        raise click.UsageError(f"a path is missing: cpuplan import {kind} PATH...")
    if kind is None and len(paths) > 1 and not paths[0].exists():
        raise click.UsageError(f"{names[0]!r} is no file or folder, and no format; there are {', '.join(known)}")
    if absent := [path for path in paths if not path.exists()]:
        raise click.UsageError(f"there is no file or folder {str(absent[0])!r}")
    return kind, paths


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

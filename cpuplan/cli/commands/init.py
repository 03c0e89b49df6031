"""`cpuplan init`: a first project to edit."""

import errno
import os
from pathlib import Path

import click

from cpuplan.base.files import Unreadable, read_regular
from cpuplan.base.program import resource
from cpuplan.cli import documents
from cpuplan.cli.output import note, print_diagnostics, settings
from cpuplan.diagnostics import CpuplanError

#: Template -> file of the new project.
FILES = {
    "init/inventory.yaml": "inventories/example.yaml",
    "init/intent.yaml": "intents/example.yaml",
}
#: Template -> file for Git, to which its lines are added where it is there already.
GIT_FILES = {"git/gitattributes": ".gitattributes", "git/gitignore": ".gitignore"}
#: Of a file for Git that is read and written again.
_MAX_BYTES = 1024 * 1024


@click.command()
@click.argument("folder", required=False, type=click.Path(file_okay=False, path_type=Path))
def command(folder: Path | None) -> int:
    """Start a project in FOLDER (default: here) with an inventory, an intent and the schemas.

    Nothing is written if a different file already exists. Each file is written completely or not at
    all: after an interruption, the next run adds what is missing.
    """
    root = folder or settings().given_root or Path()  # never a project above
    texts = {
        root / target: resource("templates", source).read_text() for source, target in FILES.items()
    }
    for_git = {root / name: _added(root, name, source) for source, name in GIT_FILES.items()}
    schemas = {
        root / "schemas" / schema.name: schema.read_text()
        for schema in sorted(resource("schemas").glob("*.json"))
    }
    if problems := documents.blocked(
        {**texts, **schemas}, "choose another folder, or move the file away"
    ):
        print_diagnostics(problems)
        return 2
    documents.write(texts)
    documents.write(for_git, quiet=True)
    documents.write(schemas, quiet=True)
    where = "" if root == Path() else f" -C {root}"
    note(f"next: edit them, then `cpuplan{where} compile` and `cpuplan{where} show worker-0`")
    return 0


def _added(root: Path, name: str, source: str) -> str:
    """The text of a file for Git with the missing lines of the template added.

    Raises CpuplanError for what cannot be read there, or is no text.
    """
    text = _text(root, name)
    known = set(text.splitlines())
    lines = [
        line for line in resource("templates", source).read_text().splitlines() if line not in known
    ]
    return (
        text
        + ("\n" if text and not text.endswith("\n") else "")
        + "".join(f"{line}\n" for line in lines)
    )


def _text(root: Path, name: str) -> str:
    from cpuplan.language.read.files import refusal

    path = root / name
    try:
        return read_regular(path, within=root, limit=_MAX_BYTES).decode()
    except UnicodeDecodeError as error:
        refused = Unreadable(f"byte 0x{error.object[error.start]:02x} is not UTF-8")
    except Unreadable as error:
        if error.errno == errno.ENOENT and not os.path.islink(path):
            return ""
        refused = error
    raise CpuplanError([refusal(str(path), refused)])

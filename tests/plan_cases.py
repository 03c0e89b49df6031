"""Changes of the sample and of another project, and what `cpuplan plan` says: `tests/plans/`.

`python -m tests.generate` writes the texts, which are read as the reviewer of a change would.
"""

import shutil
from collections.abc import Iterator
from contextlib import chdir
from functools import cache
from pathlib import Path
from typing import NamedTuple

import click.testing

from cpuplan import pipeline
from cpuplan.cli.main import run
from tests.projects import REPOSITORY

FOLDER = Path(__file__).parent / "plans"


class Edit(NamedTuple):
    """A text that is replaced in a document, wherever it stands."""

    path: str
    old: str
    new: str


class Case(NamedTuple):
    """Edits of a project's documents, and further words of the command line."""

    edits: tuple[Edit, ...]
    arguments: tuple[str, ...] = ()
    root: Path = REPOSITORY


CASES = {
    "boot-arguments": Case(
        (
            Edit("intents/edge.yaml", "cores: 2\n", "cores: 3\n"),
            Edit("intents/edge.yaml", "Policy: single-numa-node", "Policy: restricted"),
            Edit("intents/edge.yaml", "[audit=0]", "[mitigations=off]"),
        ),
        ("--minutes-per-reboot", "20", "--max-unavailable", "25%"),
    ),
    "renamed-intent": Case((Edit("intents/lab.yaml", "name: low-latency", "name: fast"),)),
    "nodes-come-and-go": Case(
        (
            Edit("inventories/edge.yaml", "du-[00-11]", "du-[00-12]"),
            Edit("inventories/edge.yaml", "core-[0-3]", "core-[0-2]"),
            Edit("inventories/online.yaml", "- name: web-[0-3]", "- name: core-3"),
        ),
    ),
    "openshift": Case(
        (
            Edit("intents/lab.yaml", "cores: 4\n", "cores: 5\n"),
            Edit("intents/lab.yaml", "count: 32", "count: 16"),
        ),
        ("--minutes-per-reboot", "25"),
    ),
    "alike-classes": Case(
        (Edit("intents/main.yaml", "cores: 2", "cores: 4"),),
        root=REPOSITORY / "tests/cases/hosted-clusters",
    ),
    "nothing": Case((Edit("intents/lab.yaml", "spec:\n", "spec: # as it was\n"),)),
}


@cache
def compiled(root: Path) -> dict[str, bytes]:
    """What a project is compiled to."""
    return pipeline.compile_project(pipeline.load(root)).files


def project(case: Case, target: Path) -> Path:
    """The project with the edits of a case, and what it was compiled to before in `before`."""
    for folder in ("inventories", "intents"):
        shutil.copytree(case.root / folder, target / folder)
    for path, data in compiled(case.root).items():
        (target / "before" / path).parent.mkdir(parents=True, exist_ok=True)
        (target / "before" / path).write_bytes(data)
    for path, old, new in case.edits:
        text = (target / path).read_text()
        assert old in text, path
        (target / path).write_text(text.replace(old, new))
    return target


def outcome(case: Case, folder: Path, output_format: str) -> str:
    """What the command prints to standard output for a project that is made already."""
    words = ["plan", "--against-folder", "before", "--format", output_format, *case.arguments]
    runner = click.testing.CliRunner(env={"NO_COLOR": "1", "COLUMNS": "100"})
    with chdir(folder), runner.isolation() as (output, _error, _both):
        code = run(words)
        output.flush()
        printed = output.getvalue().decode()
    assert code == 0, printed
    return printed


def texts(name: str, folder: Path) -> Iterator[tuple[Path, str]]:
    """The files of `tests/plans/` for a case, in the formats for people."""
    made = project(CASES[name], folder)
    for output_format, ending in {"text": "txt", "markdown": "md"}.items():
        yield FOLDER / f"{name}.{ending}", outcome(CASES[name], made, output_format)


def write(folder: Path) -> None:
    """Write all of them; `folder` is for the projects."""
    FOLDER.mkdir(exist_ok=True)
    for name in CASES:
        for path, text in texts(name, folder / name):
            path.write_text(text)

"""The cases of `tests/cases/`: a machine, what its CPUs are for, and what is made of them.

A folder is a small project of its own, so that `cpuplan -C tests/cases/hft show worker-0` draws it.
Beside its `inventories` and `intents` stands what is made of it, which `python -m tests.generate`
writes: `expected.txt` has its pools and its warnings, and `expected/` the compiled files as nodes
and clusters get them. It is not called `out`: the compiler would take that for its own.
"""

import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from cpuplan import pipeline
from cpuplan.pipeline import Compiled
from cpuplan.plan.expected import folder

FOLDER = Path(__file__).parent / "cases"
CASES = sorted(path.name for path in FOLDER.iterdir())
SUMMARY = "expected.txt"
FILES = "expected"

#: Expected states and objects have what other files and `cpuplan show` say, and stamps their
#: digests; tests of their own read them.
STATES = ("/expected/state/", "/expected/objects/")


@cache
def compiled(name: str) -> Compiled:
    """All that is made of a case, solved afresh."""
    return pipeline.compile_project(pipeline.load(FOLDER / name), resolve=True)


def expected(made: Compiled) -> dict[str, bytes]:
    """What stands beside the inputs of a case, by its path in the case's folder."""
    files = {f"{FILES}/{path}": data for path, data in made.files.items() if not _is_record(path)}
    return {SUMMARY: summary(made).encode(), **files}


def on_disk(name: str) -> dict[str, bytes]:
    """The same as it was written."""
    folder = FOLDER / name
    paths = [folder / SUMMARY, *sorted((folder / FILES).rglob("*"))]
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in paths if path.is_file()
    }


def summary(made: Compiled) -> str:
    """The pools of each node, and the warnings."""
    return "\n".join([*_pools(made), *_warnings(made)]) + "\n"


def write() -> None:
    """Write what is expected of every case."""
    for name in CASES:
        shutil.rmtree(FOLDER / name / FILES, ignore_errors=True)
        for path, data in expected(compiled(name)).items():
            place = FOLDER / name / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)


def _is_record(path: str) -> bool:
    """Whether a file is a record of the compiler itself."""
    is_state = any(state in path for state in STATES)
    return path.startswith(".cpuplan/") or is_state or path.endswith(folder.STAMP_PATH)


def _pools(made: Compiled) -> Iterator[str]:
    for node in made.plan.nodes:
        yield f"{node.node_class.name}: {len(node.topology.online)} CPUs"
        for pool in (*node.pools, *node.sets):
            yield f"{pool.name} ({len(pool.cpus)}): {pool.cpus}"


def _warnings(made: Compiled) -> Iterator[str]:
    for diagnostic in made.diagnostics:
        yield f"{diagnostic.severity.value} {diagnostic.code}: {diagnostic.message}"

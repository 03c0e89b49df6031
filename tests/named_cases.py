"""The cases of `tests/cases/`: a machine, what its CPUs are for, and what is made of them.

A folder is a small project of its own, so that `cpuplan -C tests/cases/hft show worker-0` draws it.
`expected/` has the pools, every setting, and a digest of every compiled file; `python -m
tests.generate` writes it.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from cpuplan import components, pipeline
from cpuplan.pipeline import Compiled
from cpuplan.render.explain import told

FOLDER = Path(__file__).parent / "cases"
CASES = sorted(path.name for path in FOLDER.iterdir())


def compiled(name: str) -> Compiled:
    """All that is made of a case, solved afresh."""
    return pipeline.compile_project(pipeline.load(FOLDER / name), resolve=True)


def expected_files(made: Compiled) -> dict[str, str]:
    """The files of `expected/`, by name."""
    return {
        "pools.txt": "\n".join(_pools(made)) + "\n",
        "settings.txt": "\n".join(_settings(made)) + "\n",
        "files.txt": "".join(
            f"{_digest(data)}  {path}\n" for path, data in sorted(_files(made).items())
        ),
    }


def _pools(made: Compiled) -> Iterator[str]:
    for node in made.plan.nodes:
        yield f"# {node.node_class.name}: {len(node.topology.online)} CPUs"
        for each in (*node.pools, *node.sets):
            yield f"{each.name} ({len(each.cpus)}): {each.cpus}"


def _settings(made: Compiled) -> Iterator[str]:
    """Warnings, then `component key = value` of each class."""
    for diagnostic in made.diagnostics:
        yield f"{diagnostic.severity.value} {diagnostic.code}: {diagnostic.message}"
    for node in made.plan.nodes:
        yield f"# {node.node_class.name}"
        for setting in components.all_settings(node):
            yield f"{setting.component}  {told(setting)}"


def _files(made: Compiled) -> dict[str, bytes]:
    """Without the record of the compiler itself."""
    return {path: data for path, data in made.files.items() if not path.startswith(".cpuplan/")}


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def write(name: str) -> None:
    """Write the `expected/` of a case."""
    folder = FOLDER / name / "expected"
    folder.mkdir(exist_ok=True)
    for file, text in expected_files(compiled(name)).items():
        (folder / file).write_text(text)

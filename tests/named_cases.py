"""The cases of `tests/cases/`: a machine, what its CPUs are for, and what is made of them.

A folder is a small project of its own, so that `cpuplan -C tests/cases/hft show worker-0` draws it.
What is made of it is in `tests/expected/`, which `python -m tests.generate` writes: `shared.txt`
has a layout for each compiled file, with the lines that most cases have; `hft.txt` has the pools of
one case, its warnings, its files, and the lines in which they differ from the layouts. Both are
every byte of every file. `shared_lines` explains the marks, `shortened` what is in braces.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path, PurePath
from typing import NamedTuple, TypeAlias

from cpuplan import pipeline
from cpuplan.pipeline import Compiled
from cpuplan.plan.expected import stamp
from tests import shared_lines
from tests.shortened import expand, shorten

FOLDER = Path(__file__).parent / "cases"
CASES = sorted(path.name for path in FOLDER.iterdir())
EXPECTED = Path(__file__).parent / "expected"
SHARED = "shared.txt"

#: Marks the lines of a file that is listed as it is, because its lines do not fit the layout.
AS_IT_IS = "= "

#: By path, the lines of a layout or the differences from it.
Sections: TypeAlias = Mapping[str, list[str]]

#: Expected states and objects have what other files and `cpuplan show` say, and stamps their
#: digests; tests of their own read them.
STATES = ("/expected/state/", "/expected/objects/")


class File(NamedTuple):
    """A compiled file of a case: its path in short, its text, and what is put in short in it."""

    path: str
    text: str
    names: dict[str, str]
    words: bool = False

    @property
    def short(self) -> str:
        """The text in short."""
        return shorten(self.text, self.names, words=self.words)


@cache
def compiled(name: str) -> Compiled:
    """All that is made of a case, solved afresh."""
    return pipeline.compile_project(pipeline.load(FOLDER / name), resolve=True)


@cache
def expected_texts() -> dict[str, str]:
    """The files of `tests/expected/`, by name."""
    layouts = shared_layouts()
    texts = {f"{name}.txt": expected_text(compiled(name), layouts) for name in CASES}
    return {SHARED: "\n".join(_lines(layouts)) + "\n", **texts}


@cache
def shared_layouts() -> Sections:
    """A layout for each path at which cases have a file."""
    texts: defaultdict[str, list[str]] = defaultdict(list)
    for name in CASES:
        for file in files(compiled(name)):
            texts[file.path].append(file.short)
    return {path: shared_lines.layout(texts[path]) for path in sorted(texts)}


def expected_text(made: Compiled, layouts: Sections) -> str:
    """What is expected of one case."""
    sections = {file.path: differences(file, layouts.get(file.path, [])) for file in files(made)}
    return "\n".join([*_pools(made), *_warnings(made), "", *_lines(sections)]) + "\n"


def differences(file: File, layout: list[str]) -> list[str]:
    """The lines that differ from a layout; all of the file if these would not give it back."""
    lines = shared_lines.differences(layout, file.short)
    text = expand(shared_lines.restored(layout, lines), file.names, words=file.words)
    return lines if text == file.text else [AS_IT_IS + line for line in file.text.split("\n")]


def files(made: Compiled) -> Iterator[File]:
    """The compiled files, without the record of the compiler itself."""
    node_class = made.plan.nodes[0].node_class
    names = {"class": node_class.name, "intent": node_class.intent}
    cmdline = f"nodes/{node_class.cluster}/{node_class.name}/cmdline"
    paths = [path for path in sorted(made.files) if not _is_record(path)]
    for path in paths:
        longer = {}
        if path.endswith("/kustomization.yaml"):
            longer["the other files"] = _beside(path, paths)
        if path != cmdline and cmdline in made.files:
            longer["cmdline"] = made.files[cmdline].decode().rstrip("\n")
        text = made.files[path].decode()
        yield File(shorten(path, names), text, longer | names, words=path == cmdline)


def _is_record(path: str) -> bool:
    is_state = any(name in path for name in STATES)
    return path.startswith(".cpuplan/") or is_state or path.endswith(stamp.PATH)


def _beside(path: str, paths: Iterable[str]) -> str:
    """The list of a kustomization for the files of its folder."""
    folder = PurePath(path).parent
    others = (PurePath(other) for other in paths if other != path)
    return "\n".join(f"- {other.name}" for other in others if other.parent == folder)


def write() -> None:
    """Write `tests/expected/`."""
    expected = expected_texts()
    for name, text in expected.items():
        (EXPECTED / name).write_text(text)
    for path in EXPECTED.iterdir():
        if path.name not in expected:
            path.unlink()


def _pools(made: Compiled) -> Iterator[str]:
    for node in made.plan.nodes:
        yield f"{node.node_class.name}: {len(node.topology.online)} CPUs"
        for pool in (*node.pools, *node.sets):
            yield f"{pool.name} ({len(pool.cpus)}): {pool.cpus}"


def _warnings(made: Compiled) -> Iterator[str]:
    for diagnostic in made.diagnostics:
        yield f"{diagnostic.severity.value} {diagnostic.code}: {diagnostic.message}"


def _lines(sections: Sections) -> Iterator[str]:
    for path, lines in sections.items():
        yield path
        yield from lines

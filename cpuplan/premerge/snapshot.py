"""The project as it is in a commit or tree, written to a folder that goes away again."""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from cpuplan.fleet.before import CLASSES
from cpuplan.git import trees
from cpuplan.git.trees import EXECUTABLE, FILE, LINK, Entry
from cpuplan.progress import stage
from cpuplan.read.files import FOLDERS, POD_FOLDER

_OURS = "out/.cpuplan"
_CLASSES = f"out/{CLASSES}"
#: In the plan of a class whose files in `out/` are an input: its intent is paused.
_PAUSED = b'"paused"'


@contextmanager
def project_at(root: Path, tree: str) -> Iterator[Path]:
    """The inputs of the project at `root`, and its plans in `out/`, as they are in `tree`."""
    with tempfile.TemporaryDirectory(prefix="cpuplan-") as folder:
        place = Path(folder, "project")
        place.mkdir()
        with stage("reading the commit"):
            for name in (*FOLDERS, POD_FOLDER, _OURS):
                write_folder(root, tree, name, place)
            if any(_PAUSED in path.read_bytes() for path in (place / _CLASSES).glob("*/*.json")):
                write_folder(root, tree, "out", place)
        yield place


def write_folder(root: Path, tree: str, name: str, place: Path) -> None:
    """Write a folder of the project in `tree` below `place`."""
    start = trees.prefix(root)
    entries = trees.entries_of(root, tree, start + name)
    trees.fetch_missing(root, f"{tree}:{start}{name}")
    safe = {path: entry for path, entry in entries.items() if _is_safe(path)}
    wanted = (entry.object for entry in safe.values() if entry.mode in (FILE, EXECUTABLE, LINK))
    _write(place / name, safe, trees.blobs(root, wanted))


def _write(folder: Path, entries: Mapping[str, Entry], contents: Mapping[str, bytes]) -> None:
    """Links come last, so that nothing is written through them."""
    for path, entry in sorted(entries.items(), key=lambda item: item[1].mode == LINK):
        if entry.object not in contents:
            continue
        target = folder / path
        if entry.mode == LINK:
            if not os.path.lexists(target):
                target.parent.mkdir(parents=True, exist_ok=True)
                os.symlink(os.fsdecode(contents[entry.object]), target)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(contents[entry.object])


def _is_safe(path: str) -> bool:
    """Whether a name of a tree, which anyone may have made, stays in its folder."""
    return not {"", ".", ".."}.intersection(path.split("/"))

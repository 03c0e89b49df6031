"""The expected states below a folder, and the stamp on each node that says whose files it has."""

from pathlib import Path
from typing import NamedTuple

from cpuplan.base.emit import to_json
from cpuplan.base.files import Unreadable, read_regular
from cpuplan.base.fits import Form
from cpuplan.base.foreign import ForeignError, read_json
from cpuplan.base.progress import stage
from cpuplan.base.text import did_you_mean
from cpuplan.diagnostics import CpuplanError, diagnose
from cpuplan.plan.expected.objects import FOLDER as OBJECTS_FOLDER
from cpuplan.plan.expected.objects import Compiled
from cpuplan.plan.expected.objects import read as read_compiled
from cpuplan.plan.expected.state import FOLDER, Expected, UnreadableStateError, read

OBJECTS = Path(OBJECTS_FOLDER)


def files(place: Path) -> list[Path]:
    """The files of expected states at or below `place`, ascending."""
    if place.is_file():
        return [place]
    below = place / "clusters"
    folders = sorted(below.glob(f"*/{FOLDER}")) if below.is_dir() else [place]
    return [file for folder in folders for file in sorted(folder.glob("*.json"))]


def found_files(place: Path) -> list[Path]:
    """These files. Raises CpuplanError (CP878) where there are none."""
    found = files(place)
    if not found:
        raise CpuplanError([diagnose("CP878", path=place)])
    return found


def load(file: Path) -> Expected:
    """The expected state of a file. Raises CpuplanError (CP877)."""
    try:
        return read(read_regular(file).decode(errors="replace"))
    except (Unreadable, UnreadableStateError) as error:
        problem = error.problem if isinstance(error, Unreadable) else str(error)
        raise CpuplanError([diagnose("CP877", path=file, problem=problem)]) from error


@stage("reading what was compiled")
def of_node(place: Path, node: str) -> Expected:
    """The expected state of `name` or `cluster/name`.

    Raises CpuplanError: CP250 for a node that no class or several have, CP877 for a file that
    cannot be read, CP878 where there are none.
    """
    cluster, slash, name = node.rpartition("/")
    found = found_files(place)
    # Most files are of other nodes, and reading one as JSON takes longer than looking for a name.
    states = [load(file) for file in found if f'"{name}"' in _text(file)]
    matches = [
        state for state in states if name in state.nodes and (not slash or state.cluster == cluster)
    ]
    if len(matches) == 1:
        return matches[0]
    if matches:
        choices = " or ".join(f"{state.cluster}/{name}" for state in matches)
        what = f"{len(matches)} nodes have the name {name!r}"
        raise CpuplanError([diagnose("CP250", what=what, hint=f"use {choices}")])
    known = [each for file in found for each in load(file).nodes]
    what = f"no class below {place} has a node {node!r}"
    raise CpuplanError([diagnose("CP250", what=what, hint=did_you_mean(name, known))])


def _text(file: Path) -> str:
    try:
        return read_regular(file).decode(errors="replace")
    except Unreadable:
        return ""


def objects_of(place: Path, cluster: str) -> tuple[Compiled, ...] | None:
    """The objects that were compiled for a cluster; None where no files have them.

    Raises CpuplanError (CP877) for a file that cannot be read.
    """
    folder = (
        place.absolute().parent.parent / OBJECTS.name
        if place.is_file()
        else _of_cluster(place, cluster)
    )
    if not folder.is_dir():
        return None
    return tuple(map(_compiled, sorted(folder.glob("*.json"))))


def _compiled(file: Path) -> Compiled:
    try:
        return read_compiled(read_regular(file).decode(errors="replace"))
    except (Unreadable, ValueError) as error:
        problem = error.problem if isinstance(error, Unreadable) else str(error)
        raise CpuplanError([diagnose("CP877", path=file, problem=problem)]) from error


def _of_cluster(place: Path, cluster: str) -> Path:
    """The folder of a cluster below `out/`, or beside the states of a folder of states."""
    below = place / "clusters" / cluster / OBJECTS
    return below if below.is_dir() else place / OBJECTS.name


#: On nodes whose files are delivered as files.
STAMP_PATH = "/etc/cpuplan/plan.json"


_KEYS = ("cluster", "class", "digest")
_FILE = Form(
    {
        "type": "object",
        "required": [*_KEYS],
        "properties": {key: {"type": "string"} for key in _KEYS},
    }
)


class Stamp(NamedTuple):
    """The class that files were compiled for, and the digest of its plan."""

    cluster: str
    name: str
    digest: str


def stamp_of(expected: Expected) -> Stamp:
    """The stamp of the nodes of a class."""
    return Stamp(expected.cluster, expected.name, expected.digest)


def render_stamp(stamp: Stamp) -> str:
    """The file of a stamp."""
    return to_json({"class": stamp.name, "cluster": stamp.cluster, "digest": stamp.digest})


def parse_stamp(text: str) -> Stamp | None:
    """The stamp of a file; None for anything else."""
    try:
        data = read_json(text, _FILE)
    except ForeignError:
        return None
    return Stamp(data["cluster"], data["class"], data["digest"])

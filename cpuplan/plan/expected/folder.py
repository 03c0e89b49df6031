"""The files below a folder that `compile` wrote for `check`: expected states, and cluster objects.

Each object has a file of its own, so that branches which add different ones can be merged. The
stamp on each node says whose files it has.

NodeResourceTopology objects of the nodes of a class differ in their name only. `compile --stdout
--topologies` prints them as the API server has them.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cpuplan.base.emit import to_json, to_yaml
from cpuplan.base.files import Unreadable, read_regular, text_of
from cpuplan.base.fits import Form, Schema
from cpuplan.base.foreign import ForeignError, read_json
from cpuplan.base.progress import stage
from cpuplan.base.text import did_you_mean
from cpuplan.diagnostics import CpuplanError, Reason, diagnose
from cpuplan.plan.expected.state import FOLDER, REASONS, Expected, UnreadableStateError, read

#: The form of a file. A program reads files of its own form only.
OBJECT_FORM = 1
#: Below the folder of a cluster in `out/`.
OBJECTS_FOLDER = "expected/objects"

_TEXT: Schema = {"type": "string"}
_NAME: Schema = {"type": "string", "minLength": 1}
_TEXTS: Schema = {"type": "object", "additionalProperties": _TEXT}
_OBJECT = Form(
    {
        "type": "object",
        "required": ["object", "because", "isForHost"],
        "properties": {
            "object": {
                "type": "object",
                "required": ["apiVersion", "kind", "metadata"],
                "properties": {
                    "apiVersion": _NAME,
                    "kind": _NAME,
                    "metadata": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {
                            "name": _NAME,
                            "namespace": _TEXT,
                            "labels": _TEXTS,
                            "annotations": _TEXTS,
                        },
                    },
                },
            },
            "because": REASONS,
            "isForHost": {"type": "boolean"},
        },
    }
)


class Compiled(NamedTuple):
    """An object as it was compiled, and why there is one.

    `is_for_host`: it belongs into the cluster that hosts the control plane of this one.
    """

    data: Mapping[str, Any]
    because: tuple[Reason, ...] = ()
    is_for_host: bool = False

    @property
    def kind(self) -> str:
        return str(self.data["kind"])

    @property
    def name(self) -> str:
        return str(self.data["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.data["metadata"].get("namespace") or "")

    @property
    def title(self) -> str:
        """Its name in messages."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def object_file(manifest: str) -> str:
    """The name of an object's file, by that of its manifest."""
    return f"{manifest.removesuffix('.yaml')}.json"


def render_compiled(compiled: Compiled) -> str:
    """The file of an object."""
    data = {
        "form": OBJECT_FORM,
        "object": compiled.data,
        "because": [reason._asdict() for reason in compiled.because],
        "isForHost": compiled.is_for_host,
    }
    return to_json(data)


def read_compiled(text: str) -> Compiled:
    """The object of a file. Raises ValueError with the problem."""
    try:
        data = read_json(text)
        form = data.get("form") if isinstance(data, dict) else None
    except ForeignError as error:
        raise ValueError("it is no compiled object") from error
    if form is not None and form != OBJECT_FORM:
        raise ValueError(f"its form is {form}, and this release reads form {OBJECT_FORM}")
    if form is None or not _OBJECT.fits(data):
        raise ValueError("it is no compiled object")
    return _of_data(data)


def _of_data(data: Mapping[str, Any]) -> Compiled:
    reasons = tuple(Reason(reason["text"], reason["origin"]) for reason in data["because"])
    return Compiled(data["object"], reasons, data["isForHost"])


#: Below the folder of a cluster in `out/`.
TOPOLOGY_FOLDER = "expected/nrt"
_COMMENT = "Each of these nodes has the object, which has the name of the node."


def topology_file(cluster: str, name: str) -> str:
    """The path of the file of a class, below `out/`."""
    return f"clusters/{cluster}/{TOPOLOGY_FOLDER}/{name}.yaml"


def render_topology(nodes: Sequence[str], topology: Mapping[str, Any]) -> str:
    """The file of a class, of an object without a name."""
    return to_yaml({"nodes": list(nodes), "object": topology}, _COMMENT)


def topology_objects(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The nodes of a file with their objects; also of one that releases before wrote for a node.

    Raises ValueError for another file.
    """
    import yaml  # only what prints the objects reads the file

    from cpuplan.base import yaml_values

    try:
        data: Any = next(yaml_values.load_yaml11(text), None)
        if "object" not in data:
            yield data["metadata"]["name"], data
        for node in data["nodes"] if "object" in data else ():
            yield node, named_topology(data["object"], node)
    except (yaml.YAMLError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError("it has no NodeResourceTopology of nodes") from error


def named_topology(topology: Mapping[str, Any], node: str) -> dict[str, Any]:
    """The object of a node."""
    head = {"apiVersion": topology["apiVersion"], "kind": topology["kind"]}
    metadata = {"name": node, **topology.get("metadata", {})}
    return {**head, "metadata": metadata, **_without_metadata(topology)}


def _without_metadata(topology: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in topology.items() if key != "metadata"}


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
    state_files = files(place)
    if not state_files:
        raise CpuplanError([diagnose("CP878", path=place)])
    return state_files


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
    state_files = found_files(place)
    # Most files are of other nodes, and reading one as JSON takes longer than looking for a name.
    states = [load(file) for file in state_files if f'"{name}"' in text_of(file)]
    matches = [
        state for state in states if name in state.nodes and (not slash or state.cluster == cluster)
    ]
    if len(matches) == 1:
        return matches[0]
    if matches:
        choices = " or ".join(f"{state.cluster}/{name}" for state in matches)
        what = f"{len(matches)} nodes have the name {name!r}"
        raise CpuplanError([diagnose("CP250", what=what, hint=f"use {choices}")])
    known = [known_node for file in state_files for known_node in load(file).nodes]
    what = f"no class below {place} has a node {node!r}"
    raise CpuplanError([diagnose("CP250", what=what, hint=did_you_mean(name, known))])


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
    return tuple(map(_load_compiled, sorted(folder.glob("*.json"))))


def _load_compiled(file: Path) -> Compiled:
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
_STAMP = Form(
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
        data = read_json(text, _STAMP)
    except ForeignError:
        return None
    return Stamp(data["cluster"], data["class"], data["digest"])

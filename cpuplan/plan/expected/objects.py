"""The objects that the API of a cluster must have: written by `compile`, read by `check`.

Each object has a file of its own, so that branches which add different ones can be merged.

NodeResourceTopology objects of the nodes of a class differ in their name only. `compile --stdout
--topologies` prints them as the API server has them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.base.emit import to_json, to_yaml
from cpuplan.base.fits import Form, Schema
from cpuplan.base.foreign import ForeignError, read_json
from cpuplan.diagnostics import Reason
from cpuplan.plan.expected.state import REASONS

#: The form of a file. A program reads files of its own form only.
FORM = 1
#: Below the folder of a cluster in `out/`.
FOLDER = "expected/objects"

_TEXT: Schema = {"type": "string"}
_NAME: Schema = {"type": "string", "minLength": 1}
_TEXTS: Schema = {"type": "object", "additionalProperties": _TEXT}
_FILE = Form(
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


def file_of(manifest: str) -> str:
    """The name of an object's file, by that of its manifest."""
    return f"{manifest.removesuffix('.yaml')}.json"


def render(compiled: Compiled) -> str:
    """The file of an object."""
    data = {
        "form": FORM,
        "object": compiled.data,
        "because": [reason._asdict() for reason in compiled.because],
        "isForHost": compiled.is_for_host,
    }
    return to_json(data)


def read(text: str) -> Compiled:
    """The object of a file. Raises ValueError with the problem."""
    try:
        data = read_json(text)
        form = data.get("form") if isinstance(data, dict) else None
    except ForeignError as error:
        raise ValueError("it is no compiled object") from error
    if form is not None and form != FORM:
        raise ValueError(f"its form is {form}, and this release reads form {FORM}")
    if form is None or not _FILE.fits(data):
        raise ValueError("it is no compiled object")
    return _compiled(data)


def _compiled(data: Mapping[str, Any]) -> Compiled:
    reasons = tuple(Reason(each["text"], each["origin"]) for each in data["because"])
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

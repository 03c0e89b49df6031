"""The NodeResourceTopology objects that a cluster must have: once for each class, with its nodes.

Objects of the nodes of a class differ in their name only. `compile --stdout --topologies` prints
them as the API server has them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cpuplan.base.emit import to_yaml

#: Below the folder of a cluster in `out/`.
FOLDER = "expected/nrt"
_COMMENT = "Each of these nodes has the object, which has the name of the node."


def file_of(cluster: str, name: str) -> str:
    """The path of the file of a class, below `out/`."""
    return f"clusters/{cluster}/{FOLDER}/{name}.yaml"


def render(nodes: Sequence[str], topology: Mapping[str, Any]) -> str:
    """The file of a class, of an object without a name."""
    return to_yaml({"nodes": list(nodes), "object": topology}, _COMMENT)


def objects(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The nodes of a file with their objects; also of one that releases before wrote for a node.

    Raises ValueError for another file.
    """
    import yaml  # only what prints the objects reads the file

    from cpuplan.base import yaml11

    try:
        data: Any = next(yaml11.load(text), None)
        if "object" not in data:
            yield data["metadata"]["name"], data
        for node in data["nodes"] if "object" in data else ():
            yield node, named(data["object"], node)
    except (yaml.YAMLError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError("it has no NodeResourceTopology of nodes") from error


def named(topology: Mapping[str, Any], node: str) -> dict[str, Any]:
    """The object of a node."""
    head = {"apiVersion": topology["apiVersion"], "kind": topology["kind"]}
    metadata = {"name": node, **topology.get("metadata", {})}
    return {**head, "metadata": metadata, **_without_metadata(topology)}


def _without_metadata(topology: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in topology.items() if key != "metadata"}

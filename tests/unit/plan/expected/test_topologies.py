"""NodeResourceTopology objects: once for each class, read as one for each node."""

import pytest

from cpuplan.base.emit import to_yaml
from cpuplan.plan.expected import folder

TOPOLOGY: dict[str, object] = {
    "apiVersion": "topology.node.k8s.io/v1alpha2",
    "kind": "NodeResourceTopology",
    "zones": [{"name": "node-0", "type": "Node"}],
}


@pytest.mark.parametrize("labels", [{}, {"labels": {"a": "b"}}])
def test_each_node_gets_the_object(labels: dict[str, object]) -> None:
    metadata = {"metadata": labels} if labels else {}
    text = folder.render_topology(["b", "a"], {**TOPOLOGY, **metadata})
    assert text.index("- b\n") < text.index("- a\n") < text.index("object:")
    by_node = dict(folder.topology_objects(text))
    assert list(by_node) == ["b", "a"]
    for name, topology in by_node.items():
        assert list(topology) == ["apiVersion", "kind", "metadata", "zones"]
        assert topology == {**TOPOLOGY, "metadata": {"name": name, **labels}}


def test_a_file_of_one_node_is_read_too() -> None:
    node = {**TOPOLOGY, "metadata": {"name": "a"}}
    assert dict(folder.topology_objects(to_yaml(node))) == {"a": node}


@pytest.mark.parametrize("text", ["", "[]", "a: [", "nodes: [a]\n", "object: {}\nnodes: [a]\n"])
def test_what_is_no_such_file_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no NodeResourceTopology"):
        list(folder.topology_objects(text))

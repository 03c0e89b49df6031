"""NodeResourceTopology objects in files."""

from typing import Any

import pytest

from cpuplan.base.emit import to_yaml
from cpuplan.language.read import yaml
from cpuplan.simulate.files.topologies import check_topologies
from tests.unit.upstream.nrt.objects import Json, nrt, zone


def found(*given: Json) -> list[str]:
    """`code: message` of everything about the objects."""
    sources, problems = yaml.parse("nrt.yaml", "---\n".join(map(to_yaml, given)))
    assert not problems
    return [f"{problem.code}: {problem.message}" for problem in check_topologies(sources)]


def codes(*given: Json) -> list[str]:
    return [text.partition(":")[0] for text in found(*given)]


GOOD = nrt(zone("node-0", cpu="4", costs=(10, 20)), zone("node-1", cpu="4"), policy="restricted")


def test_nothing_is_wrong() -> None:
    assert found(GOOD) == []
    assert found({"apiVersion": "v1", "kind": "List", "items": [GOOD]}) == []


def test_objects_of_a_list() -> None:
    assert codes({"apiVersion": "v1", "kind": "List", "items": [GOOD, GOOD | {"spec": {}}]}) == [
        "CP656"
    ]


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ({"apiVersion": "topology.node.k8s.io/v1"}, "CP655", "no CRD serves"),
        ({"apiVersion": "topology.node.k8s.io/v1alpha1"}, "CP655", "topologyPolicies is missing"),
        ({"zones": [{"name": "node-0"}]}, "CP655", "zones[0].type is missing"),
        ({"zones": [zone("node-0", cpu="4GB")]}, "CP655", "zones[0].resources[0]"),
        ({"spec": {}}, "CP656", "drops spec"),
        ({"zones": [zone("node-1")]}, "CP657", "reads 1 NUMA nodes with the numbers 1"),
        ({"zones": [zone("node-0"), zone("node-64")]}, "CP657", "index out of range [64]"),
        ({"zones": [zone("a", "Socket"), zone("node-1")]}, "CP657", "the numbers 1"),
        ({"topologyPolicies": ["BestEffort"]}, "CP658", "passes over BestEffort"),
        ({"topologyPolicies": ["None", "None"]}, "CP658", "passes over None"),
        ({"zones": [zone("node-0"), zone("node-65")]}, "CP658", "passes over node-65"),
        ({"zones": [zone("numa-0")]}, "CP658", "passes over numa-0"),
        ({"zones": [zone("node-0"), zone("node-0")]}, "CP659", "two zones node-0"),
    ],
)
def test_each_mistake(change: Json, code: str, words: str) -> None:
    texts = found(GOOD | change)
    assert any(text.startswith(code) and words in text for text in texts), texts


@pytest.mark.parametrize(
    ("name", "value", "is_read"),
    [
        ("topologyManagerPolicy", "single-numa-node", True),
        ("topologyManagerPolicy", "SingleNUMANode", False),
        ("topologyManagerScope", "pod", True),
        ("topologyManagerScope", "Pod", False),
        ("topologyManagerMaxNUMANodes", "8", True),
        ("topologyManagerMaxNUMANodes", "9", True),
        ("topologyManagerMaxNUMANodes", "12", True),
        ("topologyManagerMaxNUMANodes", "1", False),
        ("topologyManagerMaxNUMANodes", "many", False),
        ("anything", "else", True),
    ],
)
def test_attributes(name: str, value: str, is_read: bool) -> None:
    zones = [zone("node-0", cpu="4", memory="8Gi", costs=(10, 20)), zone("node-1", cpu="4")]
    given = nrt(*zones, policy="restricted") | {"attributes": [{"name": name, "value": value}]}
    assert codes(given) == ([] if is_read else ["CP658"])


@pytest.mark.parametrize(
    ("policy", "amounts", "what"),
    [
        ("single-numa-node", {"cpu": "4"}, "memory"),
        ("single-numa-node", {"memory": "8Gi"}, "CPUs"),
        ("single-numa-node", {"hugepages-2Mi": "2Mi"}, "CPUs or memory"),
        ("single-numa-node", {"cpu": "0", "memory": "0"}, ""),
        ("restricted", {"cpu": "4"}, ""),
    ],
)
def test_zones_without_what_pods_request(policy: str, amounts: dict[str, Any], what: str) -> None:
    reported = found(nrt(zone("node-0", **amounts), policy=policy))
    start = f"CP651: NodeResourceTopologyMatch refuses pods that request {what} on node "
    assert [text.startswith(start) for text in reported] == [True] * bool(what)


@pytest.mark.parametrize(
    ("amounts", "is_fine"),
    [
        (("8", "8", "0"), True),
        (("8", "6", "7"), False),
        (("8", "9", "8"), False),
        (("1Gi", "1024Mi", "1000Mi"), True),
        (("1Gi", "1025Mi", "1000Mi"), False),
    ],
)
def test_amounts(amounts: tuple[str, str, str], is_fine: bool) -> None:
    columns = dict(zip(("capacity", "allocatable", "available"), amounts, strict=True))
    resources: list[dict[str, Any]] = [{"name": "cpu", **columns}]
    given = GOOD | {"zones": [{"name": "node-0", "type": "Node", "resources": resources}]}
    assert codes(given) == ([] if is_fine else ["CP659"])

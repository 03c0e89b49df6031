"""A published NodeResourceTopology against the plan."""

import copy
from typing import Any

import pytest

from cpuplan.base.emit import to_yaml
from cpuplan.check.cluster.live_objects import Objects, Subject
from cpuplan.check.cluster.published import topology
from cpuplan.components import nrt
from cpuplan.language.read import yaml
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.expected import folder as topologies
from cpuplan.simulate.files.objects import objects
from tests.checked import expected
from tests.machines.plans import no_position, plan, regular

ALIGNED = {"topologyManagerPolicy": "single-numa-node"}
PLAN = plan(
    regular(sockets=2, cores=4, threads=2),
    reserved="0,8",
    platform="kubernetes",
    spec={"kubelet": ALIGNED, "hugePages": {"pages": [{"size": "1G", "count": 2}]}},
)


def published(of: ConfiguredPlan = PLAN) -> dict[str, Any]:
    return copy.deepcopy(topologies.named_topology(nrt.node_resource_topology(of), "worker-0"))


def said(given: dict[str, Any], name: str = "worker-0") -> list[str]:
    """`code: message` of every difference."""
    sources, problems = yaml.parse("nrt.yaml", to_yaml(given))
    assert not problems
    subject = Subject(name, expected(PLAN), Objects(objects(sources)), no_position)
    findings = (answer.finding for answer in topology(subject))
    return [f"{finding.code}: {finding.message}" for finding in findings if finding]


def _cpu(of: dict[str, Any]) -> dict[str, str]:
    resource: dict[str, str] = next(
        item for item in of["zones"][0]["resources"] if item["name"] == "cpu"
    )
    return resource


def test_what_is_expected_is_no_difference() -> None:
    assert said(published()) == []


def test_what_pods_have_is_no_difference() -> None:
    given = published()
    _cpu(given)["available"] = "0"
    assert said(given) == []


def test_a_node_without_an_object() -> None:
    assert said(published(), "worker-9") == ["CP885: node worker-9 has no NodeResourceTopology"]


def test_reserved_cpus_that_an_exporter_has_not_seen() -> None:
    given = published()
    _cpu(given)["allocatable"] = "8"
    assert said(given) == [
        (
            "CP886: zones.node-0.resources.cpu of NodeResourceTopology worker-0 is capacity 8,"
            " allocatable 8; with the compiled settings it is capacity 8, allocatable 6"
        )
    ]


@pytest.mark.parametrize(
    ("field", "value", "key"),
    [
        ("attributes", [], "attributes.topologyManagerPolicy"),
        ("topologyPolicies", ["None"], "topologyPolicies"),
        ("zones", [], "zones.node-1.resources.cpu"),
    ],
)
def test_other_fields(field: str, value: Any, key: str) -> None:
    assert any(f"CP886: {key} of" in text for text in said(published() | {field: value}))

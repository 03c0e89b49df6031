"""Devices that the DRA CPU driver publishes, against the plan."""

import copy
from typing import Any

import pytest

from cpuplan.base.emit import to_yaml
from cpuplan.check.cluster.devices import devices
from cpuplan.check.cluster.live_objects import Objects, Subject
from cpuplan.components.dra import resource_slices
from cpuplan.language.read import yaml
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.expected.evidence import Answer, Verdict
from cpuplan.simulate.files.objects import objects
from tests.checked import expected
from tests.machines.plans import no_position, plan
from tests.unit.components.dra.test_driver import planned

GROUPED = planned()
INDIVIDUAL = planned(mode="individual")
MAPPED = planned("1.37", release="0.3", accounting="mapping")


def published(node: ConfiguredPlan, *, generation: int = 1, parts: int = 1) -> list[dict[str, Any]]:
    """The slices of worker-0, as the driver of the plan publishes them."""
    every = copy.deepcopy(resource_slices.document(node)["devices"])
    size = -(-len(every) // parts)
    return [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": f"worker-0-dra.cpu-{generation}{part}"},
            "spec": {
                "driver": "dra.cpu",
                "nodeName": "worker-0",
                "pool": {
                    "name": "worker-0",
                    "generation": generation,
                    "resourceSliceCount": parts,
                },
                "devices": every[part * size : (part + 1) * size],
            },
        }
        for part in range(parts)
    ]


def answers(
    node: ConfiguredPlan, given: list[dict[str, Any]], name: str = "worker-0"
) -> list[Answer]:
    documents = []
    for number, manifest in enumerate(given):
        sources, problems = yaml.parse(f"{number}.yaml", to_yaml(manifest))
        assert not problems
        documents += sources
    return list(devices(Subject(name, expected(node), Objects(objects(documents)), no_position)))


def said(node: ConfiguredPlan, given: list[dict[str, Any]], name: str = "worker-0") -> list[str]:
    findings = (answer.finding for answer in answers(node, given, name))
    return [f"{finding.code}: {finding.message}" for finding in findings if finding]


@pytest.mark.parametrize("node", [GROUPED, INDIVIDUAL, MAPPED], ids=["groups", "cpus", "mapped"])
def test_what_is_expected_is_held(node: ConfiguredPlan) -> None:
    checks = answers(node, published(node))
    assert {answer.verdict for answer in checks} == {Verdict.HELD}
    assert len(checks) == len(node.settings.of(resource_slices.NAME))


def test_without_the_mechanism_nothing_is_looked_for() -> None:
    assert answers(plan(), []) == []


def test_devices_of_several_slices() -> None:
    assert said(INDIVIDUAL, published(INDIVIDUAL, parts=3)) == []


def test_of_a_pool_that_is_not_complete_nothing_is_known() -> None:
    checks = answers(INDIVIDUAL, published(INDIVIDUAL, parts=3)[:2])
    assert {answer.verdict for answer in checks} == {Verdict.UNVERIFIABLE}
    assert {answer.reason for answer in checks} == {"2 of 3 slices of its pool are there"}


def test_without_slices_of_anybody_nothing_is_known() -> None:
    checks = answers(GROUPED, [])
    assert {answer.verdict for answer in checks} == {Verdict.UNVERIFIABLE}


def test_the_newest_generation_counts() -> None:
    old = published(INDIVIDUAL)
    assert said(GROUPED, [*old, *published(GROUPED, generation=2)]) == []


@pytest.mark.parametrize("field", ["driver", "pool"])
def test_slices_of_others_are_no_slices_of_the_node(field: str) -> None:
    given = published(GROUPED)
    if field == "driver":
        given[0]["spec"]["driver"] = "gpu.example.com"
    else:
        given[0]["spec"]["pool"]["name"] = "worker-1"
    assert said(GROUPED, given) == ["CP684: node worker-0 has no ResourceSlice of driver dra.cpu"]


def test_other_reserved_cpus_are_other_cpus_of_the_same_name() -> None:
    other = planned(mode="individual", reserved="0-1,8-9")
    (only,) = said(INDIVIDUAL, published(other))
    problem = "has dra.cpu/cpuID 2 instead of 1 (and 13 more devices differ)"
    assert only == f"CP685: node worker-0: device cpudev000 {problem}"
    assert said(other, published(INDIVIDUAL))[-1] == (
        "CP686: node worker-0: the driver publishes cpudev012, which is not planned: CPU 7"
        " (and 1 more)"
    )


def test_another_mode() -> None:
    messages = said(INDIVIDUAL, published(GROUPED))
    assert messages[0].endswith("cpudev000 is not published (and 13 more devices differ)")
    assert messages[1].endswith("cpudevnuma000, which is not planned: 6 CPUs (and 1 more)")
    assert len(messages) == 2


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("allowMultipleAllocations", None, "lacks allowMultipleAllocations"),
        ("capacity", {"dra.cpu/cpu": {"value": "6"}}, "has 6 CPUs instead of 8"),
        ("capacity", {}, "has no CPUs instead of 8"),
        ("nodeAllocatableResources", None, "has no mapping"),
    ],
)
def test_what_claims_are_counted_by(field: str, value: Any, problem: str) -> None:
    given = published(MAPPED)
    device = given[0]["spec"]["devices"][1]
    device.pop(field)
    if value is not None:
        device[field] = value
    (only,) = said(MAPPED, given)
    assert only.startswith(f"CP685: node worker-0: device cpudevnuma001 {problem}")


def test_amounts_may_be_written_otherwise() -> None:
    given = published(GROUPED)
    given[0]["spec"]["devices"][0]["capacity"]["dra.cpu/cpu"]["value"] = "6000m"
    assert said(GROUPED, given) == []

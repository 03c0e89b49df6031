"""Objects and files of a cluster with the DRA CPU driver, and what its policies refuse."""

from typing import Any

import pytest
import yaml

from cpuplan import backends
from cpuplan.backends import dra
from cpuplan.plan import ConfiguredPlan, Plan
from tests.api_server import Request, admit
from tests.unit.components.dra.test_driver import planned

FOLDER = "clusters/site-a"
SETS = {"isolated.db": "2,10", "isolated.dpdk": "4-5,12-13"}


def partitioned(**fields: Any) -> ConfiguredPlan:
    return planned(**{"mode": "individual", "sets": SETS, **fields})


def tree(*plans: ConfiguredPlan) -> dict[str, Any]:
    files = backends.tree(Plan(plans))
    return {path: yaml.safe_load(data) for path, data in files.items() if path.endswith(".yaml")}


def refusals(
    plans: list[ConfiguredPlan],
    request: dict[str, Any],
    namespace: str = "upf",
    resource: str = "resourceclaims",
) -> list[str]:
    """What happens to a claim, or a template, with one request."""
    objects = [manifest.data for manifest in dra.policy_manifests(plans)]
    devices: dict[str, Any] = {"devices": {"requests": [{"name": "cpus", **request}]}}
    spec = {"spec": devices} if resource == "resourceclaimtemplates" else devices
    body = {"metadata": {"name": "a", "namespace": namespace}, "spec": spec}
    asked = Request(body, {"metadata": {"name": namespace}}, resource=resource)
    return admit(objects, asked).refusals


def exactly(name: str, **fields: Any) -> dict[str, Any]:
    return {"exactly": {"deviceClassName": name, **fields}}


RESOURCES = pytest.mark.parametrize("resource", ["resourceclaims", "resourceclaimtemplates"])
GENERAL = (
    "request cpus asks for the class dra.cpu, which takes CPUs of partitions too: name another"
)
FOREIGN = "request cpus asks for the DeviceClass of a partition that this namespace may not use"


@RESOURCES
def test_the_general_class_is_refused(resource: str) -> None:
    asked = exactly("dra.cpu", count=2)
    assert refusals([partitioned()], asked, resource=resource) == [GENERAL]
    either = {"firstAvailable": [{"name": "a", "deviceClassName": "dra.cpu"}]}
    assert refusals([partitioned()], either, resource=resource) == [GENERAL]


@RESOURCES
def test_namespaces_of_a_partition(resource: str) -> None:
    plans = [partitioned(namespaces={"dpdk": ["upf"]})]
    own, other = exactly("ran-server.isolated.dpdk"), exactly("ran-server.isolated.db")
    assert refusals(plans, own, "upf", resource) == []
    assert refusals(plans, own, "web", resource) == [FOREIGN]
    assert refusals(plans, other, "web", resource) == []
    assert refusals(plans, exactly("gpu.example.com"), "web", resource) == []


def test_claims_of_groups_name_a_capacity() -> None:
    grouped = planned(mode="grouped")
    asked = exactly("dra.cpu", capacity={"requests": {"dra.cpu/cpu": "2"}})
    assert refusals([partitioned(), grouped], asked) == []
    assert refusals([partitioned(), grouped], exactly("dra.cpu")) == [GENERAL]
    assert refusals([partitioned()], asked) == [GENERAL]


def test_without_partitions_there_are_no_policies() -> None:
    assert list(dra.policy_manifests([planned()])) == []
    assert not [path for path in tree(planned()) if "admissionpolicy" in path]


def test_each_partition_is_an_object() -> None:
    made = tree(partitioned())
    name = "ran-server.isolated.db"
    data = made[f"{FOLDER}/manifests/20-deviceclass-{name}.yaml"]
    assert data["metadata"]["name"] == name
    assert "cpuID in [2, 10]" in data["spec"]["selectors"][0]["cel"]["expression"]


@pytest.mark.parametrize(("release", "kinds"), [("0.2", ["DaemonSet"]), ("0.3", [])])
def test_one_class_is_as_the_chart_has_it(release: str, kinds: list[str]) -> None:
    made = tree(partitioned(release=release))
    component = made.get(f"{FOLDER}/dra/ran-server/kustomization.yaml", {"patches": []})
    assert [patch["target"]["kind"] for patch in component["patches"]] == kinds
    assert (f"{FOLDER}/dra/ran-server/config.yaml" in made) == (release == "0.3")


def test_a_second_class_brings_no_second_device_class() -> None:
    first, second = partitioned(release="0.3"), partitioned(release="0.3")
    second.node_class.name = "ran-other"
    made = tree(first, second)
    assert f"{FOLDER}/dra/ran-server/kustomization.yaml" not in made
    (patch,) = made[f"{FOLDER}/dra/ran-other/kustomization.yaml"]["patches"]
    assert patch["target"] == {"kind": "DeviceClass", "name": "dra.cpu"}
    assert yaml.safe_load(patch["patch"])["$patch"] == "delete"


def test_devices_are_expected_in_their_order() -> None:
    made = tree(partitioned())[f"{FOLDER}/expected/dra/ran-server.yaml"]
    cpus = [device["attributes"]["dra.cpu/cpuID"]["int"] for device in made["devices"]]
    assert cpus == [1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15]
    assert made["devices"][0]["name"] == "cpudev000"
    assert made["nodes"] == ["worker-0", "worker-1"]

"""The driver's configuration, and what the kubelet and the runtime must have beside it."""

from typing import Any

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.components import containerd, crio, kubelet
from cpuplan.components.dra import driver
from cpuplan.plan import ConfiguredPlan
from cpuplan.upstream.dra.driverconfig import resolve
from tests.machines.plans import plan, regular

SMT = regular(sockets=2, cores=4, threads=2)
PARTITIONS: dict[str, Any] = {
    "pools": {"reserved": "0,8", "isolated": {"rest": True, "partitions": {"db": "2"}}}
}


def planned(version: str = "1.36", **given: Any) -> ConfiguredPlan:
    own = {key: given.pop(key) for key in tuple(given) if key in FIELDS}
    target: dict[str, Any] = {"mechanism": "dra", "dra": own, **(given.pop("runtime", None) or {})}
    topology = given.pop("topology", SMT)
    defaults: dict[str, Any] = {"reserved": "0,8", "platform": "kubernetes", "version": version}
    return plan(topology, target=target, **{**defaults, **given})


FIELDS = ("release", "mode", "groupBy", "accounting", "align", "namespaces")


def values(node: ConfiguredPlan, component: str) -> dict[str, Any]:
    return node.settings.values(component)


def test_without_partitions_devices_are_groups() -> None:
    assert values(planned(), driver.NAME) == {
        "cpuDeviceMode": "grouped",
        "groupBy": "numanode",
        "reservedCPUs": CpuSet.parse("0,8"),
    }


def test_partitions_need_devices_of_single_cpus() -> None:
    node = planned(spec=PARTITIONS, sets={"isolated.db": "2"})
    assert values(node, driver.NAME)["cpuDeviceMode"] == "individual"


def test_isolcpus_are_reserved_too() -> None:
    node = planned(isolcpus="1,9")
    assert values(node, driver.NAME)["reservedCPUs"] == CpuSet.parse("0-1,8-9")


@pytest.mark.parametrize("given", [{}, {"isolcpus": "1,9"}, {"offlined": "7"}])
def test_the_kubelet_reserves_what_the_driver_reserves(given: dict[str, Any]) -> None:
    node = planned(**given)
    reserved = values(node, kubelet.NAME)["reservedSystemCPUs"]
    assert reserved == values(node, driver.NAME)["reservedCPUs"] == driver.reserved(node)


def test_the_kubelet_gives_out_no_cpus() -> None:
    assert values(planned(), kubelet.NAME)["cpuManagerPolicy"] == "none"


@pytest.mark.parametrize(
    ("version", "fields", "gates"),
    [
        ("1.34", {}, ["DRAConsumableCapacity"]),
        ("1.35", {}, ["DRAConsumableCapacity"]),
        ("1.36", {}, []),
        ("1.35", {"mode": "individual"}, []),
        ("1.37", {"accounting": "mapping", "release": "0.3"}, ["DRANodeAllocatableResources"]),
    ],
)
def test_gates_by_version(version: str, fields: dict[str, str], gates: list[str]) -> None:
    keys = values(planned(version, **fields), kubelet.NAME)
    assert [key for key in keys if key.startswith("featureGates.")] == [
        f"featureGates.{gate}" for gate in gates
    ]


def test_gates_of_the_intent_stand_above() -> None:
    gates = {"DRAConsumableCapacity": False}
    node = planned("1.35", spec={"kubelet": {"configuration": {"featureGates": gates}}})
    assert values(node, kubelet.NAME)["featureGates.DRAConsumableCapacity"] is False


@pytest.mark.parametrize(("release", "key"), [("0.2", "args"), ("0.3", "driverConfig")])
def test_values_of_the_chart(release: str, key: str) -> None:
    node = planned(release=release)
    made = driver.values(node, node.settings.of(driver.NAME))
    assert made[key]["reservedCPUs"] == "0,8"
    assert ("nodeSelector" in made) == (release == "0.3")
    assert made["podAnnotations"] == {"tolerate-missing-plugins.noderesource.dev/pod": "true"}


@pytest.mark.parametrize("reserved", ["0", "0,8", ""])
def test_the_driver_reads_its_file(reserved: str) -> None:
    node = planned(release="0.3", version="1.37", accounting="mapping", reserved=reserved)
    text = driver.render(node.settings.of(driver.NAME))
    config = resolve(text)
    assert config.reserved_cpus == reserved
    assert config.publish_node_allocatable_resource_mapping


def test_the_runtime_waits_for_the_driver() -> None:
    required = "crio.nri.default_validator.nri_validator_required_plugins"
    assert values(planned(), crio.NAME)[required] == ("dra.cpu",)
    node = planned(runtime={"runtime": "containerd", "containerd": "2.2"})
    assert values(node, containerd.NAME)["nri.default_validator.required_plugins"] == ("dra.cpu",)


@pytest.mark.parametrize(("release", "has_cdi"), [("1.7", False), ("2.0", True)])
def test_containerd_hands_out_devices(release: str, has_cdi: bool) -> None:
    config = values(
        planned(runtime={"runtime": "containerd", "containerd": release}), containerd.NAME
    )
    assert config["nri.disable"] is False
    assert ("cri.enable_cdi" in config) == has_cdi

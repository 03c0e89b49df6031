"""DeviceClasses, templates of claims, and what pods must have beside them."""

from typing import Any

import celpy
import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.components.dra import claims, classes, resource_slices
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.setting import plain
from tests.machines.plans import regular
from tests.unit.components.dra.test_driver import planned

HAS_CAPACITY = 'device.driver == "dra.cpu" && "numCPUs" in device.attributes["dra.cpu"]'
LARGE = regular(sockets=2, cores=24, threads=2)


def claiming(cpus: int, pool: str = "isolated", **given: Any) -> ConfiguredPlan:
    workload = {"name": "upf", "cpus": cpus, "pool": pool}
    spec = {"workloads": [workload], **given.pop("spec", {})}
    return planned(spec=spec, **given)


def specs(node: ConfiguredPlan) -> dict[str, Any]:
    return {
        setting.key: plain(setting.value)["devices"] for setting in node.settings.of(claims.NAME)
    }


def pod(node: ConfiguredPlan) -> dict[str, Any]:
    spec: dict[str, Any] = claims.pod_template(node, node.spec.workloads[0])["spec"]
    return spec


def test_a_group_gives_a_part_of_its_capacity() -> None:
    assert specs(claiming(4)) == {
        "ran-server.upf": {
            "requests": [
                {
                    "name": "cpus",
                    "exactly": {
                        "deviceClassName": "dra.cpu",
                        "selectors": [{"cel": {"expression": HAS_CAPACITY}}],
                        "capacity": {"requests": {"dra.cpu/cpu": "4"}},
                    },
                }
            ]
        }
    }


@pytest.mark.parametrize(("group_by", "shares"), [("numanode", ["6", "4"]), ("socket", ["6", "4"])])
def test_no_device_has_so_many(group_by: str, shares: list[str]) -> None:
    (devices,) = specs(claiming(10, groupBy=group_by)).values()
    capacities = [request["exactly"]["capacity"] for request in devices["requests"]]
    assert [capacity["requests"]["dra.cpu/cpu"] for capacity in capacities] == shares


def test_whole_cores_are_pairs_with_one_core_id_and_socket() -> None:
    (devices,) = specs(claiming(4, mode="individual")).values()
    assert [request["exactly"]["count"] for request in devices["requests"]] == [2, 2]
    assert devices["constraints"] == [
        {"requests": [f"core-{core}"], "matchAttribute": f"dra.cpu/{key}"}
        for core in (0, 1)
        for key in ("coreID", "socketID")
    ]


def test_a_size_that_is_no_whole_core_is_a_number_of_devices() -> None:
    (devices,) = specs(claiming(3, mode="individual")).values()
    assert devices == {
        "requests": [{"name": "cpus", "exactly": {"deviceClassName": "dra.cpu", "count": 3}}]
    }


@pytest.mark.parametrize(
    ("fields", "attribute"),
    [
        ({"align": "numaNode"}, "dra.cpu/numaNodeID"),
        ({"align": "numaNode", "release": "0.3"}, "resource.kubernetes.io/numaNode"),
        ({"align": "cache"}, "dra.cpu/cacheL3ID"),
    ],
)
def test_alignment_holds_for_all_requests(fields: dict[str, str], attribute: str) -> None:
    (devices,) = specs(claiming(2, mode="individual", **fields)).values()
    assert devices["constraints"][-1] == {"matchAttribute": attribute}


@pytest.mark.parametrize(
    ("topology", "fields", "sizes"),
    [
        (LARGE, {}, [32, 8]),
        (LARGE, {"align": "numaNode"}, [30, 10]),
        (regular(cores=48), {}, [32, 8]),
        (regular(cores=24, threads=2), {"align": "cache"}, [32, 8]),
    ],
)
def test_a_claim_has_32_devices_and_conditions_at_most(
    topology: Any, fields: dict[str, str], sizes: list[int]
) -> None:
    node = claiming(40, topology=topology, mode="individual", reserved="0", **fields)
    for devices, size in zip(specs(node).values(), sizes, strict=True):
        assert sum(request["exactly"]["count"] for request in devices["requests"]) == size
        assert len(devices.get("constraints", [])) <= 32
    used = pod(node)["containers"][0]["resources"]["claims"]
    claimed = pod(node)["resourceClaims"]
    assert [claim["name"] for claim in used] == ["cpus-1", "cpus-2"]
    assert [claim["name"] for claim in claimed] == ["cpus-1", "cpus-2"]
    assert [claim["resourceClaimTemplateName"] for claim in claimed] == list(specs(node))


def test_partitions_are_classes_and_other_cpus_are_shared() -> None:
    node = planned(sets={"isolated.db": "2,10", "isolated.dpdk": "4-5,12-13"}, mode="individual")
    assert node.settings.values(classes.NAME) == {
        "ran-server.isolated.db": CpuSet.parse("2,10"),
        "ran-server.isolated.dpdk": CpuSet.parse("4-5,12-13"),
    }
    assert classes.pods_text(node, "isolated") == "those of no partition have no claims"


def test_a_workload_of_no_partition_gets_a_class_of_the_others() -> None:
    node = claiming(2, mode="individual", sets={"isolated.db": "2,10"})
    own = node.settings.values(classes.NAME)["ran-server.isolated"]
    assert own == CpuSet.parse("1,3-7,9,11-15")
    (devices,) = specs(node).values()
    assert devices["requests"][0]["exactly"]["deviceClassName"] == "ran-server.isolated"


def selected(expression: str, device: dict[str, Any]) -> bool:
    environment = celpy.Environment()
    program = environment.program(environment.compile(expression))
    return bool(program.evaluate({"device": celpy.json_to_cel(device)}))


def test_an_expression_is_true_for_its_cpus_alone() -> None:
    node = planned(sets={"isolated.db": "2-3,10"}, mode="individual")
    text = classes.expression(CpuSet.parse("2-3,10"))
    chosen = set()
    for device in resource_slices.of_plan(node):
        told: dict[str, dict[str, Any]] = {}
        for key, value in device.attributes.items():
            domain, _, name = key.partition("/")
            told.setdefault(domain, {})[name] = value
        if selected(text, {"driver": "dra.cpu", "attributes": told}):
            chosen.add(device.attributes["dra.cpu/cpuID"])
    assert chosen == {2, 3, 10}
    assert not selected(text, {"driver": "gpu.example.com", "attributes": {}})
    grouped = {"driver": "dra.cpu", "attributes": {"dra.cpu": {"numCPUs": 2}}}
    assert not selected(text, grouped)


@pytest.mark.parametrize(
    ("fields", "own", "of_pod"),
    [
        ({}, {"requests": {"cpu": "4"}, "limits": {"cpu": "4"}}, None),
        ({"accounting": "podResources"}, {}, {"requests": {"cpu": "4"}, "limits": {"cpu": "4"}}),
        ({"accounting": "mapping"}, {"requests": {"cpu": "1m"}, "limits": {"cpu": "1m"}}, None),
    ],
)
def test_accounting(fields: dict[str, str], own: dict[str, Any], of_pod: Any) -> None:
    spec = pod(claiming(4, **fields))
    assert spec.get("resources") == of_pod
    (container,) = spec["containers"]
    assert container["resources"] == {**own, "claims": [{"name": "cpus-1"}]}
    assert "nodeSelector" not in spec


def test_numbers_of_cpus_hold_on_nodes_of_the_class() -> None:
    spec = pod(claiming(4, mode="individual"))
    assert spec["nodeSelector"] == {"cpuplan.io/class": "ran-server"}


def test_containers_of_a_manifest_with_whole_cpus_claim_them() -> None:
    def container(name: str, cpu: str) -> dict[str, Any]:
        return {"name": name, "resources": {"limits": {"cpu": cpu, "memory": "1Gi"}}}

    manifest = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "spec": {
            "template": {"spec": {"containers": [container("fast", "4"), container("log", "500m")]}}
        },
    }
    given = {"name": "upf", "manifest": manifest}
    node = planned(spec={"workloads": [given]}, accounting="podResources")
    assert list(specs(node)) == ["ran-server.upf.fast"]
    assert pod(node)["resources"]["requests"] == {"cpu": "4500m"}
    assert [container["name"] for container in pod(node)["containers"]] == ["fast"]


def test_the_machine_tells_the_devices() -> None:
    node = planned(offlined="7,15")
    assert node.settings.values(resource_slices.NAME) == {
        "cpus": CpuSet.parse("1-6,9-14"),
        "devices": 2,
        "attributes": (
            "dra.cpu/numCPUs",
            "dra.cpu/numaNodeID",
            "dra.cpu/smtEnabled",
            "dra.cpu/socketID",
            "dra.net/numaNode",
        ),
    }

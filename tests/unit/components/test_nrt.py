import json
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from cpuplan.base.emit import to_yaml
from cpuplan.base.topology import Cpu, NumaNodeFacts, Topology
from cpuplan.components import nrt
from cpuplan.components.nrt import EXPORTERS, is_served
from cpuplan.importers import objects
from cpuplan.language.model.cluster import NodeResourceTopology
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.expected.folder import named_topology
from cpuplan.upstream.nrt.crd import DEFINITIONS, Admission, admit
from tests.machines.plans import GIB, plan, regular

SHARED = Path(__file__).parents[4].parent / "shared/vectors/nrt"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason=f"recorded data is not at {SHARED}")

TWO = regular(sockets=2, cores=4, threads=2)
ALIGNED = {"topologyManagerPolicy": "single-numa-node", "topologyManagerScope": "pod"}
PLAN = plan(
    TWO,
    reserved="0,8",
    shared="1,9",
    offlined="15",
    spec={
        "kubelet": ALIGNED,
        "hugePages": {
            "pages": [{"size": "1G", "count": 3}, {"size": "2M", "count": 512, "numaNode": 1}]
        },
    },
)


KUBERNETES: dict[str, Any] = {"platform": "kubernetes", "version": "1.34"}


def by(exporter: str) -> dict[str, Any]:
    """A cluster in which `exporter` writes the objects."""
    return {**KUBERNETES, "facts": {"nodeResourceTopology": {"exporter": exporter}}}


def zones(node: ConfiguredPlan) -> dict[str, dict[str, dict[str, str]]]:
    by_zone: dict[str, dict[str, dict[str, str]]] = {}
    for zone in nrt.node_resource_topology(node)["zones"]:
        resources = by_zone[zone["name"]] = {}
        for resource in zone.get("resources", ()):
            columns = dict(resource)
            resources[columns.pop("name")] = columns
    return by_zone


def amounts(capacity: int, free: int) -> dict[str, str]:
    return {"capacity": str(capacity), "allocatable": str(free), "available": str(free)}


def test_what_pods_can_get_of_each_numa_node() -> None:
    reserved = 1100 * 1024**2
    assert zones(PLAN) == {
        "node-0": {
            "cpu": amounts(8, 4),
            "hugepages-1Gi": amounts(2 * GIB, 2 * GIB),
            "memory": amounts(64 * GIB, 62 * GIB - reserved),
        },
        "node-1": {
            "cpu": amounts(7, 7),
            "hugepages-1Gi": amounts(GIB, GIB),
            "hugepages-2Mi": amounts(GIB, GIB),
            "memory": amounts(64 * GIB, 62 * GIB),
        },
    }


def test_memory_is_not_told_without_the_memory_manager() -> None:
    assert zones(plan(TWO)) == {"node-0": {"cpu": amounts(8, 6)}, "node-1": {"cpu": amounts(8, 8)}}


def test_costs_are_the_distances() -> None:
    first = nrt.node_resource_topology(PLAN)["zones"][0]
    assert first["costs"] == [{"name": "node-0", "value": 10}, {"name": "node-1", "value": 21}]


def test_a_node_without_free_cpus_tells_of_its_memory_only() -> None:
    node = plan(TWO, reserved="0-3,8-11", spec={"kubelet": ALIGNED})
    assert list(zones(node)["node-0"]) == ["memory"]


def test_a_node_others_only_has_no_cpus() -> None:
    machine = Topology(regular().cpus, [NumaNodeFacts(0, GIB), NumaNodeFacts(1, GIB)])
    assert zones(plan(machine))["node-1"]["cpu"] == amounts(0, 0)


@pytest.mark.parametrize(
    ("policy", "scope", "wanted"),
    [
        ("none", None, "None"),
        ("best-effort", None, "BestEffortContainerLevel"),
        ("restricted", "pod", "RestrictedPodLevel"),
        ("single-numa-node", "container", "SingleNUMANodeContainerLevel"),
    ],
)
def test_policies_under_their_old_names(policy: str, scope: str | None, wanted: str) -> None:
    fields = {"topologyManagerPolicy": policy} | ({"topologyManagerScope": scope} if scope else {})
    node = plan(spec={"kubelet": fields}, **KUBERNETES)
    made = nrt.node_resource_topology(node)
    assert made["topologyPolicies"] == [wanted]
    assert {given["name"]: given["value"] for given in made["attributes"]} == {
        "topologyManagerPolicy": policy,
        "topologyManagerScope": scope or "container",
    }


@pytest.mark.parametrize(
    ("made", "version", "told"),
    [
        (by("resource-topology-exporter"), "v1alpha2", {"attributes"}),
        (by("node-feature-discovery"), "v1alpha2", {"attributes", "topologyPolicies"}),
        (by("koordlet"), "v1alpha1", {"topologyPolicies"}),
        ({"platform": "openshift"}, "v1alpha2", {"attributes"}),
        (KUBERNETES, "v1alpha2", {"attributes", "topologyPolicies"}),
        ({**KUBERNETES, "target": {"mechanism": "koordinator"}}, "v1alpha1", {"topologyPolicies"}),
    ],
)
def test_each_exporter_has_its_form(made: dict[str, Any], version: str, told: set[str]) -> None:
    topology = nrt.node_resource_topology(plan(**made))
    assert topology["apiVersion"] == f"topology.node.k8s.io/{version}"
    assert topology.keys() & {"attributes", "topologyPolicies"} == told


def test_koordlet_subtracts_nothing() -> None:
    node = plan(TWO, reserved="0,8", spec={"kubelet": ALIGNED}, **by("koordlet"))
    made = nrt.node_resource_topology(node)
    assert made["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "Koordinator"}
    assert made["zones"][0].keys() == {"name", "type", "resources"}
    assert zones(node)["node-0"] == {
        "cpu": amounts(8, 8),
        "hugepages-1Gi": amounts(0, 0),
        "hugepages-2Mi": amounts(0, 0),
        "memory": {"capacity": "64Gi", "allocatable": "64Gi", "available": "64Gi"},
    }


def test_koordlets_annotations() -> None:
    target = {"mechanism": "koordinator", "koordinator": "1.8"}
    node = plan(TWO, reserved="0,8", offlined="15", target=target, **KUBERNETES)
    annotations = nrt.node_resource_topology(node)["metadata"]["annotations"]
    told = {key.partition("/")[2]: json.loads(text) for key, text in annotations.items()}
    assert told.pop("cpu-topology")["detail"][8] == {"id": 8, "core": 0, "socket": 0, "node": 0}
    pools = [
        {"socket": 0, "node": 0, "cpuset": "1-3,9-11"},
        {"socket": 1, "node": 1, "cpuset": "4-7,12-14"},
    ]
    assert told == {
        "cpu-manager-policy": {"policy": "none"},
        "cpu-shared-pools": pools,
        "be-cpu-shared-pools": pools,
        "pod-cpu-allocs": None,
        "reservation": {"reservedCPUs": "0,8", "applyPolicy": "ReservedCPUsOnly"},
        "system-qos-resource": {},
    }


def test_annotations_of_an_older_release() -> None:
    target = {"mechanism": "koordinator", "koordinator": "1.2"}
    node = plan(TWO, target=target, **KUBERNETES)
    annotations = nrt.node_resource_topology(node)["metadata"]["annotations"]
    assert "node.koordinator.sh/cpu-shared-pools" in annotations
    assert "node.koordinator.sh/be-cpu-shared-pools" not in annotations


def test_what_koordlet_publishes_is_an_inventory(tmp_path: Path) -> None:
    node = plan(TWO, reserved="0,8", **by("koordlet"))
    file = tmp_path / "nrt.yaml"
    file.write_text(to_yaml(named_topology(nrt.node_resource_topology(node), "worker-0")))
    (imported,) = objects.read(file).nodes
    assert {tuple(core) for core in imported.machine.siblings} == {
        tuple(cpus) for cpus in TWO.cores.values()
    }
    cpus_of = {facts.id: facts.cpus for facts in imported.machine.numa_nodes}
    assert cpus_of == TWO.numa_nodes


def test_koordlets_zones_say_the_size_of_memory_in_binary_units() -> None:
    machine = Topology(regular().cpus, [NumaNodeFacts(0, 3 * GIB // 2)])
    assert zones(plan(machine, **by("koordlet")))["node-0"]["memory"]["capacity"] == "1536Mi"


@pytest.mark.parametrize(
    "kubelet", [{"cpuManagerPolicy": "none"}, {"dynamicResourceAllocation": True}]
)
def test_no_cpus_without_the_static_cpu_manager(kubelet: dict[str, Any]) -> None:
    node = plan(TWO, spec={"kubelet": kubelet}, **KUBERNETES)
    assert zones(node) == {"node-0": {"cpu": amounts(8, 0)}, "node-1": {"cpu": amounts(8, 0)}}


def test_every_exporter_of_a_cluster_is_known() -> None:
    known = get_args(get_args(NodeResourceTopology.model_fields["exporter"].annotation)[0])
    assert set(known) == set(EXPORTERS)
    assert set(get_args(NodeResourceTopology.model_fields["crd"].annotation)) == set(DEFINITIONS)


@pytest.mark.parametrize("exporter", EXPORTERS)
@pytest.mark.parametrize("crd", DEFINITIONS)
def test_admitted_wherever_the_version_is_served(exporter: str, crd: str) -> None:
    facts = {"nodeResourceTopology": {"exporter": exporter, "crd": crd}}
    node = plan(TWO, spec={"kubelet": ALIGNED}, **KUBERNETES, facts=facts)
    made = json.loads(json.dumps(named_topology(nrt.node_resource_topology(node), "worker-0")))
    problems = () if is_served(node) else ("no match for kind/version",)
    assert admit(made, DEFINITIONS[crd]) == Admission(problems)


def numbered(*nodes: int) -> ConfiguredPlan:
    """One CPU on each NUMA node, with these numbers."""
    cpus = [Cpu(cpu, cpu, cpu, 0, node, cpu, 0) for cpu, node in enumerate(nodes)]
    machine = Topology(cpus, [NumaNodeFacts(node, GIB) for node in nodes])
    return plan(machine, reserved="0", spec={"kubelet": ALIGNED})


@pytest.mark.parametrize(
    ("nodes", "readable"), [((0, 1), True), ((0, 2), False), ((1, 2), False), (range(65), False)]
)
def test_no_zones_that_make_the_scheduler_panic(nodes: tuple[int, ...], readable: bool) -> None:
    assert bool(zones(numbered(*nodes))) == readable


def plugin_crashes(zone_names: list[tuple[str, str]]) -> bool:
    """The recorded panics of the plugin: numbers with gaps or from 64 on, other types of zone."""
    numbers = [int(name.removeprefix("node-")) for name, kind in zone_names if kind == "Node"]
    return (
        len(numbers) < len(zone_names) or numbers != list(range(len(numbers))) or len(numbers) > 64
    )


@needs_shared
def test_recorded_crashes_are_told_apart() -> None:
    crashes = 0
    for line in (SHARED / "match.jsonl").read_text().splitlines():
        case = json.loads(line)
        names = [(zone["name"], zone["type"]) for zone in case["input"]["nrt"].get("zones", ())]
        if case["expected"].get("crash"):
            crashes += 1
            assert plugin_crashes(names), case["id"]
    assert crashes


@needs_shared
@pytest.mark.parametrize("node", [PLAN, plan(TWO), numbered(0, 2), numbered(*range(65))])
@pytest.mark.parametrize("crd", ["nrt-v1alpha1-v1alpha2.yaml", "nrt-v1alpha2-only.yaml"])
def test_valid_and_never_a_recorded_crash(node: ConfiguredPlan, crd: str) -> None:
    import jsonschema

    made: dict[str, Any] = named_topology(nrt.node_resource_topology(node), "worker-0")
    definition = yaml.safe_load((SHARED / "crds" / crd).read_text())
    versions = {version["name"]: version for version in definition["spec"]["versions"]}
    schema = versions["v1alpha2"]["schema"]["openAPIV3Schema"]
    jsonschema.validate(made, schema)
    assert not plugin_crashes([(zone["name"], zone["type"]) for zone in made["zones"]])
    assert made.keys() <= schema["properties"].keys()


def exported() -> list[Any]:
    """Recorded nodes whose NUMA nodes have numbers without gaps."""
    path = SHARED / "exporter_zones.jsonl"
    cases = [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []
    rows = []
    for case in cases:
        numbers = [node["zone"] for node in case["input"]["nodes"]]
        if numbers == list(range(len(numbers))):
            rows.append(pytest.param(case["input"], case["expected"]["rte"], id=case["id"]))
    return rows


def without_pods(zones: list[dict[str, Any]], *, others: bool) -> list[dict[str, Any]]:
    """Costs and what there is of CPUs.

    How much of memory and devices is kept back is not among a plan's facts.
    """
    compared = []
    for zone in sorted(zones, key=lambda zone: str(zone["name"])):
        facts = {"name": zone["name"], "type": zone["type"], "costs": zone.get("costs")}
        facts["cpu"] = [
            (resource["capacity"], resource["allocatable"])
            for resource in zone["resources"]
            if resource["name"] == "cpu" and not (others and resource["allocatable"] == "0")
        ]
        compared.append(facts)
    return compared


@needs_shared
@pytest.mark.parametrize(("given", "wanted"), exported())
def test_zones_as_exporters_publish_them(
    given: dict[str, Any], wanted: list[dict[str, Any]]
) -> None:
    cpus = [
        Cpu(cpu, core[0], 0, 0, node["zone"], 0, 0)
        for node in given["nodes"]
        for core in node["cores"]
        for cpu in core
    ]
    machine = Topology(
        cpus,
        [NumaNodeFacts(node["zone"], None, tuple(node["distances"])) for node in given["nodes"]],
    )
    reserved = ",".join(str(cpu) for cpu in machine.online if cpu not in given["allocatableCPUs"])
    published = nrt.node_resource_topology(plan(machine, reserved=reserved))["zones"]
    others = bool(given["allocatableMemory"] or given["allocatableDevices"])
    assert without_pods(published, others=others) == without_pods(wanted, others=others)

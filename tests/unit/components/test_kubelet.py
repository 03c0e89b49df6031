from typing import Any

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.topology import NumaNodeFacts, Topology
from cpuplan.components import kubelet
from tests.machines.plans import GIB, plan, regular

MIB = 1024**2


def configuration(node: Any) -> dict[str, Any]:
    return kubelet.configuration(list(kubelet.settings(node)))


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"topologyManagerPolicy": "single-numa-node"}, {"full-pcpus-only": "true"}),
        (
            {
                "topologyManagerPolicy": "single-numa-node",
                "cpuManagerPolicyOptions": {"full-pcpus-only": "false"},
            },
            {"full-pcpus-only": "false"},
        ),
        (
            {
                "topologyManagerPolicy": "single-numa-node",
                "cpuManagerPolicyOptions": {"distribute-cpus-across-cores": "true"},
            },
            {"distribute-cpus-across-cores": "true"},
        ),
        ({"topologyManagerPolicy": "restricted"}, None),
        ({"topologyManagerPolicy": "single-numa-node", "cpuManagerPolicy": "none"}, None),
    ],
)
def test_options_of_the_cpu_manager(given: dict[str, Any], wanted: dict[str, str] | None) -> None:
    assert configuration(plan(spec={"kubelet": given})).get("cpuManagerPolicyOptions") == wanted


@pytest.mark.parametrize(
    ("shared", "mixed", "wanted"),
    [("", None, "0-1"), ("2-3", None, "0-3"), ("2-3", True, "0-3"), ("2-3", False, "0-1")],
)
def test_shared_cpus_are_reserved_where_they_are_used(
    shared: str, mixed: bool | None, wanted: str
) -> None:
    runtime = {} if mixed is None else {"mixedCpus": mixed}
    assert (
        configuration(plan(shared=shared, spec={"runtime": runtime}))["reservedSystemCPUs"]
        == wanted
    )


@pytest.mark.parametrize(
    ("mixed", "origins"),
    [
        (False, {"Intent/ran:spec.pools.reserved"}),
        (
            True,
            {
                "Intent/ran:spec.pools.reserved",
                "Intent/ran:spec.pools.shared",
                "Intent/ran:spec.runtime.mixedCpus",
            },
        ),
    ],
)
def test_shared_cpus_are_a_reason_where_they_are_used(mixed: bool, origins: set[str]) -> None:
    node = plan(shared="2-3", spec={"runtime": {"mixedCpus": mixed}})
    [reserved] = [item for item in kubelet.settings(node) if item.key == "reservedSystemCPUs"]
    assert {reason.origin for reason in reserved.reasons} == origins


def test_beside_a_driver_nothing_is_written_that_the_intent_does_not_say() -> None:
    given = {"dynamicResourceAllocation": True, "topologyManagerScope": "pod"}
    written = configuration(plan(spec={"kubelet": given}))
    assert written["topologyManagerScope"] == "pod"
    assert (written["topologyManagerPolicy"], written["cpuManagerPolicy"]) == ("none", "none")
    assert not {"kubeReserved", "systemReserved", "evictionHard"} & written.keys()


def reserved_memory(topology: Topology, reserved: str = "0-1", **spec: Any) -> dict[int, str]:
    kubelet_spec = {"topologyManagerPolicy": "restricted", **spec.pop("kubelet", {})}
    node = plan(topology, reserved=reserved, spec={"kubelet": kubelet_spec, **spec})
    entries = configuration(node).get("reservedMemory", ())
    return {entry["numaNode"]: entry["limits"]["memory"] for entry in entries}


def with_memory(*sizes: int | None) -> Topology:
    """Two sockets of four CPUs, nodes 0 and 1; further nodes have memory only."""
    topology = regular(sockets=2, cores=4)
    return Topology(topology.cpus, [NumaNodeFacts(node, size) for node, size in enumerate(sizes)])


def pages(*of_node: int) -> dict[str, Any]:
    given = [
        {"size": "1G", "count": count, "numaNode": node}
        for node, count in enumerate(of_node)
        if count
    ]
    return {"hugePages": {"pages": given}}


def anywhere(count: int) -> dict[str, Any]:
    return {"hugePages": {"pages": [{"size": "1G", "count": count}]}}


@pytest.mark.parametrize(
    ("topology", "reserved", "spec", "wanted"),
    [
        (regular(sockets=2, cores=4), "0", {}, {0: "1100Mi"}),
        # The kernel may choose node 1 for the last of 13 pages, so that it has 1 GiB left.
        (with_memory(8 * GIB, 8 * GIB), "4", anywhere(12), {1: "1100Mi"}),
        (with_memory(8 * GIB, 8 * GIB), "4", anywhere(13), {0: "76Mi", 1: "1Gi"}),
        (with_memory(8 * GIB, 8 * GIB), "0", anywhere(13), {0: "1Gi", 1: "76Mi"}),
        (regular(sockets=2, cores=4), "4", {}, {1: "1100Mi"}),
        (regular(sockets=2, cores=4), "3-4", {}, {0: "1100Mi"}),
        (regular(sockets=2, cores=4, memory=None), "0", {}, {0: "1100Mi"}),
        (with_memory(0, 8 * GIB), "0", {}, {1: "1100Mi"}),
        (with_memory(None, 8 * GIB), "0", {}, {1: "1100Mi"}),
        (with_memory(8 * GIB, 8 * GIB, 8 * GIB), "0", {}, {0: "1100Mi"}),
        (with_memory(512 * MIB, 8 * GIB), "0", {}, {0: "512Mi", 1: "588Mi"}),
        (with_memory(512 * MIB + 4095, 8 * GIB), "0", {}, {0: "512Mi", 1: "588Mi"}),
        (with_memory(8 * GIB, 8 * GIB), "0", pages(7), {0: "1Gi", 1: "76Mi"}),
        (with_memory(8 * GIB, 8 * GIB), "0", pages(8), {1: "1100Mi"}),
        (with_memory(8 * GIB, 8 * GIB, 8 * GIB), "0", pages(8, 8), {2: "1100Mi"}),
        (regular(), "0", {"kubelet": {"kubeReserved": {"memory": "2Gi"}}}, {0: "2648Mi"}),
        (regular(), "0", {"kubelet": {"evictionHard": {}}}, {0: "1000Mi"}),
        (
            regular(),
            "0",
            {"kubelet": {"evictionHard": {}, "kubeReserved": {}, "systemReserved": {}}},
            {},
        ),
        (regular(), "0", {"kubelet": {"memoryManagerPolicy": "None"}}, {}),
        (regular(), "0", {"kubelet": {"topologyManagerPolicy": "best-effort"}}, {}),
        (
            regular(),
            "0",
            {"kubelet": {"topologyManagerPolicy": "none", "memoryManagerPolicy": "Static"}},
            {0: "1100Mi"},
        ),
        (
            with_memory(8 * GIB, 8 * GIB),
            "0",
            {
                "kubelet": {
                    "reservedMemory": [
                        {"numaNode": 1, "memory": "1Gi"},
                        {"numaNode": 0, "memory": "76Mi"},
                    ]
                }
            },
            {0: "76Mi", 1: "1Gi"},
        ),
    ],
)
def test_reserved_memory(
    topology: Topology, reserved: str, spec: dict[str, Any], wanted: dict[int, str]
) -> None:
    assert reserved_memory(topology, reserved, **spec) == wanted


@pytest.mark.parametrize("drivers", [False, True])
def test_reserved_memory_that_nobody_reads_is_written_all_the_same(drivers: bool) -> None:
    given: dict[str, Any] = {
        "topologyManagerPolicy": "none",
        "reservedMemory": [{"numaNode": 1, "memory": "1Gi"}],
    }
    given["dynamicResourceAllocation"] = drivers
    assert reserved_memory(regular(), "0", kubelet=given) == {1: "1Gi"}


def test_fractions_are_numbers_to_the_kubelet() -> None:
    settings = list(
        kubelet.settings(
            plan(spec={"kubelet": {"configuration": {"memoryThrottlingFactor": "0.8"}}})
        )
    )
    assert "memoryThrottlingFactor: 0.8\n" in kubelet.render(settings)
    assert kubelet.parse(kubelet.render(settings))["memoryThrottlingFactor"] == 0.8


def test_foreign_keys_are_read_too() -> None:
    text = "maxPods: 250\nfeatureGates: {A: true}\nreservedSystemCPUs: 0,1\nlist: [a]\nnone: null\n"
    text += "authentication: {x509: {}}\n"
    assert kubelet.parse(text) == {
        "maxPods": 250,
        "featureGates.A": True,
        "reservedSystemCPUs": CpuSet.parse("0-1"),
        "authentication.x509": {},
        "list": ("a",),
    }


def test_a_list_that_cannot_be_read_stays_text() -> None:
    assert kubelet.parse("reservedSystemCPUs: 3-1\n") == {"reservedSystemCPUs": "3-1"}


def test_what_is_no_yaml_is_refused_at_its_line() -> None:
    with pytest.raises(ValueError, match=r"\(line 2, column 4\)"):
        kubelet.parse("a: 1\nb: ]\n")


def test_an_empty_file_says_nothing() -> None:
    assert kubelet.parse("") == {}


def test_values_by_key() -> None:
    settings = plan().settings.values(kubelet.NAME)
    assert settings["evictionHard.memory.available"] == "100Mi"


@pytest.mark.parametrize(
    ("platform", "version", "keys"),
    [
        ("kubernetes", "1.34", ["kubeReservedCgroup", "systemReservedCgroup"]),
        ("k3s", "1.34", []),
        ("talos", "1.12", []),
        ("bottlerocket", "1.34", []),
        ("openshift", "4.20", []),
    ],
)
def test_cgroups_of_a_base_that_is_not_known(platform: str, version: str, keys: list[str]) -> None:
    made = plan(platform=platform, version=version)
    emptied = [setting for setting in made.settings.of("kubelet") if "Cgroup" in setting.key]
    assert [setting.key for setting in emptied] == keys
    assert {setting.value for setting in emptied} <= {""}


def test_cgroups_that_the_intent_itself_says() -> None:
    spec = {"kubelet": {"configuration": {"kubeReservedCgroup": ""}}}
    made = plan(platform="kubernetes", version="1.34", spec=spec)
    keys = [setting.key for setting in made.settings.of("kubelet") if "Cgroup" in setting.key]
    assert sorted(keys) == ["kubeReservedCgroup", "systemReservedCgroup"]


def test_no_cgroups_beside_drivers() -> None:
    spec = {"kubelet": {"dynamicResourceAllocation": True}}
    made = plan(platform="kubernetes", version="1.34", spec=spec)
    assert not [setting for setting in made.settings.of("kubelet") if "Cgroup" in setting.key]

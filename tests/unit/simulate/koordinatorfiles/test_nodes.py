"""Nodes of users, as Koordinator takes them."""

from typing import Any

import pytest

from cpuplan.facts.versions import Version
from cpuplan.upstream.koordinator.extension import constants
from tests.unit.simulate.koordinatorfiles.given import found, node


@pytest.mark.parametrize(
    "given",
    [
        node(),
        node(
            {
                constants.CPU_BIND_POLICY: "None",
                constants.NUMA_TOPOLOGY_POLICY: "BestEffort",
                constants.NUMA_ALLOCATE_STRATEGY: "MostAllocated",
                constants.ENABLE_NUMA_RESERVATION: "true",
            },
            {
                constants.RESERVATION: {"reservedCPUs": "0-1", "applyPolicy": "ReservedCPUsOnly"},
                constants.SYSTEM_QOS_RESOURCE: {"cpuset": "2-3", "cpusetExclusive": False},
            },
        ),
        node(annotations={constants.RESERVATION: "null", constants.SYSTEM_QOS_RESOURCE: "null"}),
        node(annotations={constants.AMPLIFICATION_RATIO: {"cpu": 1.5}}, resourceVersion="7"),
    ],
)
def test_nodes_without_a_fault(given: Any) -> None:
    assert found(given) == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            node({constants.NUMA_TOPOLOGY_POLICY: "single-numa-node"}),
            "CP643: node.koordinator.sh/numa-topology-policy of Node worker-0 is single-numa-node",
        ),
        (
            node({constants.CPU_BIND_POLICY: "PCPUOnly"}),
            "CP645: node.koordinator.sh/cpu-bind-policy of Node worker-0 is PCPUOnly: this is no",
        ),
        (
            node({constants.NUMA_ALLOCATE_STRATEGY: "DistributeEvenly"}),
            "CP645: node.koordinator.sh/numa-allocate-strategy of Node worker-0 is Distribute",
        ),
        (
            node({constants.ENABLE_NUMA_RESERVATION: "yes"}),
            "CP645: node.koordinator.sh/enable-numa-reservation of Node worker-0 is yes: only",
        ),
        (
            node({"node.koordinator.sh/whatever": "x"}),
            "CP644: Koordinator 1.8 does not read node.koordinator.sh/whatever of Node worker-0: ",
        ),
        (
            node({constants.QOS: "LSE"}),
            "CP644: Koordinator 1.8 does not read koordinator.sh/qosClass of Node worker-0: it be",
        ),
        (
            node(annotations={constants.RESERVATION: "{"}),
            "CP640: node.koordinator.sh/reservation of Node worker-0 cannot be read",
        ),
        (
            node(
                annotations={constants.RESERVATION: {"reservedCPUs": "0", "applyPolicy": "Always"}}
            ),
            "CP645: applyPolicy of Node worker-0 is Always: this is no policy",
        ),
        (
            node(
                annotations={constants.RESERVATION: {"reservedCPUs": "0", "resources": {"cpu": 2}}}
            ),
            "CP645: resources.cpu of Node worker-0 is 2: reservedCPUs names the CPUs",
        ),
        (
            node(annotations={constants.RESERVATION: {"cpus": "0"}}),
            "CP644: Koordinator 1.8 does not read cpus in node.koordinator.sh/reservation",
        ),
        (
            node(annotations={constants.SYSTEM_QOS_RESOURCE: {"cpuset": "x"}}),
            "CP640: node.koordinator.sh/system-qos-resource of Node worker-0 cannot be read",
        ),
        (
            node(annotations={constants.NORMALIZATION_RATIO: "1.2"}),
            "CP646: node.koordinator.sh/cpu-normalization-ratio of Node worker-0 is written by ko",
        ),
        (
            node(annotations={constants.RAW_ALLOCATABLE: {"cpu": "8"}}),
            "CP646: node.koordinator.sh/raw-allocatable of Node worker-0 is written by",
        ),
        (
            node(annotations={constants.POD_CPU_ALLOCS: "[]"}),
            "CP646: node.koordinator.sh/pod-cpu-allocs of Node worker-0 is written by koordlet",
        ),
        (
            {
                **node(annotations={constants.CPU_SHARED_POOLS: "[]"}),
                "kind": "NodeResourceTopology",
            },
            "CP646: node.koordinator.sh/cpu-shared-pools of NodeResourceTopology worker-0",
        ),
    ],
)
def test_faults(given: Any, expected: str) -> None:
    messages = found(given)
    assert len(messages) == 1
    assert messages[0].startswith(expected)


def test_a_topology_from_a_cluster_is_koordlets_own() -> None:
    given = node(annotations={constants.CPU_SHARED_POOLS: "[]"}, resourceVersion="7")
    assert found({**given, "kind": "NodeResourceTopology"}) == []


@pytest.mark.parametrize(("release", "code"), [((1, 3), "CP644"), ((1, 4), "CP643")])
def test_a_policy_crashes_only_who_reads_it(release: Version, code: str) -> None:
    messages = found(node({constants.NUMA_TOPOLOGY_POLICY: "None"}), release=release)
    assert [message[:5] for message in messages] == [code]

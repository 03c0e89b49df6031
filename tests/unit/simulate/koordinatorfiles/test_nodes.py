"""Nodes of users, as Koordinator takes them."""

from typing import Any

import pytest

from cpuplan.platforms.versions import Version
from cpuplan.upstream.koordinator import keys
from tests.unit.simulate.koordinatorfiles.given import found, node


@pytest.mark.parametrize(
    "given",
    [
        node(),
        node(
            {
                keys.CPU_BIND_POLICY: "None",
                keys.NUMA_TOPOLOGY_POLICY: "BestEffort",
                keys.NUMA_ALLOCATE_STRATEGY: "MostAllocated",
                keys.ENABLE_NUMA_RESERVATION: "true",
            },
            {
                keys.RESERVATION: {"reservedCPUs": "0-1", "applyPolicy": "ReservedCPUsOnly"},
                keys.SYSTEM_QOS_RESOURCE: {"cpuset": "2-3", "cpusetExclusive": False},
            },
        ),
        node(annotations={keys.RESERVATION: "null", keys.SYSTEM_QOS_RESOURCE: "null"}),
        node(annotations={keys.AMPLIFICATION_RATIO: {"cpu": 1.5}}, resourceVersion="7"),
    ],
)
def test_nodes_without_a_fault(given: Any) -> None:
    assert found(given) == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            node({keys.NUMA_TOPOLOGY_POLICY: "single-numa-node"}),
            "CP643: node.koordinator.sh/numa-topology-policy of Node worker-0 is single-numa-node",
        ),
        (
            node({keys.CPU_BIND_POLICY: "PCPUOnly"}),
            "CP645: node.koordinator.sh/cpu-bind-policy of Node worker-0 is PCPUOnly: this is no",
        ),
        (
            node({keys.NUMA_ALLOCATE_STRATEGY: "DistributeEvenly"}),
            "CP645: node.koordinator.sh/numa-allocate-strategy of Node worker-0 is Distribute",
        ),
        (
            node({keys.ENABLE_NUMA_RESERVATION: "yes"}),
            "CP645: node.koordinator.sh/enable-numa-reservation of Node worker-0 is yes: only",
        ),
        (
            node({"node.koordinator.sh/whatever": "x"}),
            "CP644: Koordinator 1.8 does not read node.koordinator.sh/whatever of Node worker-0: ",
        ),
        (
            node({keys.QOS: "LSE"}),
            "CP644: Koordinator 1.8 does not read koordinator.sh/qosClass of Node worker-0: it be",
        ),
        (
            node(annotations={keys.RESERVATION: "{"}),
            "CP640: node.koordinator.sh/reservation of Node worker-0 cannot be read",
        ),
        (
            node(annotations={keys.RESERVATION: {"reservedCPUs": "0", "applyPolicy": "Always"}}),
            "CP645: applyPolicy of Node worker-0 is Always: this is no policy",
        ),
        (
            node(annotations={keys.RESERVATION: {"reservedCPUs": "0", "resources": {"cpu": 2}}}),
            "CP645: resources.cpu of Node worker-0 is 2: reservedCPUs names the CPUs",
        ),
        (
            node(annotations={keys.RESERVATION: {"cpus": "0"}}),
            "CP644: Koordinator 1.8 does not read cpus in node.koordinator.sh/reservation",
        ),
        (
            node(annotations={keys.SYSTEM_QOS_RESOURCE: {"cpuset": "x"}}),
            "CP640: node.koordinator.sh/system-qos-resource of Node worker-0 cannot be read",
        ),
        (
            node(annotations={keys.NORMALIZATION_RATIO: "1.2"}),
            "CP646: node.koordinator.sh/cpu-normalization-ratio of Node worker-0 is written by ko",
        ),
        (
            node(annotations={keys.RAW_ALLOCATABLE: {"cpu": "8"}}),
            "CP646: node.koordinator.sh/raw-allocatable of Node worker-0 is written by",
        ),
        (
            node(annotations={keys.POD_CPU_ALLOCS: "[]"}),
            "CP646: node.koordinator.sh/pod-cpu-allocs of Node worker-0 is written by koordlet",
        ),
        (
            {**node(annotations={keys.CPU_SHARED_POOLS: "[]"}), "kind": "NodeResourceTopology"},
            "CP646: node.koordinator.sh/cpu-shared-pools of NodeResourceTopology worker-0",
        ),
    ],
)
def test_faults(given: Any, expected: str) -> None:
    messages = found(given)
    assert len(messages) == 1
    assert messages[0].startswith(expected)


def test_a_topology_from_a_cluster_is_koordlets_own() -> None:
    given = node(annotations={keys.CPU_SHARED_POOLS: "[]"}, resourceVersion="7")
    assert found({**given, "kind": "NodeResourceTopology"}) == []


@pytest.mark.parametrize(("release", "code"), [((1, 3), "CP644"), ((1, 4), "CP643")])
def test_a_policy_crashes_only_who_reads_it(release: Version, code: str) -> None:
    messages = found(node({keys.NUMA_TOPOLOGY_POLICY: "None"}), release=release)
    assert [message[:5] for message in messages] == [code]

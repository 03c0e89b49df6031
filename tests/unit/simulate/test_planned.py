"""Planned nodes as their kubelets find them."""

from typing import Any

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.topology import KubeletFacts, SharedCache, Topology
from cpuplan.simulate.planned import planned
from cpuplan.upstream.kubelet.policy_options import with_gates
from cpuplan.upstream.kubelet.sysinfo import ASSUMED_MEMORY, machine_of, number_of_sockets, without
from tests.machines.plans import GIB, plan, regular

SMT = regular(sockets=2, cores=4, threads=2)


def test_a_machine_has_cores_memory_and_distances() -> None:
    machine = machine_of(SMT, {1: ((1048576, 2),)})
    threads = {}
    for node in machine.nodes:
        threads[node.id] = [core.threads for core in node.cores]
    assert list(threads.items()) == [
        (0, [(0, 8), (1, 9), (10, 2), (11, 3)]),  # in the order of the names of their folders
        (1, [(12, 4), (13, 5), (14, 6), (15, 7)]),
    ]
    assert [(node.memory, node.hugepages) for node in machine.memory] == [
        (64 * GIB, ()),
        (64 * GIB, ((1048576, 2),)),
    ]
    assert machine.distances == {0: (10, 21), 1: (21, 10)}
    assert (machine.sockets, machine.cpus) == (2, 0xFFFF)


def test_nodes_come_in_the_order_of_their_folders() -> None:
    machine = machine_of(regular(sockets=12, cores=1))
    assert [node.id for node in machine.nodes] == [0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9]


def test_memory_that_nobody_tells_stops_no_pod() -> None:
    assert {node.memory for node in machine_of(regular(memory=None)).memory} == {ASSUMED_MEMORY}


def test_offlined_cpus_are_off() -> None:
    planned_node = planned(plan(SMT, reserved="0,8", offlined="6-7,14-15"))
    assert planned_node.machine.cpus == 0xFFFF & ~(3 << 6 | 3 << 14)


def test_without_cpus_the_kubelet_sees_a_smaller_machine() -> None:
    caches = (
        SharedCache(3, CpuSet.parse("0-3,8-11"), 0),
        SharedCache(3, CpuSet.parse("4-7,12-15"), 1),
    )
    topology = Topology(SMT.cpus, SMT.numa_facts.values(), kubelet=KubeletFacts(caches, sockets=2))
    smaller = without(topology, CpuSet.parse("0,4-7,12-15"))
    assert smaller.online == CpuSet.parse("1-3,8-11")
    assert smaller.offline == CpuSet.parse("0,4-7,12-15")
    assert smaller.siblings(8) == CpuSet.parse("8")
    assert [str(cache.cpus) for cache in smaller.kubelet.caches] == ["1-3,8-11"]
    assert number_of_sockets(smaller) == 1
    assert without(topology, CpuSet()) is topology


@pytest.mark.parametrize(
    ("config", "version", "gates"),
    [
        ({"cpuManagerPolicyOptions": {"full-pcpus-only": "true"}}, (1, 33), None),
        (
            {"cpuManagerPolicyOptions": {"align-by-socket": "true"}},
            (1, 33),
            {"CPUManagerPolicyAlphaOptions": True},
        ),
        ({"cpuManagerPolicyOptions": {"strict-cpu-reservation": "true"}}, (1, 33), None),
        (
            {"topologyManagerPolicyOptions": {"prefer-closest-numa-nodes": "true"}},
            (1, 27),
            {"TopologyManagerPolicyAlphaOptions": True},
        ),
        (
            {
                "cpuManagerPolicyOptions": {"align-by-socket": "true"},
                "featureGates": {"CPUManagerPolicyAlphaOptions": False},
            },
            (1, 33),
            {"CPUManagerPolicyAlphaOptions": False},
        ),
    ],
)
def test_gates_of_alpha_options_are_taken_for_set(
    config: dict[str, Any], version: tuple[int, int], gates: dict[str, bool] | None
) -> None:
    assert with_gates(config, version).get("featureGates") == gates


def test_openshift_has_its_own_kubelet() -> None:
    assert planned(plan(target={"cpuPartitioning": True})).fork == (True, True)
    assert planned(plan()).fork == (True, False)
    assert planned(plan(platform="kubernetes", version="1.33")).fork == (False, False)


@pytest.mark.parametrize(
    ("platform", "version", "pods"), [("openshift", "4.20", 250), ("kubernetes", "1.33", 110)]
)
def test_nodes_take_as_many_pods_as_the_platform_says(
    platform: str, version: str, pods: int
) -> None:
    node = plan(SMT, reserved="0,8", platform=platform, version=version)
    assert planned(node).start().allocatable["pods"].value == pods


def test_an_intent_can_say_how_many_pods_a_node_takes() -> None:
    spec = {"kubelet": {"configuration": {"maxPods": 300}}}
    node = plan(SMT, reserved="0,8", platform="openshift", version="4.20", spec=spec)
    assert planned(node).start().allocatable["pods"].value == 300

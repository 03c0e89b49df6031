"""Planned nodes as their kubelets find them."""

import json
from typing import Any

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.topology import KubeletFacts, SharedCache, Topology
from cpuplan.simulate.planned import planned, with_recorded_memory
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


def memory_state(**totals: int) -> str:
    """A state file of two NUMA nodes that are alike."""
    tables = {name.replace("_", "-"): {"total": total} for name, total in totals.items()}
    nodes = {str(node): {"memoryMap": tables, "cells": [node]} for node in (0, 1)}
    return json.dumps({"policyName": "Static", "machineState": nodes})


@pytest.mark.parametrize(
    ("totals", "memory", "pages"),
    [
        # As every kubelet of x86 writes it, and after a boot that left a page less.
        ({"memory": 64 * GIB, "hugepages_2Mi": 0, "hugepages_1Gi": 0}, 64 * GIB, (2048, 1 << 20)),
        ({"memory": 64 * GIB - 4096, "hugepages_64Ki": 0}, 64 * GIB - 4096, (64,)),
        ({"memory": 61 * GIB}, 61 * GIB, ()),
        # Other modules, pages that the plan does not have, and a name that is no size.
        ({"memory": 32 * GIB}, 64 * GIB, ()),
        ({"memory": 64 * GIB, "hugepages_2Mi": GIB}, 64 * GIB, ()),
        ({"memory": 64 * GIB, "hugepages_many": 0}, 64 * GIB, ()),
        ({}, 64 * GIB, ()),
    ],
)
def test_memory_is_that_of_a_state_file_where_it_can_be(
    totals: dict[str, int], memory: int, pages: tuple[int, ...]
) -> None:
    facts = planned(plan(SMT, reserved="0,8"))
    changed, words = with_recorded_memory(facts, memory_state(**totals))
    for node in changed.machine.memory:
        assert (node.memory, node.hugepages) == (memory, tuple((size, 0) for size in pages))
    assert bool(words) == (memory != 64 * GIB)


def test_memory_that_nobody_tells_is_that_of_the_state_file() -> None:
    facts = planned(plan(regular(sockets=2, cores=4, memory=None), reserved="0"))
    text = memory_state(memory=16 * GIB)
    changed, _ = with_recorded_memory(facts, text, is_assumed=True)
    assert {node.memory for node in changed.machine.memory} == {16 * GIB}


@pytest.mark.parametrize("text", [None, "", "{", '{"machineState": {"0": {}}}'])
def test_without_the_same_numa_nodes_the_kubelet_says_what_is_wrong(text: str | None) -> None:
    facts = planned(plan(SMT, reserved="0,8"))
    assert with_recorded_memory(facts, text) == (facts, "")

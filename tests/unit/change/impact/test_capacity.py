"""What a node gives to pods, as the simulated kubelet says."""

from dataclasses import replace

from cpuplan.backends import of, state
from cpuplan.change.impact.comparison import (
    Capacity,
    NumaNode,
    Room,
    capacity,
    exclusive,
    rooms_for_pods,
)
from cpuplan.components.nri import balloons
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.expected.state import Expected
from tests import named_cases
from tests.machines.plans import plan, regular

TWO = regular(sockets=2, cores=8)


def expected(node: ConfiguredPlan) -> Expected:
    return state.of(node, of(node.node_class).on_node)


def aligned(reserved: str, policy: str = "single-numa-node") -> ConfiguredPlan:
    workloads = [{"name": "upf", "cpus": 3, "pods": 2}]
    spec = {"kubelet": {"topologyManagerPolicy": policy}, "workloads": workloads}
    return plan(TWO, reserved=reserved, platform="kubernetes", version="1.33", spec=spec)


def test_the_largest_pod_is_bounded_by_a_numa_node() -> None:
    rooms = capacity(expected(aligned("0,8")))
    assert rooms == Capacity(14, 7, (NumaNode(0, 7, 7), NumaNode(1, 7, 7)))
    assert exclusive(expected(aligned("0,8"))) == 14


def test_nothing_is_aligned_without_a_policy() -> None:
    rooms = capacity(expected(aligned("0,8", "none")))
    assert rooms == Capacity(14, 14, (NumaNode(0, 7, None), NumaNode(1, 7, None)))


def test_fewer_pods_of_a_workload_fit() -> None:
    before, after = aligned("0,8"), aligned("0-2,8")
    assert list(rooms_for_pods(after, expected(before), expected(after))) == [Room("upf", 2, 4, 3)]
    assert list(rooms_for_pods(after, expected(after), expected(after))) == []


def test_who_else_gives_out_cpus_is_told() -> None:
    node = named_cases.compiled("koordinator").plan.nodes[0]
    assert "Koordinator" in capacity(expected(node)).unknown
    assert exclusive(expected(node)) is None


def test_the_balloons_policy_is_asked() -> None:
    """What no partition and no QoS set has is for containers of their own."""
    node = named_cases.compiled("balloons").plan.nodes[0]
    own = balloons.unassigned(node)
    assert capacity(expected(node)).exclusive == exclusive(expected(node)) == len(own) > 0


def test_a_class_of_an_earlier_release_and_a_kubelet_that_does_not_start() -> None:
    assert "earlier release" in capacity(None).unknown
    node = expected(aligned("0,8"))
    gone = replace(node, topology=regular(cores=4))  # its configuration reserves CPU 8
    assert "does not start" in capacity(gone).unknown

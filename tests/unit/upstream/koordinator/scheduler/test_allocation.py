"""What a pod gets of a node. Rules: resource_manager.go, node_allocation.go."""

import pytest

from cpuplan.upstream.koordinator.extension.numa_aware import NumaNodeResource
from cpuplan.upstream.koordinator.nodenumaresource.cpu_accumulator import Wish
from cpuplan.upstream.koordinator.nodenumaresource.node_allocation import (
    NodeAllocation,
    PodAllocation,
)
from cpuplan.upstream.koordinator.nodenumaresource.resource_manager import Request, allocate
from cpuplan.upstream.koordinator.nodenumaresource.topology_options import TopologyOptions
from cpuplan.upstream.koordinator.nodenumaresource.util import StatusError
from cpuplan.upstream.kubernetes.bits import bits_of, parse_cpus, to_text
from cpuplan.upstream.kubernetes.pod import read_resources
from tests.machines.koordinator import machine

#: Node 0 has CPUs 0-7, node 1 has 8-15; the kubelet keeps CPUs 0 and 1.
ZONES = (
    NumaNodeResource(0, read_resources({"cpu": "6", "memory": "16Gi"})),
    NumaNodeResource(1, read_resources({"cpu": "8", "memory": "16Gi"})),
)


def _node(*pods: PodAllocation) -> NodeAllocation:
    node = NodeAllocation(TopologyOptions(machine(2, 1, 4), parse_cpus("0-1"), ZONES))
    for pod in pods:
        node.update(pod)
    return node


def _request(
    cpus: int,
    *nodes: int,
    memory: str = "1Gi",
    binds: bool = True,
    wish: Wish = Wish("FullPCPUs"),  # noqa: B008 (a value)
    required: bool = False,
) -> Request:
    needed = read_resources({"cpu": str(cpus), "memory": memory})
    hint = bits_of(nodes) if nodes else None
    return Request("p", needed, needed, cpus, binds, wish, required, "", ZONES, hint=hint)


def _given(allocation: PodAllocation) -> tuple[str, list[tuple[int, str, str]]]:
    zones = [
        (zone.node, str(zone.resources.get("cpu", "-")), str(zone.resources.get("memory", "-")))
        for zone in allocation.numa_nodes
    ]
    return to_text(allocation.cpus), zones


def test_reserved_cpus_and_those_of_pods_are_not_given() -> None:
    node = _node(PodAllocation("e", parse_cpus("2-3,8-9")))
    assert _given(allocate(node, _request(4))) == ("10-13", [])
    node.release("e")
    assert _given(allocate(node, _request(4))) == ("8-11", [])


def test_numa_nodes_of_the_hint() -> None:
    assert _given(allocate(_node(), _request(4, 0))) == ("2-5", [(0, "4", "1Gi")])
    divided = allocate(_node(), _request(6, 0, 1, memory="3"))
    assert _given(divided) == ("2-4,8-10", [(0, "3", "1"), (1, "3", "2")])


def test_unbound_cpus_are_divided_in_thousandths() -> None:
    divided = allocate(_node(), _request(5, 0, 1, binds=False))
    assert _given(divided) == ("", [(0, "2500m", "512Mi"), (1, "2500m", "512Mi")])


def test_whole_cores_are_divided_where_they_are_required() -> None:
    divided = allocate(_node(), _request(6, 0, 1, required=True))
    assert _given(divided)[1] == [(0, "2", "512Mi"), (1, "4", "512Mi")]


def test_a_required_spread_leaves_the_siblings_of_its_own() -> None:
    spread = _request(8, wish=Wish("SpreadByPCPUs"), required=True)
    with pytest.raises(StatusError, match=r"^not enough cpus available to satisfy request\Z"):
        allocate(_node(), spread)
    assert _given(allocate(_node(), spread._replace(cpus=7))) == ("2,4,6,8,10,12,14", [])


@pytest.mark.parametrize(
    ("request_", "reasons"),
    [
        (_request(8, 0, memory="32Gi"), ("Insufficient NUMA cpu", "Insufficient NUMA memory")),
        (_request(15), ("not enough cpus available to satisfy request",)),
    ],
)
def test_refusals(request_: Request, reasons: tuple[str, ...]) -> None:
    with pytest.raises(StatusError) as refusal:
        allocate(_node(), request_)
    assert (refusal.value.code, refusal.value.reasons) == ("Unschedulable", reasons)


def test_pods_without_cpus_use_numa_nodes_too() -> None:
    shared = PodAllocation("ls", 0, "", (NumaNodeResource(0, read_resources({"cpu": "3"})),))
    with pytest.raises(StatusError, match="Insufficient NUMA cpu"):
        allocate(_node(shared), _request(4, 0))


def test_bound_cpus_count_amplified() -> None:
    """6 CPUs of zone 0 are 9 at a ratio of 1.5; a pod on 2 of them has 3."""
    bound = NumaNodeResource(0, read_resources({"cpu": "2"}))
    node = _node(PodAllocation("e", parse_cpus("2-3"), "", (bound,)))
    zone = NumaNodeResource(0, read_resources({"cpu": "9"}))
    left, _ = node.numa_resources((zone,), 1.5)
    assert str(left[0]["cpu"]) == "6"


def test_statuses() -> None:
    node = _node(PodAllocation("a", parse_cpus("2")), PodAllocation("b", parse_cpus("10")))
    assert node.statuses(3) == ["single", "single", "idle"]
    node.update(PodAllocation("c", parse_cpus("3,11")))
    assert node.statuses(2) == ["shared", "shared"]
    node.release("c")
    assert node.statuses(2) == ["single", "single"]


def test_nothing_is_noted_on_a_node_whose_cpus_are_not_known() -> None:
    node = NodeAllocation(TopologyOptions())
    node.update(PodAllocation("a", parse_cpus("2")))
    assert node.pods == {}

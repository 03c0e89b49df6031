"""A scheduler with NodeResourceTopologyMatch before the planned kubelet."""

from typing import Any

import pytest

from cpuplan.base.topology import Cpu, NumaNodeFacts, Topology
from cpuplan.plan import ConfiguredPlan
from cpuplan.simulate import fleet
from cpuplan.simulate.allocators.base import PANIC, UNSCHEDULABLE, UnfitError
from cpuplan.simulate.allocators.topologyaware import TopologyAwareAllocator
from cpuplan.simulate.fleet import Result, Starter
from cpuplan.simulate.manifests import Item
from cpuplan.simulate.planned import planned
from cpuplan.upstream.kubernetes.pod import Pod, read_pod
from cpuplan.upstream.nrt.filter import judge_node
from tests.machines.plans import GIB, plan, regular
from tests.machines.pods import guaranteed

TWO = regular(sockets=2, cores=4, threads=2)
KUBERNETES: dict[str, Any] = {"platform": "kubernetes", "version": "1.36"}
START = Starter(TopologyAwareAllocator)


def node(reserved: str = "0,8", facts: Any = None, **kubelet: Any) -> ConfiguredPlan:
    """Two NUMA nodes of four cores with two threads."""
    aligned = {"topologyManagerPolicy": "single-numa-node", "memoryManagerPolicy": "Static"}
    spec = {"kubelet": {**aligned, **kubelet}}
    return plan(TWO, reserved=reserved, spec=spec, facts=facts, **KUBERNETES)


def refusals(of: ConfiguredPlan, *sizes: int) -> list[str]:
    """Why pods of these sizes are refused, one after the other; empty where they are not."""
    allocator = TopologyAwareAllocator(planned(of))
    admitted = [allocator.admit(guaranteed(str(n), size)) for n, size in enumerate(sizes)]
    return [admission.refused.reason if admission.refused else "" for admission in admitted]


def test_the_filter_refuses_what_the_kubelet_would() -> None:
    assert refusals(node(), 6, 8, 2) == ["", "", UNSCHEDULABLE]


@pytest.mark.parametrize("exporter", ["resource-topology-exporter", "node-feature-discovery"])
def test_what_pods_have_is_published(exporter: str) -> None:
    allocator = TopologyAwareAllocator(
        planned(node(facts={"nodeResourceTopology": {"exporter": exporter}}))
    )
    allocator.admit(guaranteed("a", 4))
    zones = allocator.zones()
    available = [
        item["available"] for zone in zones for item in zone["resources"] if item["name"] == "cpu"
    ]
    assert available == ["2", "8"]


def test_the_kubelet_refuses_what_the_filter_does_not_see() -> None:
    """Other policies pass the filter; whole cores are no part of the object."""
    restricted = node(topologyManagerPolicy="restricted")
    assert refusals(restricted, 4, 5, 5) == ["", "", "TopologyAffinityError"]
    whole = node(cpuManagerPolicyOptions={"full-pcpus-only": "true"})
    assert refusals(whole, 3) == ["SMTAlignmentError"]


def placed(result: Result) -> dict[str, list[str]]:
    names = {}
    for node in result.nodes:
        names[node.nodes[0]] = [outcome.pod.uid for outcome in node.outcome.outcomes]
    return names


def test_pods_go_to_the_best_node_whose_kubelet_has_the_last_word() -> None:
    """Least allocated: the two nodes take turns, though all pods fit on the first one."""
    items = [Item(guaranteed(str(number), 2)) for number in range(4)]
    result = fleet.spread([(node(), ("a", "b"))], items, START)
    assert placed(result) == {"a": ["0", "2"], "b": ["1", "3"]}
    whole = node(cpuManagerPolicyOptions={"full-pcpus-only": "true"})
    (of_a, of_b) = fleet.spread([(whole, ("a", "b"))], [Item(guaranteed("odd", 3))], START).nodes
    assert [bool(node.outcome.outcomes) for node in (of_a, of_b)] == [True, False]
    assert of_a.outcome.outcomes[0].refused


def test_without_memory_in_zones_nothing_passes() -> None:
    """Not even pods that are not Guaranteed: memory is no resource that may be on no NUMA node."""
    assert refusals(node(memoryManagerPolicy="None"), 1) == [UNSCHEDULABLE]
    burstable = read_pod(
        {
            "metadata": {"name": "b", "uid": "b"},
            "spec": {"containers": [{"name": "c", "resources": {"requests": {"memory": "1Mi"}}}]},
        }
    )
    allocator = TopologyAwareAllocator(planned(node(memoryManagerPolicy="None")))
    assert allocator.admit(burstable).refused


def test_a_pod_that_no_node_passes() -> None:
    (pod,) = fleet.spread([(node(), ("a", "b"))], [Item(guaranteed("large", 9))], START).nowhere
    assert pod.outcome.refused
    assert pod.outcome.refused.message == "NodeResourceTopologyMatch: cannot align container"


def _with_pod_resources() -> Pod:
    resources = {"cpu": "2", "memory": "1Gi"}
    spec = {
        "containers": [{"name": "c"}],
        "resources": {"requests": resources, "limits": resources},
    }
    return read_pod({"metadata": {"name": "p", "uid": "p"}, "spec": spec})


def test_bug_pod_level_resources_crash_the_scheduler() -> None:
    allocator = TopologyAwareAllocator(planned(node()))
    refused = allocator.admit(_with_pod_resources()).refused
    assert refused
    assert refused.reason == PANIC
    assert "integer divide by zero" in refused.message


def test_bug_koordlets_objects_never_change() -> None:
    """It publishes all CPUs as available, so what is full passes the filter."""
    facts = {"nodeResourceTopology": {"exporter": "koordlet"}}
    assert refusals(node(facts=facts), 6, 8, 1) == ["", "", "TopologyAffinityError"]


def test_numbers_with_gaps_are_refused() -> None:
    spec = {"kubelet": {"topologyManagerPolicy": "best-effort"}}
    cpus = [Cpu(cpu, cpu, cpu, 0, 2 * cpu, cpu, 0) for cpu in range(2)]
    machine = Topology(cpus, [NumaNodeFacts(0, GIB), NumaNodeFacts(2, GIB)])
    with pytest.raises(UnfitError, match="gaps"):
        TopologyAwareAllocator(planned(plan(machine, reserved="0", spec=spec, **KUBERNETES)))


def test_the_first_object_is_the_expected_one() -> None:
    """The scheduler reads of an empty node what is compiled as expected."""
    of = node()
    allocator = TopologyAwareAllocator(planned(of))
    first = {zone["name"]: zone["resources"] for zone in allocator.zones()}
    for zone in ("node-0", "node-1"):
        expected = of.settings.of("nrt")
        (value,) = [
            setting.value for setting in expected if setting.key == f"zones.{zone}.resources.cpu"
        ]
        (cpu,) = [item for item in first[zone] if item["name"] == "cpu"]
        assert value == {key: text for key, text in cpu.items() if key != "name"}
    assert judge_node(allocator.published(), allocator.kubelet.allocatable, guaranteed("a", 1), "")

"""Manifests on several nodes."""

from cpuplan.plan import ConfiguredPlan
from cpuplan.simulate import fleet
from cpuplan.simulate.allocators.base import Admission
from cpuplan.simulate.allocators.kubelet import KubeletAllocator
from cpuplan.simulate.fleet import Result, Starter
from cpuplan.simulate.manifests import Item
from cpuplan.upstream.kubernetes.pod import Pod
from tests.machines.plans import plan, regular
from tests.machines.pods import guaranteed

SMALL = plan(regular(cores=8), reserved="0", platform="kubernetes", version="1.36")
LARGE = plan(regular(cores=16), reserved="0", platform="kubernetes", version="1.36")


def pods(*sizes: int) -> list[Item]:
    return [Item(guaranteed(f"{number}-of-{size}", size)) for number, size in enumerate(sizes)]


def placed(result: Result) -> dict[str, list[str]]:
    """Who is on which node."""
    names = {}
    for node in result.nodes:
        names[node.nodes[0]] = [outcome.pod.uid for outcome in node.outcome.outcomes]
    return names


START = Starter(KubeletAllocator)
FLEET: list[tuple[ConfiguredPlan, tuple[str, ...]]] = [(SMALL, ("a", "b")), (LARGE, ("c",))]


def test_a_pod_goes_to_the_first_node_that_admits_it() -> None:
    result = fleet.spread(FLEET, pods(4, 4, 9, 3, 3), START)
    assert placed(result) == {"a": ["0-of-4", "3-of-3"], "b": ["1-of-4", "4-of-3"], "c": ["2-of-9"]}
    assert result.is_complete
    assert not result.refuses
    assert [
        node.outcome.remainder.left and node.outcome.remainder.left.largest for node in result.nodes
    ] == [0, 0, 6]


def test_a_pod_that_nobody_admits_is_refused_once() -> None:
    result = fleet.spread(FLEET, pods(8, 16, 8), START)
    assert placed(result) == {"a": [], "b": [], "c": ["0-of-8"]}
    assert [waiting.outcome.pod.uid for waiting in result.nowhere] == ["1-of-16", "2-of-8"]
    assert {waiting.node for waiting in result.nowhere} == {"c"}
    assert result.refuses


def test_the_last_node_of_each_class_says_why() -> None:
    whole = {"kubelet": {"cpuManagerPolicyOptions": {"full-pcpus-only": "true"}}}
    smt = plan(regular(cores=4, threads=2), reserved="0,4", spec=whole, platform="kubernetes")
    classes = [(SMALL, ("a", "b")), (smt, ("c", "d"))]
    (pod,) = fleet.spread(classes, pods(9), START).nowhere
    reasons = [(node, outcome.refused and outcome.refused.reason) for node, outcome in pod.refusals]
    assert reasons == [("b", "UnexpectedAdmissionError"), ("d", "SMTAlignmentError")]


def test_daemon_sets_come_to_every_node() -> None:
    result = fleet.spread(FLEET, [Item(guaranteed("agent", 8), on_each_node=True)], START)
    refused = {node.nodes[0]: bool(node.outcome.outcomes[0].refused) for node in result.nodes}
    assert refused == {"a": True, "b": True, "c": False}
    assert result.refuses


def test_all_pods_on_each_are_run_once_a_class() -> None:
    result = fleet.on_each(FLEET, pods(4, 4), START)
    refused = {}
    for node in result.nodes:
        refused[node.nodes] = [bool(of_pod.refused) for of_pod in node.outcome.outcomes]
    assert list(refused.items()) == [
        (("a", "b"), [False, True]),
        (("c",), [False, False]),
    ]


class Counting(KubeletAllocator):
    """Counts the admissions of all nodes of a class."""

    asked = 0

    def admit(self, pod: Pod) -> Admission:
        type(self).asked += 1
        return super().admit(pod)


def test_distinct_pods_do_not_ask_the_kubelets_of_full_nodes() -> None:
    """Each pod fills a node: without the scheduler's filter there would be 820 admissions."""
    nodes = tuple(f"node-{number}" for number in range(40))
    items = [Item(guaranteed(f"pod-{number}", 7)._replace(priority=number)) for number in range(40)]
    Counting.asked = 0
    plans: list[tuple[ConfiguredPlan, tuple[str, ...]]] = [(SMALL, nodes)]
    result = fleet.spread(plans, items, Starter(Counting))
    assert all(len(uids) == 1 for uids in placed(result).values())
    probes_of_a_node = 2
    assert Counting.asked <= 40 + 40 * probes_of_a_node

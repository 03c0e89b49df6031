"""Koordinator on planned nodes: what pods get, why they are refused, what is left."""

from typing import Any

import pytest

from cpuplan.simulate import admission, fleet, startup
from cpuplan.simulate.admission import NodeOutcome
from cpuplan.simulate.allocators import koordinator
from cpuplan.simulate.allocators.base import Refusal
from cpuplan.simulate.allocators.koordinator import KoordinatorAllocator
from cpuplan.simulate.allocators.kubelet import KubeletAllocator
from cpuplan.simulate.allocators.registry import start_koordinator, start_kubelet
from cpuplan.simulate.fleet import Starter
from cpuplan.simulate.manifests import Item
from cpuplan.simulate.planned import planned
from cpuplan.upstream.kubernetes.bits import to_text
from cpuplan.upstream.kubernetes.pod import Pod
from tests.machines.plans import plan, regular
from tests.machines.pods import container, guaranteed, named, pod
from tests.unit.simulate.allocators.test_base import Admitting

_TARGET = {"platform": "kubernetes", "version": "1.35", "mechanism": "koordinator"}
QOS = "koordinator.sh/qosClass"
PART = "the requested CPUs are not multiple cpus per core"


def _plan(koordinator: dict[str, Any] | None = None, **given: Any) -> Any:
    """A machine with two NUMA nodes of eight CPUs; 0 and 8 are siblings, both reserved."""
    spec = {"targets": [_TARGET], "koordinator": koordinator or {}, **given}
    return plan(regular(sockets=2, cores=4, threads=2), reserved="0,8", spec=spec)


def _start(koordinator: dict[str, Any] | None = None, **given: Any) -> KoordinatorAllocator:
    return KoordinatorAllocator(planned(_plan(koordinator, **given)))


def _pod(name: str, cpus: int, qos: str = "LSR") -> Pod:
    return guaranteed(name, cpus)._replace(labels={QOS: qos}, priority_class="koord-prod")


def _unlabelled(name: str) -> Pod:
    return named(name, pod(container("500m", "1Gi")))


def _rows(outcome: NodeOutcome) -> list[tuple[str, str]]:
    rows = []
    for of_pod in outcome.outcomes:
        cpus = [to_text(container.cpus) for container in of_pod.containers]
        rows.append((of_pod.qos, of_pod.refused.reason if of_pod.refused else ",".join(cpus)))
    return rows


def test_bound_pods_and_pools() -> None:
    best_effort = named("idle", pod({"name": "main"}))
    pods = [_pod("lse", 2, "LSE"), _pod("lsr", 2), _unlabelled("web"), best_effort]
    outcome = admission.run(_start(), pods)
    assert _rows(outcome) == [
        ("LSE", "4,12"),
        ("LSR", "1,9"),
        ("Guaranteed", "2-3,5-7,10-11,13-15"),
        ("BestEffort", "1-3,5-7,9-11,13-15"),
    ]
    assert to_text(outcome.remainder.shared_pool) == "2-3,5-7,10-11,13-15"
    assert outcome.remainder.left is not None
    # 10 CPUs are free, but the kubelet counts the requests of all pods.
    assert outcome.remainder.left.largest == 9


def test_a_numa_node_without_free_cpus_leaves_the_pool_of_others() -> None:
    """koordlet joins the pools with commas, also empty ones; the kernel skips what is empty."""
    full = [_pod(f"p{index}", 2, "LSE") for index in range(3)]
    outcome = admission.run(_start(), [*full, _pod("q", 4, "LSE"), _unlabelled("web")])
    assert outcome.outcomes[-1].containers[0].cpus == outcome.remainder.shared_pool
    assert outcome.remainder.shared_pool.bit_count() == 4


@pytest.mark.parametrize(
    ("given", "koordinator", "refused"),
    [
        pytest.param(
            guaranteed("p", 2)._replace(labels={QOS: "LSR"}),
            {},
            "Denied: Pod: Forbidden: koordinator.sh/qosClass=LSR and priorityClass= cannot be "
            "used in combination",
            id="without a priority class",
        ),
        pytest.param(
            _pod("p", 3),
            {"cpuBindPolicy": "FullPCPUsOnly"},
            "Unschedulable: koord-scheduler: node(s) requested cpus not multiple cpus per core",
            id="a part of a core",
        ),
        pytest.param(
            _pod("p", 9),
            {"numaTopologyPolicy": "SingleNUMANode"},
            "Unschedulable: koord-scheduler: Unaligned NUMA Hint cause cpu prefer [11] among [11],"
            "memory prefer [11] among [11]",
            id="more than a NUMA node has",
        ),
    ],
)
def test_refusals(given: Pod, koordinator: dict[str, Any], refused: str) -> None:
    (outcome,) = admission.run(_start(koordinator), [given]).outcomes
    assert outcome.refused is not None
    assert f"{outcome.refused.reason}: {outcome.refused.message}" == refused


def test_profiles_give_classes_to_pods() -> None:
    workload = {"name": "feed", "matchLabels": {"app": "feed"}, "qosClass": "LSE"}
    allocator = _start({"workloads": [workload]})
    feed = guaranteed("feed", 2)._replace(labels={"app": "feed"})
    outcome = admission.run(allocator, [feed, guaranteed("other", 2)])
    assert _rows(outcome) == [("LSE", "4,12"), ("Guaranteed", "1-3,5-7,9-11,13-15")]


def test_any_order() -> None:
    """Four and two CPUs of different NUMA nodes leave six on neither."""
    fits = [_pod("a", 2), _pod("b", 6)]
    allocator = _start({"numaTopologyPolicy": "SingleNUMANode"})
    before = allocator.key()
    assert admission.any_order(allocator, fits).is_proven
    answer = admission.any_order(allocator, [*fits, _pod("c", 4)])
    assert [failing.uid for failing in answer.failing] == ["c", "a", "b"]
    assert allocator.key() == before


def test_a_pod_that_ends_gives_its_cpus_back() -> None:
    allocator = _start()
    start = allocator.key()
    outcome = admission.run(allocator, [_pod("a", 2), _pod("b", 2)], ["a", "b"])
    assert [departure.uid for departure in outcome.departures] == ["a", "b"]
    assert allocator.key() == start


def test_an_amplified_node_offers_more_but_no_more_cpus() -> None:
    """14 CPUs count as 28; each that is bound counts twice."""
    allocator = _start({"cpuAmplificationRatio": "2"})
    pods = [_pod("bound", 10), guaranteed("shared", 8), _pod("last", 2)]
    reasons = [row for _, row in _rows(admission.run(allocator, pods))]
    assert reasons[1:] == ["2-3,10-11", "Unschedulable"]


@pytest.mark.parametrize(("asked", "fits"), [("15400m", True), ("15401m", False)])
def test_what_an_amplified_node_offers_is_cut_off(asked: str, fits: bool) -> None:
    """14 CPUs times 1.1 are a little more than 15400m as float64, and koord-manager cuts."""
    allocator = _start({"cpuAmplificationRatio": "1.1"})
    (outcome,) = admission.run(allocator, [named("most", pod(container(asked, "1Gi")))]).outcomes
    assert (outcome.refused is None) == fits


def test_the_kubelets_static_policy_does_not_know_what_the_scheduler_gave() -> None:
    allocator = _start(kubelet={"cpuManagerPolicy": "static"})
    outcome = admission.run(allocator, [_pod("bound", 2), guaranteed("plain", 8)])
    overlap = outcome.remainder.overlap
    assert overlap is not None
    assert (overlap.pod, overlap.other) == ("plain", "bound")
    later = admission.run(_start(kubelet={"cpuManagerPolicy": "static"}), [guaranteed("plain", 4)])
    assert later.remainder.left is not None
    assert later.remainder.left.cpus.bit_count() == 10


def test_pods_go_to_the_first_node_that_is_not_filtered_out() -> None:
    chosen = [(_plan(), ("a", "b")), (_plan({"cpuBindPolicy": "FullPCPUsOnly"}), ("c",))]
    items = [Item(_pod(name, size)) for name, size in (("x", 9), ("y", 9), ("z", 5), ("w", 9))]
    result = fleet.spread(chosen, items, Starter(start_koordinator))
    pods_by_node = {}
    for node in result.nodes:
        pods_by_node[node.nodes[0]] = [of_pod.pod.uid for of_pod in node.outcome.outcomes]
    assert pods_by_node == {"a": ["x", "z"], "b": ["y"], "c": []}
    (nowhere,) = result.nowhere
    messages = [outcome.refused and outcome.refused.message for _, outcome in nowhere.refusals]
    assert messages == [
        "koord-scheduler: not enough cpus available to satisfy request",
        "koord-scheduler: node(s) requested cpus not multiple cpus per core",
    ]


def test_counterparts() -> None:
    """The same promise in each one's words, as far as there is one."""
    strict = {
        "cpuManagerPolicyOptions": {"full-pcpus-only": "true"},
        "topologyManagerPolicy": "single-numa-node",
    }
    kubelet = plan(
        regular(sockets=2, cores=4, threads=2),
        reserved="0,8",
        spec={"targets": [{"platform": "kubernetes", "version": "1.35"}], "kubelet": strict},
    )
    theirs = start_koordinator(planned(kubelet))
    assert isinstance(theirs, KoordinatorAllocator)
    assert theirs.inputs.labels == {
        "node.koordinator.sh/cpu-bind-policy": "FullPCPUsOnly",
        "node.koordinator.sh/numa-topology-policy": "SingleNUMANode",
    }
    assert to_text(theirs.node.options.reserved) == "0,8"
    own = start_kubelet(
        planned(_plan({"cpuBindPolicy": "FullPCPUsOnly", "numaTopologyPolicy": "Restricted"}))
    )
    assert isinstance(own, KubeletAllocator)
    config = own.kubelet.config
    assert config["cpuManagerPolicyOptions"] == {"full-pcpus-only": "true"}
    assert (config["cpuManagerPolicy"], config["topologyManagerPolicy"]) == ("static", "restricted")


def test_who_writes_a_status_by_hand_has_the_cpus() -> None:
    """koordlet binds the pod, whatever its class, and the scheduler sees the CPUs taken."""
    status = {"scheduling.koordinator.sh/resource-status": '{"cpuset": "4,12"}'}
    pods = [guaranteed("squatter", 2)._replace(annotations=status), _pod("bound", 2)]
    assert _rows(admission.run(_start(), pods)) == [("Guaranteed", "4,12"), ("LSR", "1,9")]


def test_a_status_that_nobody_can_read_binds_nothing() -> None:
    status = {"scheduling.koordinator.sh/resource-status": "{"}
    pods = [guaranteed("odd", 2)._replace(annotations=status)]
    assert _rows(admission.run(_start(), pods)) == [("Guaranteed", "0-15")]


def test_workloads_of_the_intent_are_lsr_pods() -> None:
    workloads = [{"name": "feed", "cpus": 6}, {"name": "match", "cpus": 7}]
    fits = _plan(workloads=workloads)
    assert startup.check(fits, lambda _: None) == []
    strict = _plan({"numaTopologyPolicy": "SingleNUMANode"}, workloads=workloads)
    (refused,) = startup.check(strict, lambda _: None)
    assert refused.code == "CP712"
    assert "koord-scheduler: Unaligned NUMA Hint" in refused.message


def test_many_masks_are_counted() -> None:
    eight = plan(
        regular(sockets=8, cores=2),
        reserved="0",
        spec={"targets": [_TARGET], "koordinator": {"numaTopologyPolicy": "SingleNUMANode"}},
    )
    (outcome,) = admission.run(start_koordinator(planned(eight)), [_pod("p", 3)]).outcomes
    assert outcome.refused is not None
    shortened = "cpu prefer [28 masks] among [247 masks],memory prefer [28 masks] among [247 masks]"
    assert outcome.refused.message == f"koord-scheduler: Unaligned NUMA Hint cause {shortened}"


def test_the_largest_request_is_explained() -> None:
    outcome = admission.run(_start({"numaTopologyPolicy": "SingleNUMANode"}), [_pod("p", 2)])
    left = outcome.remainder.left
    assert left is not None
    assert (left.cpus.bit_count(), left.largest) == (12, 6)
    assert left.because == "no NUMA node has 7 free CPUs, which SingleNUMANode requires"


@pytest.mark.parametrize(
    ("sizes", "reasons", "tried", "reason"),
    [
        ((), "no room", [3], "no room"),
        ((), PART, [3, 4, 5, 6], PART),
        ((3, 4, 5, 6), "", [3, 4, 5, 6], ""),
        ((4,), PART, [3, 4, 5, 6], PART),
    ],
)
def test_parts_of_cores_count_where_nothing_else_is_in_the_way(
    sizes: tuple[int, ...], reasons: str, tried: list[int], reason: str
) -> None:
    """Of requests above two, up to the most that are free."""
    asked: Any = Admitting(*sizes, other=Refusal("Unschedulable", reasons))
    assert koordinator._because(asked, 2, 6) == reason
    assert asked.tried == tried

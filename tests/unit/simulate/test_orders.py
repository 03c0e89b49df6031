"""Every order of arrival: proven, refuted, or given up."""

from typing import Any

from cpuplan.simulate import admission
from cpuplan.simulate.allocators.kubelet import KubeletAllocator
from cpuplan.simulate.planned import planned
from cpuplan.solve import budget
from cpuplan.upstream.kubernetes.pod import Pod
from tests.machines.plans import plan, regular
from tests.machines.pods import container, guaranteed, named, pod


def node(**fields: Any) -> KubeletAllocator:
    """Two NUMA nodes of eight CPUs, one of each reserved."""
    topology = regular(sockets=2, cores=8)
    spec = {"kubelet": {"memoryManagerPolicy": "None", **fields}}
    made = plan(topology, reserved="0,8", platform="kubernetes", version="1.36", spec=spec)
    return KubeletAllocator(planned(made))


def pods(*sizes: int) -> list[Pod]:
    return [guaranteed(f"{number}-of-{size}", size) for number, size in enumerate(sizes)]


SINGLE = {
    "topologyManagerPolicy": "single-numa-node",
    "cpuManagerPolicyOptions": {"full-pcpus-only": "false"},
}


def test_what_fits_together_fits_in_every_order() -> None:
    answer = admission.any_order(node(), pods(2, 2, 2, 4, 4))
    assert answer.is_proven
    # 5! orders, of which equal pods and equal moments are one
    assert answer.moments < answer.tried < 120


def test_an_order_that_fails_is_shown() -> None:
    # 4 and 3 on each node fit; 3 and 3 on one leave 1, and the second 4 finds no node.
    answer = admission.any_order(node(**SINGLE), pods(4, 4, 3, 3))
    assert not answer.is_proven
    assert [pod.uid.partition("-of-")[2] for pod in answer.failing] == ["3", "3", "4", "4"]
    assert answer.refused == (
        "TopologyAffinityError",
        "Resources cannot be allocated with Topology locality",
    )


def test_the_failing_order_fails_when_it_is_run() -> None:
    answer = admission.any_order(node(**SINGLE), pods(4, 4, 3, 3))
    again = node(**SINGLE)
    for before in answer.failing[:-1]:
        assert not again.admit(before).refused
    assert again.admit(answer.failing[-1]).refused == answer.refused


def test_a_large_search_ends_at_the_limit_of_work() -> None:
    with budget.limited(0.003):
        answer = admission.any_order(node(), pods(1, 2, 3, 4))
    assert (answer.is_proven, answer.refused) == (False, None)
    assert 4 < answer.tried < 20
    assert 0 < int(answer.works) < int(answer.orders) == 24
    assert answer.limit == "0.003 seconds"


def test_a_proof_counts_every_order() -> None:
    answer = admission.any_order(node(), pods(1, 2, 2, 2, 4))
    assert (answer.is_proven, answer.works, answer.orders) == (True, "20", "20")


def test_of_very_many_orders_the_number_is_about_known() -> None:
    with budget.limited(0.003):
        answer = admission.any_order(node(), pods(*[1] * 4000, *[2] * 4000))
    assert answer.orders == "about 10^2406"


def test_init_containers_leave_nothing_to_another_attempt() -> None:
    initial = named("init", pod(container("7", "1Gi"), init=(container("7", "1Gi"),)))
    started = node(**SINGLE)
    before = started.kubelet.stop()
    answer = admission.any_order(started, [initial, *pods(7)])
    assert answer.is_proven
    assert started.kubelet.stop() == before


def test_no_pods_fit_in_every_order() -> None:
    assert admission.any_order(node(), []).is_proven

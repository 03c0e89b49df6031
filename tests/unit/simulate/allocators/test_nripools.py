"""The planned topology-aware NRI policy: where containers run, and what it refuses."""

from typing import Any

from cpuplan.simulate import admission, startup
from cpuplan.simulate.allocators import KUBELET
from cpuplan.simulate.allocators.nri import NOT_CREATED
from cpuplan.simulate.allocators.nri_pools import PoolsAllocator
from cpuplan.simulate.allocators.registry import ALLOCATORS
from cpuplan.simulate.planned import planned
from cpuplan.upstream.kubelet.kubelet import Node
from cpuplan.upstream.kubernetes.bits import to_text
from cpuplan.upstream.kubernetes.pod import Pod
from cpuplan.upstream.nri.topologyaware.pod_preferences import PREFER_SHARED, REQUIRE_ISOLATED
from tests.machines.plans import no_position, plan, regular
from tests.machines.pods import container, guaranteed, named, pod

SMT = regular(sockets=2, cores=4, threads=2)  # node 0: 0-3,8-11; node 1: 4-7,12-15


def configured(**spec: Any) -> Any:
    return plan(
        SMT,
        reserved="0,8",
        platform="kubernetes",
        version="1.36",
        target={"mechanism": "topology-aware"},
        spec=spec,
    )


def node_of(**spec: Any) -> PoolsAllocator:
    allocator = ALLOCATORS[KUBELET].start(planned(configured(**spec)), Node())
    assert isinstance(allocator, PoolsAllocator)
    return allocator


def annotated(made: Pod, key: str, value: str) -> Pod:
    return made._replace(annotations={f"{key}/container.a": value})


def test_exclusive_cpus_come_from_one_socket_and_others_share_the_rest() -> None:
    run = admission.run(node_of(), [named("o", pod(container("100m"))), guaranteed("own", 4)])
    placed = {outcome.pod.uid: outcome.containers[0] for outcome in run.outcomes}
    assert to_text(placed["own"].cpus) == "4-5,12-13"
    assert placed["own"].is_exclusive
    assert placed["own"].numa_nodes == (1,)
    assert not placed["o"].is_exclusive
    assert placed["o"].cpus & placed["own"].cpus == 0
    assert run.remainder.left is not None


def test_a_mixed_container_shares_its_fraction() -> None:
    mixed = annotated(guaranteed("m", "2500m"), PREFER_SHARED, "false")
    (placed,) = admission.run(node_of(), [mixed]).outcomes[0].containers
    assert not placed.is_exclusive
    assert placed.cpus.bit_count() > 3


def test_a_container_without_isolated_cpus_is_refused_and_leaves_nothing() -> None:
    allocator = node_of()
    before = allocator.key()
    refused = allocator.admit(annotated(guaranteed("r", 2), REQUIRE_ISOLATED, "true")).refused
    assert refused is not None
    assert refused.reason == NOT_CREATED
    assert refused.message.endswith('granted isolated CPUs "" less than requested 2')
    assert allocator.key() == before


def test_a_moment_can_be_restored() -> None:
    allocator = node_of()
    allocator.admit(guaranteed("a", 4))
    moment, key = allocator.take(), allocator.key()
    allocator.admit(guaranteed("b", 4))
    allocator.admit(named("o", pod(container("100m"))))
    allocator.remove("a")
    assert allocator.key() != key
    allocator.restore(moment)
    assert allocator.key() == key
    (placed,) = allocator.place(guaranteed("a", 4))
    assert to_text(placed.cpus) == "4-5,12-13"


def test_all_orders_can_be_proved() -> None:
    pods = [guaranteed("a", 4), guaranteed("b", 4), named("o", pod(container("100m")))]
    assert admission.any_order(node_of(), pods).is_proven


def test_workloads_without_room_are_found() -> None:
    crowded = configured(workloads=[{"name": "upf", "cpus": 8, "pods": 2}])
    codes = {problem.code for problem in startup.check(crowded, no_position)}
    assert "CP712" in codes

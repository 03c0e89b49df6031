"""The planned balloons policy: where containers run, and what it refuses."""

from typing import Any

from cpuplan.components.nri.balloons import ANNOTATION
from cpuplan.simulate import admission, startup, workloads
from cpuplan.simulate.allocators import KUBELET
from cpuplan.simulate.allocators.nri import NOT_CREATED
from cpuplan.simulate.allocators.nri_balloons import BalloonsAllocator
from cpuplan.simulate.allocators.registry import ALLOCATORS
from cpuplan.simulate.planned import planned
from cpuplan.upstream.kubelet.kubelet import Node
from cpuplan.upstream.kubernetes.bits import to_text
from cpuplan.upstream.kubernetes.pod import Pod
from tests.machines.plans import no_position, plan, regular
from tests.machines.pods import container, guaranteed, named, pod

SMT = regular(sockets=2, cores=4, threads=2)  # node 0: 0-3,8-11; node 1: 4-7,12-15


def node_of(**spec: Any) -> BalloonsAllocator:
    """Core 0 is reserved, node 1 is a partition; 1-3,9-11 are left."""
    allocator = ALLOCATORS[KUBELET].start(planned(configured(**spec)), Node())
    assert isinstance(allocator, BalloonsAllocator)
    return allocator


def configured(**spec: Any) -> Any:
    return plan(
        SMT,
        reserved="0,8",
        platform="kubernetes",
        version="1.36",
        target={"mechanism": "balloons"},
        sets={"isolated.dpdk": "4-7,12-15"},
        spec=spec,
    )


def inside(uid: str, *containers: dict[str, Any], partition: str = "isolated.dpdk") -> Pod:
    made = named(uid, pod(*containers))
    return made._replace(name=uid, annotations={ANNOTATION: partition})


def cpus(allocator: BalloonsAllocator, *pods: Pod) -> dict[str, str]:
    """The CPUs of each container after all pods have come."""
    run = admission.run(allocator, pods)
    return {
        f"{outcome.pod.uid}/{container.name}": to_text(container.cpus)
        for outcome in run.outcomes
        for container in outcome.containers
    }


def test_pods_run_where_their_annotation_says() -> None:
    small, large = container("100m"), container("3")
    placed = cpus(
        node_of(), inside("in", small, large), guaranteed("own", 2), named("o", pod(small))
    )
    assert placed["in/a"] == placed["in/b"] == "4-7,12-15"
    assert placed["own/a"] == "1,9"
    assert placed["o/a"] == "2-3,10-11"


def test_only_containers_alone_in_a_balloon_of_their_own_are_exclusive() -> None:
    allocator = node_of()
    run = admission.run(allocator, [inside("in", container("1")), guaranteed("own", 2)])
    flags = [container.is_exclusive for outcome in run.outcomes for container in outcome.containers]
    assert flags == [False, True]
    assert run.remainder.left is not None
    assert run.remainder.left.largest == 4


def test_others_move_when_a_container_takes_idle_cpus() -> None:
    allocator = node_of()
    assert not allocator.admit(named("o", pod(container("100m")))).refused
    (move,) = allocator.admit(guaranteed("own", 2)).moves
    assert (move.pod, to_text(move.old), move.is_exclusive) == ("o", "1-3,9-11", False)
    assert move.new.bit_count() == 4


def test_a_container_without_room_is_refused_and_leaves_nothing() -> None:
    allocator = node_of()
    start = allocator.key()
    refused = allocator.admit(guaranteed("own", 7)).refused
    assert refused is not None
    assert refused.reason == NOT_CREATED
    assert allocator.key() == start
    unknown = allocator.admit(inside("lost", container("1"), partition="isolated.dpkd")).refused
    assert unknown is not None
    assert 'no balloon for annotation "isolated.dpkd"' in unknown.message


def test_init_containers_give_their_cpus_back() -> None:
    both = named("p", pod(container("4", "1Gi"), init=(container("2", "1Gi"),)))
    allocator = node_of()
    assert not allocator.admit(both).refused
    first, second = allocator.place(both)
    assert first.cpus.bit_count() == 2
    assert second.cpus.bit_count() == 4
    assert allocator.policy.state.free.bit_count() == 2


def test_a_moment_can_be_restored() -> None:
    allocator = node_of()
    moment, before = allocator.take(), allocator.key()
    allocator.admit(inside("in", container("1")))
    allocator.admit(guaranteed("own", 2))
    allocator.restore(moment)
    assert allocator.key() == before
    assert not allocator.policy.containers
    answer = admission.any_order(allocator, [guaranteed("a", 4), guaranteed("b", 2)])
    assert answer.is_proven


def test_workloads_of_a_partition_are_annotated() -> None:
    partitions = {"dpdk": "4-7,12-15"}
    plan = configured(
        workloads=[{"name": "upf", "cpus": 4, "pods": 2, "pool": "isolated.dpdk"}],
        pools={"reserved": "0,8", "isolated": {"rest": True, "partitions": partitions}},
    )
    assert not startup.check(plan, no_position)
    assert [dict(pod.annotations) for pod in workloads.pods_of(plan)] == [
        {ANNOTATION: "isolated.dpdk"}
    ] * 2


def test_workloads_that_do_not_fit_beside_partitions() -> None:
    (problem,) = startup.check(configured(workloads=[{"name": "upf", "cpus": 8}]), no_position)
    assert problem.code == "CP712"
    assert "no suitable balloon instance" in problem.message


def test_pods_are_in_their_namespace_or_the_default_one() -> None:
    allocator = node_of()
    small = container("100m")
    for uid, namespace in (("a", "monitoring"), ("b", "")):
        allocator.admit(named(uid, pod(small))._replace(namespace=namespace))
    spaces = {uid: made.pod.namespace for (uid, _), made in allocator._running.items()}
    assert spaces == {"a": "monitoring", "b": "default"}

"""The planned DRA CPU driver: where containers run, and what is refused by whom."""

from typing import Any

import pytest

from cpuplan.simulate import admission, startup
from cpuplan.simulate.allocators import KUBELET
from cpuplan.simulate.allocators.base import UNSCHEDULABLE, Refusal
from cpuplan.simulate.allocators.dra import NOT_CREATED, NOT_PREPARED, DraAllocator
from cpuplan.simulate.allocators.registry import ALLOCATORS
from cpuplan.simulate.planned import planned
from cpuplan.upstream.dra.allocator_incubating import Constraint, Request, Spec
from cpuplan.upstream.dra.api import CAPACITY, NUMA_NODE_ID
from cpuplan.upstream.kubelet.kubelet import Node
from cpuplan.upstream.kubernetes.bits import to_text
from cpuplan.upstream.kubernetes.pod import Pod, PodClaim
from tests.machines.plans import no_position, plan, regular
from tests.machines.pods import container, guaranteed, named, pod

SMT = regular(sockets=2, cores=4, threads=2)  # node 0: 0-3,8-11; node 1: 4-7,12-15


def node_of(mode: str = "grouped", reserved: str = "0,8", **target: Any) -> DraAllocator:
    allocator = ALLOCATORS[KUBELET].start(planned(configured(mode, reserved, **target)), Node())
    assert isinstance(allocator, DraAllocator)
    return allocator


def configured(mode: str, reserved: str, *, spec: Any = None, **target: Any) -> Any:
    given = {"mechanism": "dra", "dra": {"mode": mode, **target.pop("dra", {})}, **target}
    return plan(
        SMT,
        reserved=reserved,
        platform="kubernetes",
        version=given.pop("version", "1.36"),
        target=given,
        sets={"isolated.dpdk": "4-7,12-15"},
        spec=spec or {},
    )


def amount(cpus: str) -> Spec:
    return Spec((Request("cpus", "dra.cpu", capacity=((CAPACITY, cpus),)),))


def number(count: int, *selectors: str) -> Spec:
    request = Request("cpus", "dra.cpu", selectors, count)
    return Spec((request,), (Constraint(NUMA_NODE_ID),))


def claiming(uid: str, spec: Spec | None, cpu: str = "", shared: str = "") -> Pod:
    """A pod whose container `a` has a claim, of its own or of all pods."""
    made = named(uid, pod(container(cpu)))
    containers = tuple(own._replace(claims=("cpus",)) for own in made.containers)
    claim = PodClaim("cpus", shared, "" if shared else "template", spec)
    return made._replace(name=uid, namespace="default", claims=(claim,), containers=containers)


def plain(uid: str) -> Pod:
    return named(uid, pod(container()))


def cpus(allocator: DraAllocator, *pods: Pod) -> dict[str, str]:
    """The CPUs of each container after all pods have come."""
    run = admission.run(allocator, pods)
    return {
        f"{outcome.pod.uid}/{container.name}": to_text(container.cpus)
        for outcome in run.outcomes
        for container in outcome.containers
    }


def refusal(allocator: DraAllocator, given: Pod) -> Refusal:
    refused = allocator.admit(given).refused
    assert refused is not None
    return refused


def test_claims_have_cpus_and_all_others_share_the_rest() -> None:
    placed = cpus(node_of(), plain("o"), claiming("two", amount("2")), guaranteed("own", 2))
    assert placed == {"o/a": "2-7,10-15", "two/a": "1,9", "own/a": "2-7,10-15"}


def test_only_containers_with_a_claim_are_exclusive() -> None:
    run = admission.run(node_of(), [claiming("two", amount("2")), guaranteed("own", 2)])
    flags = [container.is_exclusive for outcome in run.outcomes for container in outcome.containers]
    assert flags == [True, False]
    assert run.remainder.left is not None
    assert run.remainder.left.largest == 8  # of node 1; on node 0 four are left


def test_running_containers_move_when_the_owner_is_created() -> None:
    allocator = node_of()
    assert not allocator.admit(plain("o")).refused
    (move,) = allocator.admit(claiming("two", amount("2"))).moves
    assert (move.pod, move.is_exclusive) == ("o", False)
    assert (to_text(move.old), to_text(move.new)) == ("1-7,9-15", "2-7,10-15")
    assert not allocator.remove("two")
    assert cpus(allocator, plain("new")) == {"new/a": "1-7,9-15"}
    assert to_text(allocator.place(plain("o"))[0].cpus) == "2-7,10-15"  # still narrow (#279)


def test_who_refuses_what() -> None:
    allocator = node_of()
    start = allocator.key()
    assert refusal(allocator, claiming("large", amount("9"))) == (
        UNSCHEDULABLE,
        "cannot allocate all claims",
    )
    assert refusal(allocator, claiming("lost", None)) == (
        UNSCHEDULABLE,
        "the files have no ResourceClaimTemplate template",
    )
    assert refusal(allocator, claiming("half", amount("1500m"))) == (
        NOT_PREPARED,
        (
            "Failed to prepare dynamic resources: NodePrepareResources failed for ResourceClaim "
            'half-cpus: CPU capacity for device "cpudevnuma000" must be a whole number, got 1500m'
        ),
    )
    assert refusal(allocator, claiming("rich", amount("1"), cpu="15")).reason == "OutOfcpu"
    assert allocator.key() == start
    unknown = Spec((Request("nic", "nic.example.com"),))
    assert "could not retrieve device class" in refusal(allocator, claiming("n", unknown)).message


def test_a_claim_of_several_pods_belongs_to_one_container() -> None:
    allocator = node_of()
    assert not allocator.admit(claiming("one", amount("2"), shared="all")).refused
    refused = refusal(allocator, claiming("two", amount("2"), shared="all"))
    assert refused == (
        NOT_CREATED,
        'claimUID "default/all" already bound to pod "one" container "a"',
    )
    allocator.remove("one")
    assert not allocator.admit(claiming("two", amount("2"), shared="all")).refused


def test_with_the_mapping_pods_share_no_claim() -> None:
    allocator = node_of(version="1.37", dra={"accounting": "mapping", "release": "0.3"})
    assert not allocator.admit(claiming("one", amount("2"), shared="all")).refused
    refused = refusal(allocator, claiming("two", amount("2"), shared="all"))
    assert refused.message == (
        "node allocatable resource claim default/all has a mapped device and cannot be shared "
        "across pods"
    )


def test_an_init_container_keeps_the_claim() -> None:
    made = named("p", pod(container(), init=(container(),)))
    given = made._replace(
        claims=(PodClaim("cpus", template="t", spec=amount("2")),),
        init_containers=tuple(own._replace(claims=("cpus",)) for own in made.init_containers),
    )
    placed = cpus(node_of(), given)
    assert placed == {"p/a": "1,9", "p/b": "2-7,10-15"}


def test_individual_cpus_on_one_node() -> None:
    high = 'device.attributes["dra.cpu"].cpuID in [2, 3, 10, 11]'
    allocator = node_of("individual")
    assert cpus(allocator, claiming("high", number(4, high)), claiming("next", number(4))) == {
        "high/a": "2-3,10-11",
        "next/a": "4-5,12-13",
    }
    assert refusal(allocator, claiming("more", number(5))).reason == UNSCHEDULABLE


def test_bug_core_ids_that_repeat_are_found() -> None:
    run = admission.run(node_of(reserved="0"), [claiming("four", amount("4"))])
    assert run.remainder.findings == (
        (
            "CP722",
            "claim four/cpus of cpudevnuma000 gets CPUs 1,5,9,13, of which 5,13 are elsewhere",
        ),
    )


def test_bug_without_a_free_cpu_others_run_everywhere() -> None:
    everything = claiming("all", Spec((*amount("6").requests, Request("rest", "dra.cpu"))))
    allocator = node_of()
    run = admission.run(allocator, [plain("early"), everything, plain("late")])
    placed = {
        outcome.pod.uid: to_text(own.cpus) for outcome in run.outcomes for own in outcome.containers
    }
    assert placed == {"early": "1-7,9-15", "all": "1-7,9-15", "late": "0-15"}
    assert run.remainder.findings == (
        ("CP723", "container a of early runs on CPUs 1-7,9-15 (of claims)"),
    )


def test_bug_a_restart_forgets_claims_that_nobody_uses() -> None:
    unused = claiming("p", amount("2"))
    unused = unused._replace(containers=tuple(own._replace(claims=()) for own in unused.containers))
    ((code, text),) = admission.run(node_of(), [unused]).remainder.findings
    assert code == "CP723"
    assert text == (
        "no running container has claim p/cpus: when the driver restarts, its CPUs 1,9 are "
        "others' as well"
    )


@pytest.mark.parametrize(("accounting", "reason"), [("requests", ""), ("mapping", "OutOfcpu")])
def test_claims_count_only_with_the_mapping(accounting: str, reason: str) -> None:
    """Of 14 CPUs that can be allocated, others request 8 and a claim has 8."""
    dra = {"accounting": accounting, "release": "0.3"}
    allocator = node_of(version="1.37", dra=dra)
    assert not allocator.admit(guaranteed("own", 8)).refused
    refused = allocator.admit(claiming("eight", amount("8"))).refused
    assert (refused.reason if refused else "") == reason


def test_a_moment_can_be_restored() -> None:
    allocator = node_of()
    moment, before = allocator.take(), allocator.key()
    allocator.admit(claiming("two", amount("2")))
    allocator.restore(moment)
    assert allocator.key() == before
    assert admission.any_order(allocator, [claiming("a", amount("4")), plain("b")]).is_proven


def test_workloads_of_an_intent_claim_their_cpus() -> None:
    spec = {
        "workloads": [{"name": "upf", "cpus": 4, "pods": 2, "pool": "isolated.dpdk"}],
        "pools": {
            "reserved": "0,8",
            "isolated": {"rest": True, "partitions": {"dpdk": "4-7,12-15"}},
        },
    }
    assert not startup.check(configured("individual", "0,8", spec=spec), no_position)
    spec["workloads"][0]["pods"] = 3  # type: ignore[index]
    (problem,) = startup.check(configured("individual", "0,8", spec=spec), no_position)
    assert (problem.code, "cannot allocate all claims" in problem.message) == ("CP712", True)

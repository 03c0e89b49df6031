"""What the table of promises says of CPUs and memory, held against simulated nodes.

`WORST` tries to break each promise: only what says `yes` may hold there. `TRIED` shows that what
says `preferred` is at least tried.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import pytest

from cpuplan.simulate import admission
from cpuplan.simulate.allocators.registry import start_planned
from cpuplan.simulate.comparison import adapted
from cpuplan.simulate.manifests import Item
from cpuplan.simulate.mechanisms import (
    BALLOONS,
    DRA,
    KOORDINATOR,
    KUBELET,
    MECHANISMS,
    PROMISES,
    TOPOLOGY_AWARE,
    Answer,
)
from cpuplan.simulate.planned import planned
from cpuplan.simulate.workloads import pods_of
from cpuplan.upstream.dra.allocator_incubating import Request, Spec
from cpuplan.upstream.dra.api import CAPACITY
from cpuplan.upstream.kubelet.kubelet import Node
from cpuplan.upstream.kubernetes.pod import Pod, PodClaim
from cpuplan.upstream.nri.topologyaware.pod_preferences import PREFER_SHARED
from tests.machines.plans import plan, regular
from tests.machines.pods import container, guaranteed, named, pod

SMT = regular(sockets=2, cores=4, threads=2)  # node 0: 0-3,8-11; node 1: 4-7,12-15
PARTITION = "4-7,12-15"
IN_PARTITION = 0xF0F0
FULL_CORES: dict[str, dict[str, Any]] = {
    KUBELET: {"kubelet": {"cpuManagerPolicyOptions": {"full-pcpus-only": "true"}}},
    KOORDINATOR: {"koordinator": {"cpuBindPolicy": "FullPCPUsOnly"}},
}
LOCAL_MEMORY = {
    "kubelet": {"memoryManagerPolicy": "Static", "topologyManagerPolicy": "single-numa-node"}
}

Where = Mapping[str, "Ran"]


class Ran(NamedTuple):
    """Where the first container of a pod runs; `refused` has a reason instead."""

    cpus: int = 0
    nodes: tuple[int, ...] = ()
    refused: str = ""


def _plan(mechanism: str, sets: Mapping[str, str] | None = None, **spec: Any) -> Any:
    """Core 0 is reserved; a static policy has its default options unless `spec` gives others."""
    return plan(
        SMT,
        reserved="0,8",
        platform="kubernetes",
        version="1.36",
        target={"mechanism": mechanism},
        sets=sets,
        spec=spec,
    )


def _run(node: Any, *pods: Pod) -> Where:
    """The pods on an empty node, in their order, by uid."""
    outcome = admission.run(start_planned(planned(node), Node()), pods)
    return {
        of_pod.pod.uid: Ran(refused=of_pod.refused.reason)
        if of_pod.refused
        else Ran(of_pod.containers[0].cpus, of_pod.containers[0].numa_nodes)
        for of_pod in outcome.outcomes
    }


def _own(node: Any, *pods: Pod) -> list[Pod]:
    """The pods with what the mechanism goes by: labels, claims."""
    mechanism = node.node_class.target.mechanism
    return [item.pod for item in adapted(list(map(Item, pods)), mechanism, node)]


def _best_effort(uid: str) -> Pod:
    return named(uid, pod({"name": "a"}))


def _shared(uid: str) -> Pod:
    return named(uid, pod(container("100m")))


def _are_apart(where: Where) -> bool:
    """Whether no CPU has two pods."""
    cpus = [running.cpus for running in where.values()]
    return sum(map(int.bit_count, cpus)) == _union(cpus).bit_count()


def _union(sets: list[int]) -> int:
    union = 0
    for cpus in sets:
        union |= cpus
    return union


def _has_own(mechanism: str) -> bool:
    """Pods of all sizes until the node is full, among others: nobody runs on CPUs of another."""
    node = _plan(mechanism)
    pods = _own(node, *(guaranteed(f"own-{index}", 1 + index % 3) for index in range(9)))
    where = _run(node, _shared("first"), *pods, _best_effort("last"))
    owners = {
        uid: running
        for uid, running in where.items()
        if uid.startswith("own") and not running.refused
    }
    others = _union([running.cpus for uid, running in where.items() if uid not in owners])
    assert len(owners) > 2
    return _are_apart(owners) and not others & _union([running.cpus for running in owners.values()])


def _fractions_share() -> bool:
    """Guaranteed pods of half a CPU, of which each has a balloon while CPUs are free."""
    return _are_apart(
        _run(_plan(BALLOONS), *(guaranteed(f"p{index}", "500m") for index in range(20)))
    )


def _claim(uid: str, cpus: int) -> Pod:
    """A BestEffort pod with a claim."""
    made = _best_effort(uid)
    spec = Spec((Request("cpus", "dra.cpu", capacity=((CAPACITY, str(cpus)),)),))
    used = tuple(own._replace(claims=("cpus",)) for own in made.containers)
    return made._replace(
        name=uid, claims=(PodClaim("cpus", template="t", spec=spec),), containers=used
    )


def _any_class() -> bool:
    where = _run(_plan(DRA), _claim("a", 2), _claim("b", 2), _best_effort("o"))
    return _has_own(DRA) and _are_apart(where)


def _whole_cores(mechanism: str, *sizes: int) -> bool:
    """Whether no core has CPUs of a pod and of somebody else; refused pods have none."""
    node = _plan(mechanism, **FULL_CORES.get(mechanism, {}))
    pods = _own(node, *(guaranteed(f"p{index}", size) for index, size in enumerate(sizes)))
    ran = _run(node, *pods)
    assert any(not running.refused for running in ran.values())
    return all(running.cpus & 0xFF == running.cpus >> 8 for running in ran.values())


def _memory(mechanism: str, *amounts: str) -> bool:
    """Whether each pod has memory of one node, that of all of its CPUs; refused pods have none."""
    node = _plan(mechanism, **(LOCAL_MEMORY if mechanism == KUBELET else {}))
    pods = [named(f"p{index}", pod(container("2", gib))) for index, gib in enumerate(amounts)]
    where = _run(node, *_own(node, *pods))
    assert any(not running.refused for running in where.values())
    masks: dict[tuple[int, ...], int] = {(0,): 0x0F0F, (1,): IN_PARTITION}
    return all(
        running.refused or running.cpus & masks.get(running.nodes, 0) == running.cpus
        for running in where.values()
    )


def _full_memory(mechanism: str) -> bool:
    """64 GiB in each node: two pods leave room for the third in no node alone."""
    return _memory(mechanism, "40Gi", "40Gi", "40Gi")


def _partition(mechanism: str, stranger: int, member: int) -> bool:
    """Whether a pod of a partition runs there, and no other on its CPUs."""
    node = _plan(
        mechanism,
        {"isolated.dpdk": PARTITION},
        workloads=[{"name": "upf", "cpus": member, "pool": "isolated.dpdk"}],
        pools={"isolated": {"rest": True, "partitions": {"dpdk": PARTITION}}},
    )
    (upf,) = pods_of(node)
    # Under a DRA driver, the policies of admission keep claims of others from partitions.
    others = [guaranteed("stranger", stranger), _shared("web")]
    where = dict(_run(node, *(others if mechanism == DRA else _own(node, *others)), upf))
    own = where.pop(upf.uid).cpus
    taken = _union([running.cpus for running in where.values()])
    return bool(own) and not own & ~IN_PARTITION and not own & taken


def _partitions(mechanism: str) -> bool:
    return all(_partition(mechanism, *sizes) for sizes in ((1, 2), (2, 2), (2, 8), (4, 8), (5, 4)))


def _mixed(mechanism: str) -> bool:
    """Whether a container with 2500m has two CPUs alone, and some that others have, too."""
    node = _plan(mechanism)
    half = named("half", pod(container("2500m", "1Gi")))
    asking = half._replace(annotations={f"{PREFER_SHARED}/container.a": "false"})
    if mechanism == DRA:
        claims = _claim("half", 2)
        asking = asking._replace(
            claims=claims.claims,
            containers=tuple(own._replace(claims=("cpus",)) for own in asking.containers),
        )
    pods = (_shared(f"web-{index}") for index in range(4))
    where = dict(_run(node, asking, *pods, *_own(node, guaranteed("own", 2))))
    cpus = where.pop("half").cpus
    shared = cpus & _union([running.cpus for running in where.values()])
    return bool(shared) and (cpus & ~shared).bit_count() >= 2


def _qos(mechanism: str) -> bool:
    """Whether BestEffort pods run on CPUs that no other class has."""
    sets = {"bestEffort": "3,11", "other": "0-2,4-10,12-15"} if mechanism == BALLOONS else None
    spec = {"qos": sets} if sets else {}
    pods = (_shared(f"web-{index}") for index in range(4))
    where = dict(_run(_plan(mechanism, sets, **spec), _best_effort("idle"), *pods))
    return not where.pop("idle").cpus & _union([running.cpus for running in where.values()])


def _refusal(mechanism: str) -> bool:
    """Whether the first pod for which no CPU is left is refused, and not placed on others'."""
    node = _plan(mechanism)
    where = _run(node, *_own(node, *(guaranteed(f"p{index}", 2) for index in range(8))))
    refused = [running for running in where.values() if running.refused]
    return bool(refused) and _are_apart(where)


def _of(check: Callable[[str], bool], *mechanisms: str) -> dict[str, Callable[[], bool]]:
    return {mechanism: partial(check, mechanism) for mechanism in mechanisms}


#: Where each promise would break, by its name and the mechanism.
WORST: Mapping[str, Mapping[str, Callable[[], bool]]] = {
    "exclusive": {
        **_of(_has_own, KUBELET, TOPOLOGY_AWARE, KOORDINATOR),
        DRA: _any_class,
        BALLOONS: _fractions_share,
    },
    "whole-cores": _of(lambda name: _whole_cores(name, 2, 3, 1, 4), *MECHANISMS),
    "memory": _of(_full_memory, *MECHANISMS),
    "mixed": _of(_mixed, *MECHANISMS),
    "qos": _of(_qos, KUBELET, DRA, BALLOONS, TOPOLOGY_AWARE),
    "partitions": _of(_partitions, *MECHANISMS),
    "refusal": {
        **_of(_refusal, KUBELET, DRA, TOPOLOGY_AWARE, KOORDINATOR),
        BALLOONS: _fractions_share,
    },
}
#: Where what is preferred works.
TRIED: Mapping[tuple[str, str], Callable[[], bool]] = {
    ("exclusive", BALLOONS): lambda: _has_own(BALLOONS),
    ("refusal", BALLOONS): lambda: _refusal(BALLOONS),
    ("whole-cores", TOPOLOGY_AWARE): lambda: _whole_cores(TOPOLOGY_AWARE, 2, 4, 2),
    ("memory", TOPOLOGY_AWARE): lambda: _memory(TOPOLOGY_AWARE, "1Gi", "2Gi", "3Gi"),
}
#: What no simulation shows: suppression by load, and memory that the compiled policy leaves alone.
NOT_SIMULATED = {("qos", KOORDINATOR), ("memory", BALLOONS)}
BY_NAME = {promise.name: promise for promise in PROMISES}
PAIRS = [(name, mechanism) for name, checks in WORST.items() for mechanism in checks]


@pytest.mark.parametrize(("name", "mechanism"), PAIRS, ids=map("-".join, PAIRS))
def test_only_what_says_yes_holds_where_it_is_hard(name: str, mechanism: str) -> None:
    answer = BY_NAME[name].held[mechanism].answer
    assert WORST[name][mechanism]() == (answer is Answer.YES)


@pytest.mark.parametrize(("name", "mechanism"), list(TRIED), ids=map("-".join, TRIED))
def test_what_is_preferred_is_tried(name: str, mechanism: str) -> None:
    assert BY_NAME[name].held[mechanism].answer is Answer.PREFERRED
    assert TRIED[name, mechanism]()


def test_every_answer_of_these_rows_is_tried() -> None:
    missing = {(name, mechanism) for name in WORST for mechanism in MECHANISMS} - set(PAIRS)
    assert missing <= NOT_SIMULATED
    preferred = {pair for pair in PAIRS if BY_NAME[pair[0]].held[pair[1]].answer == "preferred"}
    assert preferred - set(TRIED) <= NOT_SIMULATED


@pytest.mark.parametrize("mechanism", [DRA, BALLOONS])
def test_odd_sizes_split_a_core(mechanism: str) -> None:
    """The other thread of the split core is for somebody else."""
    assert _whole_cores(mechanism, 2, 4)
    assert not _whole_cores(mechanism, 3)


def test_odd_sizes_are_refused_with_full_pcpus_only() -> None:
    node = _plan(KUBELET, **FULL_CORES[KUBELET])
    assert _run(node, guaranteed("odd", 3))["odd"].refused == "SMTAlignmentError"


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_reserved_cpus_are_kept_also_beside_openshift(mechanism: str) -> None:
    """Its backend writes nothing for other mechanisms, and `--with` asks all the same."""
    node = plan(SMT, reserved="0,8", target={"mechanism": mechanism})
    where = _run(node, *_own(node, *(guaranteed(f"p{index}", 2) for index in range(6))))
    assert all(running.cpus and not running.cpus & 0x101 for running in where.values())

"""What is asked of every allocator: the largest request that it admits, and why no larger one."""

from types import SimpleNamespace
from typing import Any

import pytest

from cpuplan.simulate.allocators import base
from cpuplan.simulate.allocators.base import Admission, Placed, Refusal
from cpuplan.solve import budget
from cpuplan.upstream.kubelet.topologymanager.scope import AFFINITY_ERROR
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import CPU, Pod
from tests.machines.cputopologies import regular
from tests.machines.pods import container, guaranteed, named, pod

FULL = Refusal(f"OutOf{CPU}", "used up")


class Admitting:
    """Admits requests of some sizes, from the lowest CPUs up; others have a reason."""

    def __init__(self, *sizes: int, other: Refusal = FULL, exclusive: bool = True) -> None:
        self.sizes, self.other, self.exclusive = sizes, other, exclusive
        self.tried: list[int] = []
        self.running = 0

    def admit(self, pod: Pod) -> Admission:
        assert not self.running, "the moment before was not restored"
        (only,) = pod.containers
        size = only.requests[CPU].value
        self.tried.append(size)
        self.running = size
        return Admission(None if size in self.sizes else self.other)

    def place(self, pod: Pod) -> tuple[Placed, ...]:
        cpus = (1 << self.running) - 1
        started: Any = None
        return (Placed(pod.uid, cpus, self.exclusive, (), started),)

    def take(self) -> int:
        return self.running

    def restore(self, moment: int) -> None:
        self.running = moment


@pytest.mark.parametrize(
    ("sizes", "most", "within", "largest", "tried"),
    [
        ((1, 2, 3), 5, 0b11111, 3, [5, 4, 3]),
        ((5,), 5, 0b11111, 5, [5]),
        ((1,), 3, 0b11111, 1, [3, 2, 1]),
        ((), 2, 0b11111, 0, [2, 1]),
        ((1, 2, 3), 0, 0b11111, 0, []),
        # The CPUs of three are not all inside.
        ((1, 2, 3), 3, 0b00011, 2, [3, 2]),
    ],
)
def test_the_largest_that_is_admitted(
    sizes: tuple[int, ...], most: int, within: int, largest: int, tried: list[int]
) -> None:
    allocator: Any = Admitting(*sizes)
    assert base.largest_admitted(allocator, most, within) == largest
    assert allocator.tried == tried
    assert allocator.running == 0


def test_cpus_of_the_shared_pool_may_be_anywhere() -> None:
    allocator: Any = Admitting(3, exclusive=False)
    assert base.largest_admitted(allocator, 3, 0b1) == 3


def kubelet(policy: str = "restricted", **options: Any) -> Any:
    chosen = SimpleNamespace(policy=SimpleNamespace(name=policy))
    cpus = SimpleNamespace(policy=options.get("cpus"))
    memory = SimpleNamespace(policy=options.get("memory"))
    machine = SimpleNamespace(memory=range(options.get("nodes", 0)))
    return SimpleNamespace(
        topology_manager=chosen, cpus=cpus, memory=memory, machine=machine, gates=Gates()
    )


PART = Refusal(
    "SMTAlignmentError", "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2"
)


@pytest.mark.parametrize(
    ("sizes", "other", "free", "tried", "words"),
    [
        ((), FULL, 4, [3], "the requests of all pods leave fewer CPUs: used up"),
        ((3, 4), FULL, 4, [3, 4], ""),
        ((), FULL, 2, [], ""),
        ((4,), PART, 5, [3, 4, 5], "full-pcpus-only admits whole cores only, not 5 CPUs"),
        (
            (),
            PART,
            30,
            [3, 4, 5, 6, 7, 8, 9, 10],
            "full-pcpus-only admits whole cores only, not 10 CPUs",
        ),
        ((), Refusal("Why", "because"), 9, [3], "Why: because"),
    ],
)
def test_why_no_larger_one_is(
    sizes: tuple[int, ...], other: Refusal, free: int, tried: list[int], words: str
) -> None:
    """Requests above two: up to eight more, and no more than are free."""
    allocator: Any = Admitting(*sizes, other=other)
    assert base.refusal_above(allocator, kubelet(), 2, (1 << free) - 1) == words
    assert allocator.tried == tried
    assert allocator.running == 0


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (
            "single-numa-node",
            "no NUMA node has 3 free CPUs, which topologyManagerPolicy single-numa-node requires",
        ),
        (
            "restricted",
            (
                "topologyManagerPolicy restricted requires 3 free CPUs on as few NUMA nodes as on "
                "an empty machine"
            ),
        ),
    ],
)
def test_a_refusal_of_the_topology_manager_names_its_policy(policy: str, words: str) -> None:
    allocator: Any = Admitting(other=Refusal(AFFINITY_ERROR, "x"))
    assert base.refusal_above(allocator, kubelet(policy), 2, 0b1111) == words


TWO, FOUR = regular(1, 2, 2), regular(1, 4, 2)


def static(topology: Any, *, distributes: bool = False) -> Any:
    options = SimpleNamespace(distribute_cpus_across_numa=distributes)
    return SimpleNamespace(topology=topology, options=options)


@pytest.mark.parametrize(
    ("asked", "sets"),
    [
        (kubelet("none"), 0),
        (kubelet("none", cpus=static(TWO)), 0),
        (kubelet("none", cpus=static(FOUR, distributes=True)), 16),
        (kubelet(cpus=static(FOUR)), 16),
        (kubelet(cpus=static(FOUR, distributes=True)), 32),
        (kubelet(memory=1, nodes=3), 16),
        (kubelet(cpus=static(FOUR), memory=1, nodes=3), 32),
        (kubelet(memory=1, nodes=65), 2),
    ],
)
def test_sets_of_numa_nodes_that_are_looked_at(asked: Any, sets: int) -> None:
    """Of more nodes than a manager can count, none are."""
    assert base._sets(asked) == sets


def test_an_admission_is_counted_by_its_containers(monkeypatch: pytest.MonkeyPatch) -> None:
    spent: list[float] = []
    monkeypatch.setattr(budget, "current", lambda: SimpleNamespace(step=spent.append))
    for made in (guaranteed("a", 2), named("b", pod(container("100m")))):
        base.count_admission(kubelet(cpus=static(FOUR)), made)
    assert spent == [pytest.approx(0.0002 + 16e-6), 0.0002]

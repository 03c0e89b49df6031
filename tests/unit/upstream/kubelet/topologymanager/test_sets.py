"""Hints as conditions have the answers of the kubelet's lists."""

import random
from collections.abc import Mapping
from typing import NamedTuple

import pytest

from cpuplan.upstream.kubelet.cpumanager import policy_static as cpus
from cpuplan.upstream.kubelet.cpumanager.topology import CPUTopology
from cpuplan.upstream.kubelet.memorymanager import policy_static as memory
from cpuplan.upstream.kubelet.memorymanager.state import MemoryTable, NodeMap, NodeState
from cpuplan.upstream.kubelet.policy_options import TopologyOptions
from cpuplan.upstream.kubelet.topologymanager.policy import (
    POLICIES,
    Hints,
    NUMAInfo,
    Policy,
    ProviderHints,
    TopologyHint,
)
from cpuplan.upstream.kubelet.topologymanager.sets import HintSets, Masks, Need, lowest
from cpuplan.upstream.kubernetes.bits import bits_of
from cpuplan.upstream.kubernetes.errors import KubeletError, TooManySetsError
from tests.machines.cputopologies import regular

KINDS = ("memory", "hugepages-2Mi")


class Case(NamedTuple):
    """A machine with some memory in use, and what a container asks for."""

    nodes: int
    machine: NodeMap
    requested: Mapping[str, int]
    reusable: Mapping[int, Mapping[str, int]]
    topology: CPUTopology
    free: int
    reused: int
    wanted: int
    device: ProviderHints
    policy: Policy


def a_case(chance: random.Random, nodes: int) -> Case:
    machine: NodeMap = {}
    kinds = KINDS[: chance.randint(1, 2)]
    for node in range(nodes):
        tables = {kind: _table(chance) for kind in kinds}
        machine[node] = NodeState(0, tables, (node,))
    groups = _occupy(chance, machine)
    reusable = {bits_of(group): {"memory": chance.randint(0, 6)} for group in groups[:1]}
    topology = regular(1, chance.randint(1, nodes), 4)
    some = topology.all & chance.getrandbits(topology.num_cpus)
    mask = TopologyHint(chance.randrange(1, 1 << nodes), chance.random() < 0.5)
    rows = {node: tuple(range(10 + node, 10 + node + nodes)) for node in range(nodes)}
    closest = TopologyOptions(prefer_closest_numa_nodes=chance.random() < 0.1)
    return Case(
        nodes,
        machine,
        {kind: chance.randint(0, 4 * nodes) for kind in kinds},
        reusable,
        topology,
        chance.choice([topology.all, some]),
        chance.choice([0, 0, some & chance.getrandbits(topology.num_cpus)]),
        chance.randint(1, topology.num_cpus),
        chance.choice([{}, {"gpu": None}, {"gpu": [mask]}, {"gpu": []}]),
        Policy(chance.choice(POLICIES), NUMAInfo(tuple(range(nodes)), rows), closest),
    )


def _table(chance: random.Random) -> MemoryTable:
    allocatable = chance.choice([8, 8, chance.randint(0, 12)])
    return MemoryTable(12, 0, allocatable, 0, chance.choice([allocatable, allocatable // 2]))


def _occupy(chance: random.Random, machine: NodeMap) -> list[tuple[int, ...]]:
    left = chance.sample(sorted(machine), chance.randint(0, len(machine)))
    groups = []
    while left:
        size = chance.randint(1, 3)
        groups.append(tuple(sorted(left[:size])))
        left = left[size:]
    for group in groups:
        for node in group:
            machine[node].assignments, machine[node].cells = 1, group
    return groups


def answers(case: Case, *, listed: bool) -> list[object]:
    """The merged hint, and the nodes that the memory manager then takes, with others too."""
    hints: Hints
    if listed:
        hints = cpus.generate_cpu_topology_hints(case.topology, case.free, case.reused, case.wanted)
    else:
        hints = cpus.cpu_hint_sets(case.topology, case.free, case.reused, case.wanted)
    of_memory = memory.calculate_hints(case.machine, case.requested, case.reusable)
    best = case.policy.merge([case.device, {"cpu": hints}, of_memory])
    given = [best, TopologyHint(None, preferred=True), TopologyHint(1, preferred=True)]
    return [best, *(_taken(case, hint) for hint in given)]


def _taken(case: Case, hint: TopologyHint) -> int | str:
    try:
        return memory.choose_affinity(
            case.machine, case.requested, case.reusable, hint, keep_groups=True
        )
    except KubeletError as error:
        return str(error)


@pytest.mark.parametrize("seed", range(20))
def test_conditions_have_the_answers_of_lists(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)  # noqa: S311 - a test's own machines
    compared = 0
    for _ in range(20):
        case = a_case(chance, chance.randint(1, 6))
        listed = answers(case, listed=True)
        with monkeypatch.context() as patch:
            patch.setattr(memory, "MOST_NODES", 0)
            try:
                assert answers(case, listed=False) == listed, case
                compared += 1
            except TooManySetsError:  # the closest of intersections
                assert case.policy._by_distance
    assert compared > 12


def test_two_managers_of_seventeen_nodes() -> None:
    """Sixteen whole nodes for the CPUs: the kubelet compares 18 times 131,071 hints."""
    topology = regular(1, 17, 2)
    of_cpus = cpus.cpu_hint_sets(topology, topology.all, 0, 64)
    assert of_cpus.numbers == (18, 18)
    tables = {node: {"memory": MemoryTable(8, 0, 8, 0, 8)} for node in range(17)}
    machine = {node: NodeState(0, own, (node,)) for node, own in tables.items()}
    of_memory = memory.calculate_hints(machine, {"memory": 1}, {})["memory"]
    assert isinstance(of_memory, HintSets)
    assert of_memory.numbers == (131_071, 131_071)
    policy = Policy("best-effort", NUMAInfo(tuple(range(17)), {}), TopologyOptions())
    best = policy.merge([{"cpu": of_cpus}, {"memory": of_memory}])
    assert best == TopologyHint((1 << 16) - 1, preferred=False)


def test_where_sets_do_not_end() -> None:
    topology = regular(2, 64, 1)
    with pytest.raises(TooManySetsError, match=r"2\^64 sets of 64 NUMA nodes"):
        cpus.cpu_hint_sets(topology, topology.all, 0, 2)
    wide = regular(1, 29, 1)
    hints = cpus.cpu_hint_sets(wide, wide.all, 0, 2)
    policy = Policy("restricted", NUMAInfo(tuple(range(29)), {}), TopologyOptions())
    assert policy.merge([{"cpu": hints}]) == TopologyHint(1, preferred=True)
    with pytest.raises(TooManySetsError, match=r"2\^57 combinations .* does not come to an end"):
        policy.merge([{"cpu": hints, "memory": hints}])


def test_nodes_that_are_all_different() -> None:
    """The search has a bound: what it does not settle is not answered."""
    chance = random.Random(1)  # noqa: S311 - a test's own machines
    weights = {node: chance.randrange(1 << 34, 1 << 35) for node in range(29)}
    half = Need(weights, sum(weights.values()) // 2)
    alone = Masks(0, (1 << 29) - 1, (half,))
    mask = lowest([alone], 15)
    assert mask
    assert alone.has(mask)
    with pytest.raises(TooManySetsError):
        lowest([alone] * 3, 5)

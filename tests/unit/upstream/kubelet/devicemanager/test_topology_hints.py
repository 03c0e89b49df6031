"""Hints for devices. Rules: pkg/kubelet/cm/devicemanager/topology_hints.go."""

from itertools import combinations
from random import Random

import pytest

from cpuplan.upstream.kubelet.devicemanager.pod_devices import Device, Plugin, Pool
from cpuplan.upstream.kubelet.devicemanager.topology_hints import (
    generate_device_topology_hints,
    has_topology_alignment,
    numa_nodes_to_combine,
)
from cpuplan.upstream.kubernetes.bits import bits_of, members


def pool(*nodes: tuple[int, ...] | None, unhealthy: tuple[int, ...] = ()) -> Pool:
    """A device for each word on NUMA nodes, called by its number."""
    devices = (
        Device(str(number), given, number not in unhealthy) for number, given in enumerate(nodes)
    )
    return Pool(Plugin("example.com/nic", tuple(devices)))


def hints(
    of: Pool, request: int, *, free: int | None = None, reusable: int = 0, machine: int = 2
) -> list[tuple[list[int], bool]]:
    nodes = numa_nodes_to_combine(of, range(machine), only_with_devices=True)
    available = of.healthy if free is None else free
    made = generate_device_topology_hints(of, nodes, available, reusable, request)
    return [(members(hint.affinity or 0), hint.preferred) for hint in made]


ONE_EACH = pool((0,), (1,))
TWO_EACH = pool((0,), (1,), (0,), (1,))


@pytest.mark.parametrize(
    ("of", "request_", "options", "expected"),
    [
        (ONE_EACH, 1, {}, [([0], True), ([1], True), ([0, 1], False)]),
        (ONE_EACH, 2, {}, [([0, 1], True)]),
        # a node whose devices are out still makes the other one the least size
        (TWO_EACH, 2, {"free": 0b1011}, [([1], True), ([0, 1], False)]),
        (TWO_EACH, 2, {"free": 0b0011}, [([0, 1], False)]),
        (TWO_EACH, 3, {}, [([0, 1], True)]),
        # near two nodes: either of them is near it
        (pool((0, 1)), 1, {}, [([0], True), ([1], True), ([0, 1], False)]),
        # without NUMA nodes it is in no set: two can never come
        (pool((0,), None), 2, {}, []),
        # what init containers leave must be in the set, and counts
        (TWO_EACH, 2, {"free": 0b1110, "reusable": 0b0001}, [([0], True), ([0, 1], False)]),
        # reused without a word on NUMA nodes: passed over; with an empty word: near none
        (pool((0,), None), 1, {"free": 0b01, "reusable": 0b10}, [([0], True)]),
        (pool((0,), ()), 1, {"free": 0b01, "reusable": 0b10}, []),
        # nodes that the machine lacks
        (pool((0,), (7,)), 1, {}, [([0], True)]),
        (pool((7,)), 1, {}, []),
        (pool((-1,), (0,)), 1, {}, [([0], True)]),
        (TWO_EACH, 0, {"free": 0}, [([0], True), ([1], True), ([0, 1], False)]),
    ],
)
def test_sets_of_numa_nodes(
    of: Pool, request_: int, options: dict[str, int], expected: list[tuple[list[int], bool]]
) -> None:
    assert hints(of, request_, **options) == expected


def test_only_nodes_with_devices_are_combined_since_1_37() -> None:
    """GB200: 36 NUMA nodes, devices on 2 of them (#138244)."""
    of = pool((0,), (1,))
    assert hints(of, 2, machine=36) == [([0, 1], True)]
    assert numa_nodes_to_combine(of, range(36), only_with_devices=False) == tuple(range(36))


def test_a_device_with_numa_nodes_makes_the_resource_aligned() -> None:
    assert has_topology_alignment(pool(None, (1,)))
    assert not has_topology_alignment(pool(None, ()))


def naive(
    nodes: list[tuple[int, ...] | None], free: set[int], reusable: set[int], request: int
) -> list[tuple[list[int], bool]]:
    """The rule as it is written, over all sets of the NUMA nodes that devices name."""
    named = sorted({node for given in nodes for node in given or ()})
    sets = [set(some) for size in range(1, len(named) + 1) for some in combinations(named, size)]

    def near(some: set[int], which: set[int]) -> set[int]:
        return {number for number in which if some & {*(nodes[number] or ())}}

    everything = set(range(len(nodes)))
    wide = [len(some) for some in sets if len(near(some, everything)) >= request]
    least = min([len(named), *wide])
    must = {number for number in reusable if nodes[number] is not None}
    fitting = [
        some
        for some in sets
        if near(some, must) == must and len(must) + len(near(some, free)) >= request
    ]
    return [(sorted(some), len(some) == least) for some in fitting]


@pytest.mark.parametrize("seed", range(60))
def test_as_the_rule_is_written(seed: int) -> None:
    random = Random(seed)  # noqa: S311 - no secret
    words: list[tuple[int, ...] | None] = [None, (), (0,), (1,), (2,), (3,), (0, 1), (1, 3)]
    given = [(random.randrange(4),), *random.choices(words, k=random.randrange(8))]
    everything = set(range(len(given)))
    reusable = {number for number in everything if random.random() < 0.2}
    free = {number for number in everything - reusable if random.random() < 0.7}
    request = random.randint(0, len(given))
    bits = bits_of(free), bits_of(reusable)
    made = hints(pool(*given), request, free=bits[0], reusable=bits[1], machine=4)
    assert made == naive(given, free, reusable, request)

"""Re-packing: the least movement of all layouts there are, on machines of a few CPUs."""

import random
from collections.abc import Iterator, Sequence
from itertools import combinations

import pytest

from cpuplan.simulate.dynamic import repacking
from cpuplan.simulate.dynamic.repacking import Flow, Item, Layout, cut, repack

ALL, LOW, HIGH = 0b11111111, 0b00001111, 0b11110000
CPUS = [1 << cpu for cpu in range(8)]
CORES = [0b11 << cpu for cpu in range(0, 8, 2)]


def solved(items: Sequence[Item], units: Sequence[int] = CPUS, limit: int = 50_000) -> Layout:
    return repack(items, cut(items, units), limit=limit)


def moved(items: Sequence[Item], layout: Layout) -> int | None:
    """Units that containers get anew which were there before; None without room."""
    if layout.shares is None:
        return None
    pairs = zip(items, layout.shares, strict=True)
    anew = [got for item, shares in pairs if item.old for _, got in shares]
    return sum(anew)


def least(items: Sequence[Item], free: int = ALL) -> int | None:
    """The same of the best of all layouts, tried one by one."""
    costs = [cost for cost in _costs(items, free, {}) if cost is not None]
    return min(costs, default=None)


def _costs(items: Sequence[Item], free: int, regions: dict[str, int]) -> Iterator[int]:
    if not items:
        yield 0
        return
    item, *others = items
    for place, region in enumerate(item.regions):
        if regions.get(item.group, place) != place:
            continue
        inside = [cpu for cpu in CPUS if cpu & region & free]
        for chosen in combinations(inside, item.size):
            mine = sum(chosen)
            cost = (mine & ~item.old).bit_count() if item.old else 0
            for further in _costs(others, free & ~mine, regions | {item.group: place}):
                yield cost + further


EXAMPLES: dict[str, tuple[list[Item], int | None]] = {
    "nothing has to move": ([Item("a", 2, 0b11, (LOW, HIGH)), Item("b", 4, 0, (LOW, HIGH))], 0),
    "the smaller makes room": (
        [
            Item("a", 1, 0b1, (LOW, HIGH)),
            Item("b", 2, 0b110000, (LOW, HIGH)),
            Item("c", 4, 0, (LOW, HIGH)),
        ],
        1,
    ),
    "those of a group move together": (
        [
            Item("a", 1, 0b1, (LOW, HIGH)),
            Item("a", 1, 0b10, (LOW, HIGH)),
            Item("b", 1, 0b10000, (LOW, HIGH)),
            Item("c", 4, 0, (LOW, HIGH)),
        ],
        1,
    ),
    "regions that overlap": (
        [Item("a", 4, 0b111100, (ALL,)), Item("b", 3, 0, (LOW,))],
        1,
    ),
    "all CPUs are taken": ([Item("a", 4, LOW, (LOW, HIGH)), Item("b", 4, 0, (LOW, HIGH))], 0),
    "one more than there are": ([Item("a", 5, 0b11111, (ALL,)), Item("b", 4, 0, (ALL,))], None),
    "room in parts only": (
        [
            Item("a", 3, 0b111, (LOW,)),
            Item("b", 3, 0b1110000, (HIGH,)),
            Item("c", 2, 0, (LOW, HIGH)),
        ],
        None,
    ),
    "no region": ([Item("a", 1, 0, ())], None),
}


@pytest.mark.parametrize(("items", "expected"), EXAMPLES.values(), ids=EXAMPLES)
def test_the_least_that_moves(items: list[Item], expected: int | None) -> None:
    layout = solved(items)
    assert layout.is_exact
    assert moved(items, layout) == expected == least(items)


@pytest.mark.parametrize("seed", range(40))
def test_no_layout_moves_less(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    items, free = [], ALL
    for name in "abc":
        regions = chance.choice([(LOW, HIGH), (ALL,), (LOW, ALL), (0b11000011, LOW)])
        size = chance.randint(1, 3)
        inside = [cpu for cpu in CPUS if cpu & regions[0] & free]
        old = sum(chance.sample(inside, size)) if len(inside) >= size and name != "c" else 0
        free &= ~old
        items.append(Item(name, size, old, regions))
    layout = solved(items)
    assert moved(items, layout) == least(items)
    if layout.shares is not None:
        sizes = [sum(map(sum, shares)) for shares in layout.shares]
        assert sizes == [item.size for item in items]


def test_whole_cores_are_units() -> None:
    items = [Item("a", 2, 0b11, (LOW, HIGH)), Item("b", 4, 0, (LOW, HIGH))]
    cells = cut(items, CORES)
    assert cells == ((0b11, 0b1100), (0b110000, 0b11000000))
    assert repacking.within(cells, 0b110111) == (1, 1)
    assert solved(items, CORES).shares == (((1, 0), (0, 0)), ((0, 0), (0, 2)))


def test_after_the_limit_the_first_room_is_taken() -> None:
    items, _ = EXAMPLES["the smaller makes room"]
    layout = solved(items, limit=1)
    assert not layout.is_exact
    assert layout.shares is not None
    assert [sum(map(sum, shares)) for shares in layout.shares] == [1, 2, 4]
    crowded, _ = EXAMPLES["room in parts only"]
    assert solved(crowded, limit=0) == Layout(None, is_exact=False)
    overlapping, _ = EXAMPLES["regions that overlap"]
    assert moved(overlapping, solved(overlapping, limit=0)) == 1


def test_a_flow_keeps_what_it_can_and_pays_for_the_others() -> None:
    flow = Flow(2, [2, 3])
    flow.add_item(0, 3, [(0, 1), (1, 0)], is_new=False)
    flow.add_item(1, 2, [(0, 2), (1, 0)], is_new=True)
    assert flow.run() == 5
    assert flow.cost == 2
    assert flow.shares(0, [1, 0]) in (((1, 0), (0, 2)), ((0, 0), (0, 3)))


def test_a_flow_ends_where_there_is_no_room() -> None:
    flow = Flow(1, [1, 1])
    flow.add_item(0, 3, [(0, 0), (1, 0)], is_new=True)
    assert flow.run() == 2
    assert flow.cost == 0

"""Each kind of constraint, by layouts of a small machine that it permits and that it does not."""

import pytest

from cpuplan.base.cpuset import MAX_CPU, CpuSet
from cpuplan.solve import constraints
from cpuplan.solve.constraints import (
    AllOrNone,
    Amount,
    Apart,
    Block,
    Constraint,
    Differs,
    Has,
    InOne,
    OneOf,
    OneThread,
    Share,
    Together,
    WholeCores,
    Within,
)
from cpuplan.solve.layout import Scope, View
from tests.unit.solve.problems import machine


def cpus(text: str) -> CpuSet:
    return CpuSet.parse(text)


#: Cores 0,4 and 1,5 are on the first NUMA node, 2,6 and 3,7 on the second.
NODES = (Scope("NUMA node 0", cpus("0-1,4-5")), Scope("NUMA node 1", cpus("2-3,6-7")))
CORES = tuple(cpus(text) for text in ("0,4", "1,5", "2,6", "3,7"))
WHOLE = Scope("the node", cpus("0-7"))
BLOCKS = tuple(Block(scope.cpus, 4) for scope in NODES)
#: One thread of each core is all that a set can have of it.
HALVES = tuple(Block(scope.cpus, 2) for scope in NODES)

LAYOUTS: list[tuple[Constraint, str, str]] = [
    (InOne("a", NODES), "a=0-1,4-5", "a=0,2"),
    (InOne("a", NODES), "b=0-7", "a=0-7"),
    (AllOrNone("a", BLOCKS), "a=2-3,6-7", "a=2-3,6"),
    (AllOrNone("a", BLOCKS), "b=0", "a=0-6"),
    (AllOrNone("a", HALVES), "a=0-1", "a=0-1,4-5"),
    (Share("a", "b", NODES[0], (1, 1, 2)), "a=0,2-3 b=4", "a=0-1 b=4"),
    (Share("a", "b", NODES[0], (1, 1, 2)), "a=0-1 b=4-5", "a=0 b=4-5"),
    (Within("a", cpus("0-3")), "a=0-3 b=7", "a=3-4"),
    (Has("a", cpus("0,4")), "a=0,4,7", "a=0 b=4"),
    (OneOf(("a", "b")), "a=0-3 b=4-7", "a=0-3 b=5-7"),
    (OneOf(("a", "b"), of="c"), "c=0-1 a=0 b=1,7", "c=0-1 a=0 b=2"),
    (Amount("a", WHOLE, "CPUs", 2, 3), "a=0-1", "a=0"),
    (Amount("a", WHOLE, "CPUs", 2, 3), "a=0-2", "a=0-3"),
    (Amount("a", NODES[0], "CPUs", 2, 2), "a=0-3", "a=0,2-3"),
    (Amount("a", WHOLE, "cores", 2, 2), "a=0,4-5", "a=0,4"),
    (Amount("a", WHOLE, "caches", 1, 1, blocks=BLOCKS), "a=0-1,4-5,7", "a=0-1,4"),
    (WholeCores("a"), "a=0,4 b=1-3,5-7", "a=0 b=4"),
    (WholeCores("a"), "b=0", "a=0"),
    (WholeCores("a", ("b",)), "a=0 b=4", "a=0 c=4"),
    (OneThread("a", "b"), "a=0-1 b=4-5", "a=0 b=5"),
    (OneThread("a", "b"), "b=0,4", "a=0,4"),
    (OneThread("a", "b"), "a=0 b=4 c=1,5", "a=0 c=4"),
    (Apart("a", "b", None), "a=0,4 b=1,5", "a=0 b=4"),
    (Apart("a", "b", NODES), "a=0-1 b=2-3", "a=0 b=5"),
    (Together("a", ("b", "c"), None), "a=0-1 b=4 c=5", "a=0-1 b=4 c=6"),
    (Together("a", ("b", "c"), None), "a=0 b=4", "a=0,4"),
    (Together("a", ("b", "c"), None), "b=0", "a=0 b=1"),
    (Together("a", ("b", "c"), NODES), "a=0-2 b=5 c=3", "a=0-2 b=5"),
    (Together("a", ("b", "c"), NODES), "a=0 b=1", "a=2 b=1"),
    (Differs(("a", "b"), cpus("0-3")), "a=0-1 b=2", "a=0-1 b=2-3"),
]


def view(text: str) -> View:
    sets = (part.partition("=") for part in text.split())
    return View(machine(4, 2, numa_nodes=2), {name: cpus(given) for name, _, given in sets})


@pytest.mark.parametrize(("constraint", "kept", "broken"), LAYOUTS)
def test_a_layout_keeps_it_and_another_does_not(
    constraint: Constraint, kept: str, broken: str
) -> None:
    assert [constraint.holds(view(text)) for text in (kept, broken)] == [True, False]


@pytest.mark.parametrize(
    ("constraint", "cpu", "slot", "permits"),
    [
        (Within("a", cpus("0-3")), 3, ("a",), True),
        (Within("a", cpus("0-3")), 4, ("a",), False),
        (Within("a", cpus("0-3")), 4, ("b",), True),
        (Has("a", cpus("0-3")), 3, ("a", "b"), True),
        (Has("a", cpus("0-3")), 3, ("b",), False),
        (Has("a", cpus("0-3")), 4, ("b",), True),
    ],
)
def test_a_slot_of_a_cpu(
    constraint: Within | Has, cpu: int, slot: tuple[str, ...], permits: bool
) -> None:
    assert constraint.permits(cpu, slot) is permits


@pytest.mark.parametrize(
    ("amount", "rooms", "fewest"),
    [(0, [4, 4], 0), (4, [4, 4], 1), (5, [4, 4], 2), (5, [1, 4, 2], 2), (9, [4, 4], 2), (1, [], 0)],
)
def test_the_fewest_parts_for_an_amount(amount: int, rooms: list[int], fewest: int) -> None:
    assert constraints.fewest(amount, rooms) == fewest


def test_a_number_beyond_all_machines_is_as_good_as_any_other() -> None:
    assert constraints.bounded(MAX_CPU + 1) == MAX_CPU + 1
    assert constraints.bounded(10**30) == constraints.bounded(MAX_CPU + 3) == MAX_CPU + 2


@pytest.mark.parametrize(
    ("constraint", "is_of_cores"),
    [
        (WholeCores("a"), True),
        (OneThread("a", "b"), True),
        (Apart("a", "b", None), True),
        (Apart("a", "b", NODES), False),
        (Together("a", ("b",), None), True),
        (Together("a", ("b",), NODES), False),
        (Within("a", cpus("0")), False),
    ],
)
def test_what_is_about_the_threads_of_a_core(constraint: Constraint, is_of_cores: bool) -> None:
    assert constraints.binds_cores(constraint) is is_of_cores
    assert (constraints.on_cores(constraint, CORES) != constraint) is is_of_cores


def test_an_amount_is_told_its_cores() -> None:
    amount = Amount("a", WHOLE, "cores", 1, 1)
    assert constraints.on_cores(amount, CORES) == amount._replace(cores=CORES)


def test_slots_are_grouped_by_the_cores_of_their_threads() -> None:
    slots = [("a",), ("b",), ("c",)]
    assert constraints.slots_by_core(CORES, [5, 0, 4], slots) == [[("b",), ("c",)], [("a",)]]


@pytest.mark.parametrize(
    ("constraint", "sets"),
    [
        (Within("a", cpus("0")), ["0"]),
        (Has("a", cpus("1")), ["1"]),
        (Differs(("a",), cpus("2")), ["2"]),
        (Amount("a", NODES[0], "caches", 0, 1, blocks=BLOCKS[1:]), ["0-1,4-5", "2-3,6-7"]),
        (Share("a", "b", NODES[1], (0,)), ["2-3,6-7"]),
        (InOne("a", NODES), ["0-1,4-5", "2-3,6-7"]),
        (AllOrNone("a", BLOCKS), ["0-1,4-5", "2-3,6-7"]),
        (Apart("a", "b", NODES[:1]), ["0-1,4-5"]),
        (Together("a", ("b",), NODES[1:]), ["2-3,6-7"]),
        (Apart("a", "b", None), []),
        (WholeCores("a"), []),
    ],
)
def test_the_cpus_that_a_constraint_tells_apart(constraint: Constraint, sets: list[str]) -> None:
    assert list(map(str, constraints.sets_of(constraint))) == sets


def test_scopes_that_many_share_are_told_once() -> None:
    shared: list[Constraint] = [
        Apart("a", "b", NODES),
        Apart("a", "c", NODES),
        Within("a", cpus("0")),
    ]
    told = [str(known) for known in constraints.distinguished(shared)]
    assert told == ["0-1,4-5", "2-3,6-7", "0"]

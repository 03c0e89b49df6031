"""Machines of many equal caches, solved part by part and as a whole: the layouts are the same."""

from typing import Any

import pytest

from cpuplan.plan import NodeClass, NodePlan
from cpuplan.solve import goals, model, solver
from cpuplan.solve.layout import View
from cpuplan.solve.model import divided, division
from cpuplan.solve.rules import problem_of
from tests.unit.solve.problems import locate, machine, node_class

#: Two sockets of 24 cores with two threads, four NUMA nodes, 16 caches.
EQUAL = machine(48, 2, sockets=2, numa_nodes=4, caches=16)


def pools(*sizes: int, level: str = "cache", **further: Any) -> dict[str, Any]:
    """Partitions of so many cores, each apart from all others, and `further` pools."""
    partitions: dict[str, dict[str, Any]] = {}
    for number, cores in enumerate(sizes):
        apart = {f"isolated.{other}": level for other in partitions}
        partitions[f"t{number}"] = {"cores": cores} | ({"apart": apart} if apart else {})
    isolated = {"rest": True, "partitions": partitions}
    return {
        "reserved": {"cores": 1, "per": "numaNode"},
        "shared": {"cores": 3},
        "isolated": isolated,
    } | further


CASES: dict[str, dict[str, Any]] = {
    "equal ones, each in a cache": pools(2, 2, 2, 2, 2, 2),
    "equal ones, each in several caches": pools(5, 5, 5, 5),
    "equal ones with a core left": pools(4, 4, 4, 4, 4),
    "unlike ones": pools(7, 3, 1, 6),
    "larger than a NUMA node": pools(14, 16),
    "by NUMA node": pools(5, 9, level="numaNode"),
    "shared in one cache": pools(4, 4, 7, shared={"cores": 3, "within": "cache"}),
    "shared in all NUMA nodes": pools(4, 4, 7, shared={"cores": 1, "per": "numaNode"}),
    "a size in percent, and CPUs that are off": pools(
        3, 3, 8, shared={"percent": 10}, offlined={"percent": 5}
    ),
    "a partition of another pool": pools(
        4, 4, 7, reserved={"cores": 6, "partitions": {"irq": {"cores": 2}}}
    ),
    "no room for whole caches": pools(3, 3, 3, 3, 3, 3, 3, 3, reserved={"cores": 2}),
}


def view(plan: NodePlan) -> View:
    return View(plan.node_class.topology, plan.layout)


def solved(node: NodeClass) -> dict[str, str]:
    plan = solver.solve(node, locate)
    assert plan.limited is None
    assert solver.verify(node, plan.layout)
    return {name: str(cpus) for name, cpus in plan.layout.items()}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Machines of all sizes are divided."""
    monkeypatch.setattr(division, "_MANY", 1)
    monkeypatch.setattr(division, "_WORTH", 0)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("said", CASES.values(), ids=CASES)
def test_parts_have_the_layout_of_the_whole(
    said: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    node = node_class(EQUAL, said)
    by_parts = solved(node)
    monkeypatch.setattr(divided, "slots", lambda *_: None)
    assert solved(node) == by_parts


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("said", CASES.values(), ids=CASES)
def test_the_goals_are_those_without_parts(
    said: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    node = node_class(EQUAL, said)
    aims = goals.aims_of(node)
    by_parts = solver.solve(node, locate)
    monkeypatch.setattr(model, "division_of", lambda *_: None)
    whole = solver.solve(node, locate)
    for aim in aims:
        assert aim.measure(view(by_parts)) == aim.measure(view(whole))


@pytest.mark.usefixtures("small")
def test_equal_sets_take_low_caches_in_their_order() -> None:
    plan = solver.solve(node_class(EQUAL, pools(2, 2, 2, 2, 2, 2)), locate)
    firsts = [plan.layout[f"isolated.t{number}"].first for number in range(6)]
    assert firsts == sorted(firsts)


@pytest.mark.usefixtures("small")
def test_what_all_caches_leave_is_proven_to_be_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each cache has one of the partitions, and so two cores at most for shared.

    As a whole, this is not proven within the limit.
    """
    monkeypatch.setattr(model, "_whole", lambda *_: None)
    node = node_class(EQUAL, pools(*[4] * 8, shared={"cores": 7}))
    plan = solver.solve(node, locate)
    assert plan.limited is None or plan.limited.is_best
    assert solver.verify(node, plan.layout)


def test_machines_without_caches_of_their_own_are_not_divided() -> None:
    node = node_class(machine(400, 2, sockets=2, numa_nodes=8), pools(20, 30))
    assert division.division_of(problem_of(node), goals.aims_of(node)) is None


def test_statements_on_single_caches_divide_nothing() -> None:
    whole = pools(1)
    whole["isolated"]["partitions"]["t1"] = {"wholeCaches": 2}
    node = node_class(machine(384, 2, sockets=2, numa_nodes=8, caches=32), whole)
    assert division.division_of(problem_of(node), goals.aims_of(node)) is None


def test_few_unknowns_are_not_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    """From so many unknowns on, and where the division has so many times fewer."""
    node = node_class(EQUAL, pools(5, 5, 5, 5))
    problem, aims = problem_of(node), goals.aims_of(node)
    monkeypatch.setattr(division, "_MANY", 0)
    monkeypatch.setattr(division, "_WORTH", 0)
    made = division.division_of(problem, aims)
    assert made
    fine, coarse = (sum(map(len, ways)) for ways in (made.ways, made.coarse_ways))
    limits = [(fine, 0), (fine + 1, 0), (0, fine // coarse), (0, fine // coarse + 1)]
    is_divided = []
    for many, worth in limits:
        monkeypatch.setattr(division, "_MANY", many)
        monkeypatch.setattr(division, "_WORTH", worth)
        is_divided.append(division.division_of(problem, aims) is not None)
    assert is_divided == [True, False, True, False]


@pytest.mark.usefixtures("small")
def test_the_parts_have_all_cpus_and_caches_once() -> None:
    node = node_class(EQUAL, pools(5, 5, 5, 5))
    made = division.division_of(problem_of(node), goals.aims_of(node))
    assert made
    cpus = [cpu for block in made.blocks for cpu in block.cpus]
    assert sorted(cpus) == list(node.topology.online)
    assert sorted(index for block in made.blocks for index in block.fine) == list(
        range(len(made.fine))
    )
    cells = [cell for block in made.blocks for cell in block.cells]
    assert len(cells) == len(set(cells)) == 16
    assert all(cell <= block.cpus for block in made.blocks for cell in block.cells)


@pytest.mark.usefixtures("small")
def test_the_fewest_caches_that_have_room() -> None:
    """Each cache has three cores of two threads, and the first core is reserved."""
    node = node_class(EQUAL, pools(5, 5, 5, 5))
    made = division.division_of(problem_of(node), goals.aims_of(node))
    assert made
    rooms = division.Rooms(made)
    assert rooms.everywhere("isolated.t0") == ([6] * 15 + [4], 0)
    amounts = (0, 1, 6, 7, 12, 13, 90, 91, 94)
    fewest = [rooms.fewest("isolated.t0", amount) for amount in amounts]
    assert fewest == [0, 1, 1, 2, 2, 3, 15, 16, 16]
    of_blocks = [rooms.of("isolated.t0", index) for index in range(len(made.blocks))]
    assert [len(inside) for inside, _ in of_blocks] == [len(block.cells) for block in made.blocks]
    assert rooms.fewest("isolated.t0", 7, len(made.blocks) - 1) == 2

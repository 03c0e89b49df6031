"""The limit on the work for a layout: what is found then, what is said, and that it is the same."""

import os
import signal
from threading import Timer
from time import monotonic, process_time

import pytest

from cpuplan.base.topology import Topology
from cpuplan.diagnostics import CpuplanError
from cpuplan.plan import NodeClass, NodePlan
from cpuplan.solve import budget, solver, symmetry
from cpuplan.solve.budget import UndecidedError
from cpuplan.solve.rules import problem_of
from tests.unit.solve.problems import locate, machine, node_class

#: 1,920 CPUs in 120 caches.
LARGE = machine(960, 2, sockets=2, numa_nodes=8, caches=120)
#: Three tenants fill a NUMA node of 100 cores, but no three of these add up to more than 99.
EXACT = [28, 31, 37, 37, 28, 40, 28, 37, 28, 40, 28, 37, 28, 40, 31, 28, 28, 34, 37, 34, 37, 31]
EXACT += [40, 31]


def tenants(topology: Topology, sizes: list[int]) -> NodeClass:
    """Partitions with so many cores, each apart from all others by cache."""
    partitions: dict[str, dict[str, object]] = {}
    for number, cores in enumerate(sizes):
        apart = {f"isolated.{other}": "cache" for other in partitions}
        partitions[f"t{number}"] = {"cores": cores} | ({"apart": apart} if apart else {})
    return node_class(
        topology,
        {
            "reserved": {"cores": 1, "per": "numaNode"},
            "shared": {"cores": 8},
            "isolated": {"rest": True, "partitions": partitions},
        },
    )


def exact() -> NodeClass:
    """A layout that nobody finds soon, and that nobody rules out soon."""
    partitions = {f"t{at}": {"cores": n, "within": "numaNode"} for at, n in enumerate(EXACT)}
    return node_class(
        machine(808, sockets=2, numa_nodes=8, caches=8),
        {
            "reserved": {"cores": 1, "per": "numaNode"},
            "isolated": {"rest": True, "partitions": partitions},
        },
    )


def solved(node: NodeClass, seconds: float) -> NodePlan:
    with budget.limited(seconds):
        return solver.solve(node, locate)


def test_the_best_layout_so_far_is_valid_and_says_what_is_not_proven() -> None:
    node = tenants(machine(128, 2, sockets=2, numa_nodes=8, caches=32), [7, 9, 5, 6])
    goals = set()
    for steps in range(1, 12):
        try:
            plan = solved(node, steps * steps / 200)
        except UndecidedError:
            continue
        assert solver.verify(node, plan.layout)
        for goal in plan.limited.goals if plan.limited else ():
            assert goal.bound is None or goal.bound != goal.reached
            goals.add(goal.goal)
    assert goals
    assert goals <= {*node.spec.objective, "canonical"}


def test_a_machine_of_any_size_ends() -> None:
    """1,920 CPUs and 24 tenants take a minute without a limit."""
    before = process_time()
    plan = solved(tenants(LARGE, [9] * 24), 2)
    assert process_time() - before < 20  # two on the machine where this was measured
    assert 0 in plan.pool("reserved").cpus


def test_a_limit_gives_the_same_layout_every_time() -> None:
    node = tenants(machine(128, 2, sockets=2, numa_nodes=8, caches=32), [7, 9, 5, 6])
    for seconds in (0.2, 0.6):
        plans = [solved(node, seconds) for _ in range(2)]
        assert plans[0].layout == plans[1].layout
        assert plans[0].limited == plans[1].limited


def test_with_enough_of_it_a_limit_changes_nothing() -> None:
    node = tenants(machine(32, 2, sockets=2, numa_nodes=2, caches=8), [3, 2])
    plan = solved(node, 600)
    assert plan.limited is None
    assert plan.layout == solver.solve(node, locate).layout


def test_without_an_answer_it_is_neither_yes_nor_no() -> None:
    with pytest.raises(UndecidedError):
        solved(exact(), 0.5)


def test_the_outermost_limit_holds() -> None:
    with budget.limited(1) as outer, budget.limited(100) as inner:
        assert inner is outer
        outer.spend(10)
        assert budget.current().is_over
    assert not budget.current().is_over


def test_of_a_conflict_that_is_not_narrowed_down_nothing_is_claimed() -> None:
    """Whatever the limit, a smallest conflict is called so only if it was proven."""
    pools = {"reserved": {"cores": 3}, "shared": {"cores": 4}, "isolated": {"cores": 6}}
    node = node_class(machine(8, 2, sockets=2, numa_nodes=2, caches=4), pools)
    with pytest.raises(CpuplanError) as whole:
        solved(node, 60)
    texts = set()
    for units in range(1, 40):
        try:
            solved(node, units / 2000)
        except UndecidedError:
            continue
        except CpuplanError as error:
            (problem,) = error.diagnostics
            is_same = problem.message == whole.value.diagnostics[0].message
            is_open = problem.code == "CP323" or "not all may be needed" in problem.message
            assert is_same or is_open, problem.message
            texts.add(problem.message)
    assert len(texts) > 1


def test_ctrl_c_ends_a_search_at_once_and_is_no_limit() -> None:
    """The solver itself would take it for a wish to have what was found so far."""
    # Shells start programs in the background without a handler.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = Timer(1, os.kill, (os.getpid(), signal.SIGINT))
    before = monotonic()
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            solved(exact(), 600)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert monotonic() - before < 20


def test_a_part_of_a_limit_ends_before_it_and_counts() -> None:
    with budget.limited(10) as whole:
        before = whole.left
        with budget.part(1) as part:
            assert part.seconds == 1
            part.spend(part.left)
            assert budget.current().is_over
            with budget.limited(5) as inner:
                assert inner is part
        assert not budget.current().is_over
        assert whole.left == pytest.approx(before * 0.9)
        with budget.part(100) as part:
            assert part.left == whole.left


def test_work_that_is_more_than_what_is_left_is_not_begun() -> None:
    with budget.limited(1) as limit:
        limit.must_have(limit.left)
        with pytest.raises(UndecidedError):
            limit.must_have(limit.left * 1.01)
        assert limit.is_over


def test_comparing_unlike_tenants_counts() -> None:
    with budget.limited(100) as limit:
        before = limit.left
        sorts = symmetry.sorts(problem_of(tenants(LARGE, list(range(1, 41)))).rules)
        assert len(sorts) > 700  # all of them differ
        assert 0 < before - limit.left < 0.5

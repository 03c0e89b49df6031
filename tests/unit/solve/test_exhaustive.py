"""Solver, verification and conflicts against all layouts of small machines."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cpuplan.cpuset import EMPTY, CpuSet
from cpuplan.diagnostics import CpuplanError, errors
from cpuplan.plan import NodeClass
from cpuplan.solve import conflict, model, solver, statements
from cpuplan.solve.goals import GOALS
from cpuplan.solve.rules import Layout, Rule, problem_of
from cpuplan.topology import Topology
from tests.unit.solve.problems import every_layout, has_its_sizes, locate, machine, node_class

MACHINES = st.builds(
    lambda shape, sockets, numa_nodes, caches, interleaved, offline: machine(
        *shape,
        sockets=sockets,
        numa_nodes=sockets * numa_nodes,
        caches=sockets * numa_nodes * caches,
        interleaved=interleaved,
        offline=CpuSet(offline),
    ),
    st.sampled_from([(2, 1), (4, 1), (6, 1), (2, 2), (3, 2), (4, 2), (2, 4), (1, 8)]),
    st.sampled_from([1, 2]),
    st.sampled_from([1, 2]),
    st.sampled_from([1, 2]),
    st.booleans(),
    st.sampled_from([(), (), (), (5,), (0,), (3, 4)]),
)


def sizes(cpus: int) -> st.SearchStrategy[dict[str, Any]]:
    lists = st.sets(st.integers(0, cpus - 1), max_size=4).map(lambda found: {"cpus": str(CpuSet(found))})
    numbers = st.tuples(st.sampled_from(["count", "count", "cores"]), st.integers(0, 4)).map(lambda pair: dict([pair]))
    shares = st.integers(1, 100).map(lambda percent: {"percent": percent})
    scoped = st.tuples(numbers | shares, st.sampled_from(["machine", "machine", "socket", "numaNode"]))
    size = lists | scoped.map(lambda pair: {**pair[0], "per": pair[1]}) | st.just({"rest": True})
    whole = st.sampled_from([{}, {}, {"wholeCores": False}, {"wholeCores": False}, {"wholeCores": True}])
    return st.tuples(size, whole).map(lambda pair: {**pair[0], **pair[1]})


@st.composite
def problems(draw: st.DrawFn) -> NodeClass:
    topology: Topology = draw(MACHINES)
    pool = sizes(topology.online.last + 1)
    pools = {"reserved": draw(pool)}
    for name in ("shared", "isolated", "offlined"):
        if draw(st.booleans()):
            pools[name] = draw(pool)
    node = node_class(topology, pools, draw(st.sampled_from(["static", "static", "none"])))
    assume(not errors(statements.check(node, locate)))
    return node


def merit(node: NodeClass, layout: Layout) -> tuple[int, ...]:
    """What the first goals compare, smaller is better."""
    topology = node.topology
    split = sum(not any(siblings <= cpus for cpus in layout.values()) for siblings in topology.cores.values())
    nodes = [
        sum(bool(layout.get(name, EMPTY) & cpus) for cpus in topology.numa_nodes.values())
        for name in ("reserved", "shared")
    ]
    return (topology.online.first not in layout["reserved"], split, *nodes)


@settings(deadline=None, max_examples=150)
@given(problems())
def test_a_layout_is_found_if_there_is_one_and_it_is_the_best(node: NodeClass) -> None:
    layouts = [layout for layout in every_layout(node) if has_its_sizes(node, layout)]
    if not layouts:
        with pytest.raises(CpuplanError) as caught:
            solver.solve(node, locate)
        assert {found.code for found in caught.value.diagnostics} <= {"CP401", "CP402"}
        return
    plan = solver.solve(node, locate)
    found = {pool.name: pool.cpus for pool in plan.pools}
    assert found in layouts
    assert merit(node, found) == min(merit(node, layout) for layout in layouts)
    assert all(pool.because for pool in plan.pools)
    assert solver.verify(node, found)


@settings(deadline=None, max_examples=60)
@given(problems(), st.data())
def test_verify_accepts_what_the_intent_allows_and_nothing_else(node: NodeClass, data: st.DataObject) -> None:
    names = list(problem_of(node).pools)
    places = {cpu: data.draw(st.sampled_from(names)) for cpu in node.topology.online}
    layout = {name: CpuSet(cpu for cpu in places if places[cpu] == name) for name in names}
    allowed = layout in list(every_layout(node)) and has_its_sizes(node, layout)
    assert solver.verify(node, layout) is allowed


@settings(deadline=None, max_examples=60)
@given(problems())
def test_conflicts_are_minimal(node: NodeClass) -> None:
    problem = problem_of(node)

    def feasible(rules: Sequence[Rule]) -> bool:
        return model.feasible(problem.having(rules))

    for rules in conflict.disjoint(problem.rules, feasible):
        assert not feasible(rules)
        for rule in rules:
            assert feasible([other for other in rules if other is not rule])


@settings(deadline=None, max_examples=30)
@given(problems(), st.randoms(use_true_random=False))
def test_the_order_of_rules_and_cpus_makes_no_difference(node: NodeClass, random: Any) -> None:
    def solved(some: NodeClass) -> object:
        try:
            return solver.solve(some, locate).pools
        except CpuplanError as error:
            return error.diagnostics

    cpus = list(node.topology.cpus)
    random.shuffle(cpus)
    again = node_class(
        Topology(cpus, offline=node.topology.offline),
        dict(reversed(node.spec.pools.model_dump(mode="json", by_alias=True, exclude_unset=True).items())),
        node.spec.kubelet.cpu_manager_policy,
    )
    assert solved(again) == solved(node)
    problem = problem_of(node)
    rules = list(problem.rules)
    random.shuffle(rules)
    assert model.layout(problem.having(rules), GOALS) == model.layout(problem, GOALS)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_seed_makes_no_difference(seed: int) -> None:
    """The goals leave nothing to choose, so nothing that the solver does on its way shows in the layout."""
    pools = {
        "reserved": {"count": 3, "wholeCores": False},
        "shared": {"count": 5, "wholeCores": False},
        "offlined": {"cores": 3},
        "isolated": {"rest": True, "wholeCores": False},
    }
    node = node_class(machine(16, 2, sockets=2, numa_nodes=4, caches=8, interleaved=True), pools)
    first = solver.solve(node, locate).pools
    made = model._Model(problem_of(node))
    made.solver.parameters.random_seed = seed
    made.solver.parameters.randomize_search = True
    for goal in GOALS:
        for term in made.terms(goal):
            assert made.maximise([term])
    chosen = made.chosen()
    assert {pool.name: pool.cpus for pool in first} == {name: chosen[name] for name in chosen}

"""Solver, verification and conflicts against all layouts of small machines."""

from collections.abc import Sequence
from functools import cache
from itertools import combinations
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.base.topology import Topology
from cpuplan.diagnostics import CpuplanError, errors
from cpuplan.language.model.inventory import Device
from cpuplan.plan import NodeClass, NodePlan
from cpuplan.solve import conflict, feasibility, model, solver
from cpuplan.solve.goals import aims_of
from cpuplan.solve.layout import View
from cpuplan.solve.model import engine
from cpuplan.solve.rules import problem_of
from cpuplan.solve.rules.rule import Rule
from tests.unit.solve import oracle
from tests.unit.solve.problems import locate, machine, node_class

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
DEVICES = tuple(
    Device.model_validate(
        {"address": f"0000:0{at}:00.0", "class": kind, "driver": driver, "numaNode": node}
    )
    for at, (kind, driver, node) in enumerate(
        [("network", "ice", 0), ("network", "mlx5", 1), ("gpu", "nvidia", 1)]
    )
)
PARTS = ("cache", "die", "numaNode", "socket")
_MOST_SETS, _MOST_THREADS = 4, 4
TWO_CONTAINERS = {
    "kind": "Pod",
    "spec": {
        "containers": [
            {"name": name, "resources": {"limits": {"cpu": 1, "memory": "1Gi"}}}
            for name in ("a", "b")
        ]
    },
}
RULES = ["cpu0-reserved", "whole-cores", "reserved-not-empty", "isolated-not-empty"]
#: Few layouts are tried in a moment, and those of a small problem are enough.
MOST_LAYOUTS = 3000


@cache
def one_of(*choices: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(choices)


@cache
def new_sizes(names: tuple[str, ...]) -> st.SearchStrategy[dict[str, Any]]:
    """Whole caches, CPUs for devices, steps, and shares of other sets."""
    numbers = st.tuples(one_of("count", "cores", "min"), st.integers(0, 2)).map(
        lambda pair: dict([pair])
    )
    devices = st.tuples(
        numbers, st.sampled_from([{"class": "network"}, {"driver": "ice"}, {"class": "gpu"}])
    ).map(lambda pair: {**pair[0], "perDevice": pair[1]})
    caches = st.fixed_dictionaries(
        {"wholeCaches": st.integers(0, 2)}, optional={"per": one_of("socket", "numaNode")}
    )
    step = st.fixed_dictionaries({"percent": one_of("0.25", 6, "12.5", 50, 100)})
    steps = st.tuples(st.lists(st.integers(1, 3), max_size=2), st.booleans(), step, step).map(
        lambda drawn: {
            "steps": [
                *({"cpus": cpus, **drawn[2]} for cpus in drawn[0]),
                *([drawn[3]] if drawn[1] or not drawn[0] else []),
            ]
        }
    )
    percent = st.fixed_dictionaries({"percent": st.integers(1, 100)})
    shares = st.tuples(
        steps | percent,
        st.fixed_dictionaries(
            {},
            optional={
                "of": one_of(*names),
                "min": one_of(1, 2),
                "max": one_of(2, 3, 5),
                "per": one_of("socket", "numaNode", "cache"),
            },
        ),
    ).map(lambda pair: {**pair[0], **pair[1]})
    return devices | caches | shares | shares


@cache
def sizes(cpus: int) -> st.SearchStrategy[dict[str, Any]]:
    lists = st.sets(st.integers(0, cpus - 1), max_size=4).map(
        lambda cpus: {"cpus": str(CpuSet(cpus))}
    )
    numbers = st.tuples(one_of("count", "count", "cores"), st.integers(0, 4)).map(
        lambda pair: dict([pair])
    )
    ranges = st.fixed_dictionaries({"min": st.integers(0, 2)}, optional={"max": st.integers(2, 4)})
    shares = st.fixed_dictionaries(
        {"percent": st.integers(1, 100)},
        optional={"min": one_of(1, 2), "max": one_of(2, 3, 4, 5, 7)},
    )
    scoped = st.tuples(
        numbers | numbers | ranges | shares,
        one_of("machine", "machine", "socket", "numaNode", "cache"),
    )
    size = lists | scoped.map(lambda pair: {**pair[0], "per": pair[1]}) | st.just({"rest": True})
    whole = st.sampled_from(
        [{}, {}, {"wholeCores": False}, {"wholeCores": False}, {"wholeCores": True}]
    )
    return st.tuples(size, whole).map(lambda pair: {**pair[0], **pair[1]})


@cache
def places(cpus: int, names: tuple[str, ...]) -> st.SearchStrategy[dict[str, Any]]:
    """Sometimes one place, sometimes one neighbour."""
    others = st.dictionaries(
        st.sampled_from(names),
        one_of("core", "cache", "numaNode", "socket"),
        min_size=1,
        max_size=1,
    )
    keys = {
        "numaNodes": one_of(0, 1, "0-1", "1-2"),
        "sockets": one_of(0, 1, "0-1"),
        "caches": one_of(0, 1, "0-2"),
        "never": st.sets(st.integers(0, cpus - 1), min_size=1, max_size=2).map(
            lambda cpus: str(CpuSet(cpus))
        ),
        "near": st.sampled_from([{"class": "network"}, {"driver": "ice"}, {"class": "gpu"}]),
        "sibling": one_of("idle", *names),
        "apart": others,
        "together": others,
    }
    some = st.sampled_from(sorted(keys)).flatmap(
        lambda key: keys[key].map(lambda value: {key: value})
    )
    return one_of(0, 0, 1).flatmap(lambda many: some if many else st.just({}))


@st.composite
def problems(draw: st.DrawFn) -> NodeClass:
    topology: Topology = draw(MACHINES)
    cpus = topology.online.last + 1
    pools = [
        "reserved",
        *(name for name in ("shared", "isolated", "isolcpus", "offlined") if draw(one_of(0, 0, 1))),
    ]
    partitions = draw(one_of((), (), ("a",), ("a", "b"))) if "isolated" in pools else ()
    qos = draw(one_of((), (), (), ("bestEffort",), ("other",), ("bestEffort", "other")))
    reserved = draw(one_of((), (), (), ("irq",), ("irq", "system")))
    names = (
        *pools,
        *(f"reserved.{name}" for name in reserved),
        *(f"isolated.{name}" for name in partitions),
        *qos,
    )

    # A core of eight threads has millions of ways to be used by as many sets where no rule keeps
    # siblings together: a conflict there takes minutes and gigabytes.
    assume(len(names) <= _MOST_SETS or max(map(len, topology.cores.values())) <= _MOST_THREADS)

    def pool(name: str) -> dict[str, Any]:
        others = tuple(other for other in names if other != name)
        size = draw(new_sizes(others or names) if draw(one_of(0, 0, 1)) else sizes(cpus))
        within = {"within": draw(one_of(*PARTS))} if draw(one_of(0, 0, 0, 1)) else {}
        return size | within | draw(places(cpus, names))

    said: dict[str, Any] = {name: pool(name) for name in pools}
    if partitions:
        alone = draw(st.booleans())
        said["isolated"] = (draw(places(cpus, names)) if alone else said["isolated"]) | {
            "partitions": {name: pool(f"isolated.{name}") for name in partitions}
        }
    if reserved:
        alone = draw(st.booleans())
        said["reserved"] = (draw(places(cpus, names)) if alone else said["reserved"]) | {
            "partitions": {name: pool(f"reserved.{name}") for name in reserved}
        }
    further: dict[str, Any] = {"qos": {name: pool(name) for name in qos}}
    further["rules"] = [
        {"disable": name, "because": "-"} for name in RULES if not draw(one_of(0, 1, 1, 1))
    ]
    if not draw(one_of(0, 1, 1, 1)):
        further["rules"].append({"enable": "reserved-on-every-numa-node", "because": "-"})
    if "isolated" in pools and draw(one_of(0, 0, 0, 1)):
        pool_name = draw(
            st.sampled_from(["isolated", *(f"isolated.{name}" for name in partitions)])
        )
        further["workloads"] = [
            {
                "name": "du",
                **draw(st.sampled_from([{"cpus": 1}, {"cpus": 2}, {"manifest": TWO_CONTAINERS}])),
                "pods": draw(one_of(1, 2)),
                "per": draw(one_of("machine", "numaNode")),
                "pool": pool_name,
            }
        ]
    further["objective"] = draw(
        st.permutations(node_class(topology, {"reserved": 0}).spec.objective)
    )
    policy = draw(one_of("static", "static", "none"))
    try:
        node = node_class(topology, said, policy, devices=DEVICES, **further)
    except ValueError:  # sizes that go together with nothing
        assume(False)
    assume(not errors(solver.check_statements(node, locate)))
    return node


def layouts(node: NodeClass) -> list[oracle.Bits]:
    """All layouts that the intent allows."""
    every = oracle.every_layout(node, MOST_LAYOUTS)
    assume(every is not None)
    return [layout for layout in every or () if oracle.fits(node, layout)]


def sets_of(plan: NodePlan) -> dict[str, CpuSet]:
    return {pool.name: pool.cpus for pool in (*plan.pools, *plan.sets)}


def check_best(node: NodeClass, data: st.DataObject) -> None:
    allowed = layouts(node)
    if not allowed:
        assert not model.feasible(problem_of(node))
        return
    committed = None
    if data.draw(st.booleans()):
        pools = [name for name in oracle.asked(node).said if name in oracle.POOLS]
        places = {cpu: data.draw(st.sampled_from(pools)) for cpu in node.topology.online}
        committed = dict.fromkeys(pools, EMPTY)
        for cpu, pool in places.items():
            committed[pool] |= CpuSet([cpu])
    plan = solver.solve(node, locate, committed)
    solved = sets_of(plan)
    bits = {name: cpus.bits for name, cpus in solved.items()}
    assert bits in allowed
    assert oracle.merit(node, bits, committed) == min(
        oracle.merit(node, layout, committed) for layout in allowed
    )
    assert all(pool.because for pool in (*plan.pools, *plan.sets))
    assert solver.verify(node, solved)
    aims, topology = aims_of(node, committed), node.topology
    other = data.draw(st.sampled_from(allowed))
    best, possible = View(topology, solved), View(topology, oracle.to_sets(other))
    assert [aim.measure(best) for aim in aims] <= [aim.measure(possible) for aim in aims]


@settings(deadline=None, max_examples=100, suppress_health_check=list(HealthCheck))
@given(problems(), st.data())
def test_a_layout_is_found_if_there_is_one_and_it_is_the_best(
    node: NodeClass, data: st.DataObject
) -> None:
    check_best(node, data)


@pytest.mark.slow
@settings(deadline=None, max_examples=1000, suppress_health_check=list(HealthCheck))
@given(problems(), st.data())
def test_thousands_of_layouts_are_the_best(node: NodeClass, data: st.DataObject) -> None:
    check_best(node, data)


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(problems(), st.data())
def test_verify_accepts_what_the_intent_allows_and_nothing_else(
    node: NodeClass, data: st.DataObject
) -> None:
    allowed = layouts(node)
    slots = oracle.slots(oracle.asked(node).said)
    places = {cpu: data.draw(st.sampled_from(slots)) for cpu in node.topology.online}
    layout = dict.fromkeys(oracle.asked(node).said, 0)
    for cpu, slot in places.items():
        for name in slot:
            layout[name] |= 1 << cpu
    assert solver.verify(node, oracle.to_sets(layout)) is (layout in allowed)
    for right in allowed[:20]:
        assert solver.verify(node, oracle.to_sets(right))


@settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
@given(problems())
def test_what_fits_nowhere_is_told(node: NodeClass) -> None:
    assume(not model.feasible(problem_of(node)))
    with pytest.raises(CpuplanError) as caught:
        solver.solve(node, locate)
    assert {diagnostic.code for diagnostic in caught.value.diagnostics} <= {"CP401", "CP402"}


@pytest.mark.slow
@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(problems())
def test_conflicts_are_the_smallest(node: NodeClass) -> None:
    problem = problem_of(node)

    def feasible(rules: Sequence[Rule]) -> bool:
        return model.feasible(problem.having(rules))

    remaining = list(problem.rules)
    for rules, is_smallest, _ in conflict.disjoint(
        problem.rules, feasibility.oracle(problem, 10_000)
    ):
        assert is_smallest
        assert not feasible(rules)
        for rule in rules:
            assert feasible([other for other in rules if other is not rule])
        # With one statement less, none of the sets that there are contradicts itself.
        assert all(feasible(some) for some in combinations(remaining, len(rules) - 1))
        remaining = [rule for rule in remaining if rule not in rules]


@settings(deadline=None, max_examples=30, suppress_health_check=list(HealthCheck))
@given(problems(), st.randoms(use_true_random=False))
@pytest.mark.slow
def test_the_order_of_rules_and_cpus_makes_no_difference(node: NodeClass, random: Any) -> None:
    def solved(some: NodeClass) -> object:
        try:
            return sets_of(solver.solve(some, locate))
        except CpuplanError as error:
            return error.diagnostics

    cpus = list(node.topology.cpus)
    random.shuffle(cpus)
    again = node.saying(node.spec)
    again.topology = Topology(cpus, offline=node.topology.offline)
    assert solved(again) == solved(node)
    problem = problem_of(node)
    rules = list(problem.rules)
    random.shuffle(rules)
    aims = aims_of(node)
    assert model.layout(problem.having(rules), aims) == model.layout(problem, aims)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_seed_makes_no_difference(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Aims and the canonical choice leave nothing open.

    So nothing that the solver does on its way shows.
    """
    pools = {
        "reserved": {"count": 3, "wholeCores": False},
        "shared": {"count": 5, "wholeCores": False},
        "offlined": {"cores": 3},
        "isolated": {"rest": True, "wholeCores": False},
    }
    node = node_class(machine(16, 2, sockets=2, numa_nodes=4, caches=8, interleaved=True), pools)
    first = solver.solve(node, locate).pools
    new_solver = engine.new_solver

    def seeded(cp_model: Any) -> Any:
        made = new_solver(cp_model)
        made.parameters.random_seed = seed
        made.parameters.randomize_search = True
        made.parameters.num_workers = 2
        return made

    monkeypatch.setattr(engine, "new_solver", seeded)
    assert solver.solve(node, locate).pools == first

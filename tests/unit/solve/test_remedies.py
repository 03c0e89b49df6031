"""Remedies that are printed are done as they say: afterwards there is a layout."""

import gc
import json
from collections.abc import Sequence
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.topology import Topology
from cpuplan.diagnostics import CpuplanError, Diagnostic, errors
from cpuplan.plan import NodeClass
from cpuplan.solve import model, solver
from cpuplan.solve.rules import problem_of
from tests.unit.solve.following import SEVERAL, UNTRIED, WITHOUT, follow
from tests.unit.solve.problems import locate, machine, node_class
from tests.unit.solve.test_exhaustive import DEVICES, problems

SERVER = machine(64, 2, sockets=2, numa_nodes=2)


def failure(node: NodeClass) -> Sequence[Diagnostic]:
    with pytest.raises(CpuplanError) as caught:
        solver.solve(node, locate)
    return caught.value.diagnostics


def after(node: NodeClass, remedies: Sequence[str]) -> NodeClass:
    """The class whose intent was changed as the remedies say, read again as a document is."""
    spec = json.loads(node.spec.model_dump_json(by_alias=True, exclude_unset=True))
    for remedy in dict.fromkeys(remedies):
        for part in remedy.split(", and "):
            follow(spec, part)
    policy = spec.get("kubelet", {}).get("cpuManagerPolicy", "static")
    further = {key: spec[key] for key in ("qos", "rules", "workloads", "objective") if key in spec}
    return node_class(node.topology, spec["pools"], policy, devices=DEVICES, **further)


def check(node: NodeClass) -> None:
    """Each remedy of one conflict helps; those of several conflicts do together."""
    problems = failure(node)
    if len(problems) == 1:
        for remedy in problems[0].remedy.split(", or "):
            if remedy not in (SEVERAL, UNTRIED):
                solver.solve(after(node, [remedy]), locate)
        return
    remedies = [problem.remedy for problem in problems]
    if not {SEVERAL, UNTRIED}.isdisjoint(remedies):
        # Only some can be mended, and each of these says so.
        assert all(
            remedy in (SEVERAL, UNTRIED) or remedy.endswith(WITHOUT) for remedy in remedies
        ), remedies
        return
    solver.solve(after(node, [problem.remedy for problem in problems]), locate)


@pytest.mark.slow
@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(problems())
def test_what_is_proposed_gives_a_layout(node: NodeClass) -> None:
    assume(not model.feasible(problem_of(node)))
    check(node)


_CHECKED = count(1)


@pytest.mark.slow
@settings(deadline=None, max_examples=300, suppress_health_check=list(HealthCheck))
@given(problems())
def test_hundreds_of_proposals_give_layouts(node: NodeClass) -> None:
    assume(not model.feasible(problem_of(node)))
    check(node)
    # Models of the solver are small to Python's collector, which leaves them where they are, and
    # large in memory. It walks all that a process has, so that it is not asked each time.
    if not next(_CHECKED) % 20:
        gc.collect()


def test_whole_caches_are_counted_without_the_statement_that_halves_them() -> None:
    """Of idle siblings each core has one CPU to give, unless their statement is left out."""
    pools = {
        "reserved": {"cpus": ""},
        "isolated": {"wholeCaches": 0, "sibling": "idle"},
        "offlined": {"cpus": "0"},
    }
    off = ("cpu0-reserved", "reserved-not-empty")
    rules = [{"disable": name, "because": "-"} for name in off]
    rules.append({"enable": "reserved-on-every-numa-node", "because": "-"})
    check(node_class(machine(2, 4), pools, rules=rules))


REST_WITH_PARTITIONS = ", or ".join(
    [
        "write rest: true under isolated instead of cores",
        "raise isolated.cores to 62",
        "raise reserved.cores to 60",
    ]
)
ROWS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "one change each": (
        {"reserved": {"count": 3}, "shared": {"count": 5}},
        ["raise reserved.count to 4", "raise shared.count to 6"],
    ),
    "what one takes the other has not": (
        {
            "reserved": {"count": 3, "sockets": 0},
            "shared": {"cores": 33, "sockets": 0},
            "isolated": "rest",
        },
        ["lower shared.cores to 31", "lower reserved.count to 2"],
    ),
    "three conflicts": (
        {"reserved": {"count": 3}, "shared": {"count": 5}, "isolcpus": {"cores": 40, "sockets": 0}},
        ["lower isolcpus.cores to 31", "raise reserved.count to 4", "raise shared.count to 6"],
    ),
    "no single change": (
        {"reserved": {"cores": 40, "sockets": 0}, "shared": {"cores": 40, "sockets": 0}},
        ["lower reserved.cores to 16, and lower shared.cores to 16"],
    ),
    "a number that a later change says again": (
        {"reserved": {"count": 3, "numaNodes": 1}, "isolated": {"cores": 70}},
        [
            "lower isolated.cores to 62",
            "raise reserved.count to 4, and lower isolated.cores to 62",
            "move reserved to NUMA node 0",
        ],
    ),
    "a bound beside a share": (
        {"reserved": {"percent": 50, "max": 1}},
        ["raise reserved.max to 2, or write wholeCores: false under reserved"],
    ),
    "the upper end of a range": (
        {"reserved": {"min": 1, "max": 1}, "isolated": {"rest": True}},
        ["raise reserved.max to 2, or write wholeCores: false under reserved"],
    ),
    "a rest with partitions": (
        {"reserved": {"cores": 2}, "isolated": {"cores": 4, "partitions": {"dpdk": {"cores": 2}}}},
        [
            REST_WITH_PARTITIONS,
        ],
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_what_is_proposed(name: str) -> None:
    pools, expected = ROWS[name]
    node = node_class(SERVER, pools)
    assert [problem.remedy for problem in failure(node)] == expected
    check(node)


SMT8 = machine(8, 8, sockets=2, numa_nodes=2)


@pytest.mark.parametrize("topology", [SERVER, SMT8, machine(12, sockets=2, numa_nodes=4, caches=4)])
@pytest.mark.parametrize(
    "pools",
    [
        {
            "reserved": {"count": 3},
            "shared": {"count": 5},
            "offlined": {"count": 7},
            "isolated": {"percent": 90},
        },
        {"reserved": {"cores": 90, "sockets": 0}, "shared": {"cores": 90, "sockets": 1}},
        {
            "reserved": {"cores": 9, "numaNodes": 1},
            "isolated": {"cores": 99, "numaNodes": 0},
            "shared": {"count": 1},
        },
        {
            "reserved": {"percent": 60},
            "isolated": {"percent": 70},
            "shared": {"cores": 1, "apart": {"reserved": "socket"}},
        },
    ],
)
def test_remedies_of_several_conflicts_hold_together(
    topology: Topology, pools: dict[str, Any]
) -> None:
    node = node_class(topology, pools)
    assume_no_layout = not model.feasible(problem_of(node))
    if assume_no_layout:
        check(node)


HALF = machine(32, 2, sockets=2, numa_nodes=2)
#: Lists that split cores: each pair of what is written and what is proposed.
LISTS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "siblings in no list": (
        {"reserved": "0-1"},
        ["list 0-1,32-33, or write wholeCores: false under reserved"],
    ),
    "reserved is a number, and has nothing left": (
        {"reserved": {"cores": 2}, "isolated": "0-31", "shared": "rest"},
        ["list 16-31,48-63"],
    ),
    "first threads here, second ones there": (
        {"reserved": "0-31", "isolated": "32-63"},
        [
            "list 0-15,32-47, or write wholeCores: false under reserved",
            "list 16-31,48-63, or write wholeCores: false under isolated",
        ],
    ),
    "siblings in the list of another pool": (
        {"reserved": "0-3", "isolated": "4-63"},
        [
            "list 0-1,32-33, or write wholeCores: false under reserved",
            "list 2-31,34-63, or write wholeCores: false under isolated",
        ],
    ),
    "a partition": (
        {"reserved": "0-1,32-33", "isolated": {"rest": True, "partitions": {"dpdk": "2-5"}}},
        ["list 2-5,34-37, or write wholeCores: false under isolated.dpdk"],
    ),
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_that_are_proposed_overlap_nothing(name: str) -> None:
    pools, expected = LISTS[name]
    node = node_class(HALF, pools)
    problems = [
        problem for problem in solver.check_statements(node, locate) if problem.code == "CP352"
    ]
    assert [problem.remedy for problem in problems] == expected
    for way in range(max(problem.remedy.count(", or ") for problem in problems) + 1):
        spec = json.loads(node.spec.model_dump_json(by_alias=True, exclude_unset=True))
        for problem in problems:
            pool = problem.message.split(" ")[0]
            remedy = problem.remedy.split(", or ")[way]
            follow(
                spec,
                remedy.replace(
                    "list ", f"list whole cores in {pool.replace('ed.', 'ed.partitions.')}.cpus: "
                ),
            )
        changed = node_class(HALF, spec["pools"])
        assert errors(solver.check_statements(changed, locate)) == []
        solver.solve(changed, locate)


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.sampled_from(["reserved", "shared", "isolated", ""]), min_size=12, max_size=12),
    st.booleans(),
)
def test_lists_are_proposed_where_there_are_some(owners: list[str], by_number: bool) -> None:
    topology = machine(6, 2)
    pools: dict[str, Any] = {}
    for name in ("reserved", "shared", "isolated"):
        cpus = [cpu for cpu in range(12) if owners[cpu] == name]
        if cpus:
            pools[name] = {"cpus": str(CpuSet(cpus))}
    if by_number or "reserved" not in pools:
        pools["reserved"] = {"cores": 1}
    node = node_class(topology, pools | {"offlined": "rest"})
    problems = [
        problem
        for problem in errors(solver.check_statements(node, locate))
        if problem.code == "CP352"
    ]
    listed = {
        problem.message.split(" ")[0]: problem.remedy.split(", or ")[0] for problem in problems
    }
    assume(listed and all(remedy.startswith("list ") for remedy in listed.values()))
    changed = {name: {"cpus": remedy.removeprefix("list ")} for name, remedy in listed.items()}
    assert (
        errors(
            solver.check_statements(
                node_class(topology, pools | changed | {"offlined": "rest"}), locate
            )
        )
        == []
    )


SMALL, ONE_SOCKET = machine(32, 2, sockets=2, numa_nodes=2), machine(64, 2)


@pytest.mark.parametrize(
    ("pools", "other", "expected"),
    [
        # The other machine has no layout either: what settles both is taken.
        ({"reserved": {"cores": 4}, "isolated": {"cores": 62}}, SMALL, "write isolated: rest"),
        # It has one, and keeps one.
        (
            {"reserved": {"cores": 20, "sockets": 0}, "shared": {"cores": 20, "sockets": 0}},
            ONE_SOCKET,
            "lower reserved.cores to 12, or lower shared.cores to 12, or remove reserved.sockets",
        ),
        (
            {"reserved": {"cores": 2, "sockets": 0}, "shared": {"cores": 31, "sockets": 0}},
            machine(48, 2, sockets=2, numa_nodes=2),  # has a layout as soon as shared has 22 cores
            "lower shared.cores to 22, or remove shared.sockets",
        ),
    ],
)
def test_other_machines_of_the_intent_keep_their_layouts(
    pools: dict[str, Any], other: Topology, expected: str
) -> None:
    node, kin = node_class(SERVER, pools), node_class(other, pools)
    with pytest.raises(CpuplanError) as caught:
        solver.solve(node, locate, kin=[kin])
    (problem,) = caught.value.diagnostics
    assert problem.remedy == expected
    for remedy in problem.remedy.split(", or "):
        for case in (node, kin):
            solver.solve(after(case, [remedy]), locate)


@pytest.mark.parametrize(
    ("size", "further"),
    [
        (
            {"wholeCaches": 1},
            {"rules": [{"enable": "reserved-on-every-numa-node", "because": "-"}]},
        ),
        (
            {"percent": 1},
            {"workloads": [{"name": "du", "cpus": 1, "per": "numaNode", "pool": "isolated"}]},
        ),
    ],
)
def test_a_statement_that_a_change_took_out_is_proposed_no_more(
    size: dict[str, Any], further: dict[str, Any]
) -> None:
    """`isolated: rest` takes out `within` too, which another conflict has."""
    isolated = size | {"within": "cache", "apart": {"reserved": "core"}}
    pools: dict[str, Any] = {"reserved": {"cpus": ""}, "isolated": isolated}
    check(node_class(machine(4, 1, sockets=1, numa_nodes=2, caches=2), pools, "none", **further))


def test_numbers_of_several_statements_change_by_equal_shares() -> None:
    caches = machine(32, 2, sockets=2, numa_nodes=2, caches=8)
    pools = {
        "reserved": {"cores": 1, "per": "numaNode"},
        "isolated": {"rest": True, "partitions": {n: {"wholeCaches": 7} for n in ("a", "b")}},
    }
    node = node_class(caches, pools)
    (problem,) = failure(node)
    assert problem.remedy == (
        "lower isolated.partitions.a.wholeCaches to 3, "
        "and lower isolated.partitions.b.wholeCaches to 3"
    )
    check(node)


def test_of_several_workloads_each_has_its_pods() -> None:
    workloads = [
        {"name": "du", "cpus": 2, "pods": 32, "per": "numaNode"},
        {"name": "cu", "cpus": 4, "pods": 32},
    ]
    node = node_class(
        SERVER,
        {"reserved": {"cores": 1, "per": "numaNode"}, "isolated": "rest"},
        workloads=workloads,
    )
    (problem,) = failure(node)
    assert problem.remedy == "lower workloads.0.pods to 16, and lower workloads.1.pods to 15"
    check(node)


def test_a_partition_that_has_no_place_can_be_taken_out() -> None:
    parts: dict[str, dict[str, Any]] = {"a": {"cores": 1}, "b": {"cores": 1}}
    parts["c"] = {"cores": 1, "apart": {"isolated.a": "core"}}
    pools = {"reserved": {"cores": 1}, "isolated": {"rest": True, "partitions": parts}}
    node = node_class(machine(3, 2), pools)
    (problem,) = failure(node)
    assert problem.remedy == "remove isolated.partitions.c"
    check(node)


def test_numbers_and_other_statements_are_changed_together() -> None:
    parts = {
        "a": {"cores": 4, "within": "cache"},
        "b": {"wholeCaches": 9},
        "c": {"cores": 1, "per": "socket", "apart": {"isolated.d": "socket"}},
        "d": {"cores": 1, "together": {"isolated.c": "socket"}},
    }
    pools = {
        "reserved": {"count": 1},
        "shared": {"cores": 33, "numaNodes": "0"},
        "isolated": {"rest": True, "partitions": parts},
    }
    node = node_class(machine(32, 2, sockets=2, numa_nodes=2, caches=8), pools)
    problems = failure(node)
    assert len(problems) > 2
    assert not {SEVERAL, UNTRIED}.intersection(problem.remedy for problem in problems)
    check(node)

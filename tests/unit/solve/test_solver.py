"""Layouts and their reasons."""

import subprocess
import sys
from typing import Any

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.topology import Topology
from cpuplan.diagnostics import CpuplanError
from cpuplan.solve import solver
from tests.unit.solve.problems import locate, machine, node_class

SERVER = machine(16, 2, sockets=2, numa_nodes=2, caches=4)
DELL = machine(16, 2, sockets=2, numa_nodes=2, caches=4, interleaved=True)
PLAIN = machine(8, numa_nodes=2)


@pytest.mark.parametrize(
    ("topology", "pools", "layout"),
    [
        (SERVER, {"reserved": {"cores": 2}}, {"reserved": "0-1,16-17", "isolated": "2-15,18-31"}),
        (
            SERVER,
            {"reserved": {"cores": 1, "per": "numaNode"}},
            {"reserved": "0,8,16,24", "isolated": "1-7,9-15,17-23,25-31"},
        ),
        (
            DELL,
            {"reserved": {"cores": 2}},
            {"reserved": "0,4,16,20", "isolated": "1-3,5-15,17-19,21-31"},
        ),
        (
            SERVER,
            {"reserved": {"cores": 2}, "shared": {"cores": 7}},
            {"reserved": "0-1,16-17", "shared": "8-14,24-30", "isolated": "2-7,15,18-23,31"},
        ),
        (
            SERVER,
            {"reserved": {"cores": 2}, "offlined": {"cores": 5}},
            {"reserved": "0-1,16-17", "isolated": "2-10,18-26", "offlined": "11-15,27-31"},
        ),
        (
            SERVER,
            {"reserved": "0,16", "isolated": "8-15,24-31", "shared": "rest"},
            {"reserved": "0,16", "shared": "1-7,17-23", "isolated": "8-15,24-31"},
        ),
        (
            SERVER,
            {"reserved": {"cores": 1}, "isolated": "0-3,16-19", "shared": "rest"},
            {"reserved": "4,20", "shared": "5-15,21-31", "isolated": "0-3,16-19"},
        ),
        (
            SERVER,
            {"reserved": "rest", "isolated": {"cores": 12}},
            {"reserved": "0-3,16-19", "isolated": "4-15,20-31"},
        ),
        (
            SERVER,
            {"reserved": {"count": 3, "wholeCores": False}},
            {"reserved": "0-1,16", "isolated": "2-15,17-31"},
        ),
        (
            SERVER,
            {
                "reserved": {"cpus": "0", "wholeCores": False},
                "shared": {"count": 1, "wholeCores": False},
            },
            {"reserved": "0", "shared": "16", "isolated": "1-15,17-31"},
        ),
        (
            PLAIN,
            {"reserved": {"percent": 10}, "shared": 3, "offlined": {"cores": 1, "per": "numaNode"}},
            {"reserved": "0", "shared": "3", "isolated": "1,4-6", "offlined": "2,7"},
        ),
        (
            PLAIN,
            {"reserved": {"count": 1}, "shared": {"count": 0}},
            {"reserved": "0", "shared": "", "isolated": "1-7"},
        ),
    ],
)
def test_layouts(topology: Topology, pools: dict[str, Any], layout: dict[str, str]) -> None:
    plan = solver.solve(node_class(topology, pools), locate)
    assert {pool.name: str(pool.cpus) for pool in plan.pools} == layout
    assert solver.verify(plan.node_class, {pool.name: pool.cpus for pool in plan.pools})


def explained(pools: dict[str, Any], layout: dict[str, str]) -> dict[str, list[tuple[str, str]]]:
    plan = solver.explain(
        node_class(SERVER, pools), {name: CpuSet.parse(cpus) for name, cpus in layout.items()}
    )
    reasons = {}
    for pool in plan.pools:
        reasons[pool.name] = [(reason.text, reason.origin) for reason in pool.because]
    return reasons


def test_reasons_of_a_layout() -> None:
    pools = {"reserved": {"cores": 2}, "shared": "2-3,18-19", "offlined": {"cores": 2}}
    layout = {
        "reserved": "0-1,16-17",
        "shared": "2-3,18-19",
        "isolated": "4-13,20-29",
        "offlined": "14-15,30-31",
    }
    assert explained(pools, layout) == {
        "reserved": [
            ("reserved takes 2 whole cores", "Intent/ran:spec.pools.reserved.cores"),
            ("reserved takes whole cores: siblings stay in one pool", "rule whole-cores"),
            (
                (
                    "CPU 0 stays in reserved: "
                    "it keeps time and takes the interrupts that have no other place"
                ),
                "rule cpu0-reserved",
            ),
            ("reserved stays on one NUMA node, so that the others are whole", "goal locality"),
            ("reserved takes the lowest cores that it can have", "goal canonical"),
        ],
        "shared": [
            ("shared takes CPUs 2-3,18-19, which are listed", "Intent/ran:spec.pools.shared.cpus"),
            ("shared takes whole cores: siblings stay in one pool", "rule whole-cores"),
        ],
        "isolated": [
            ("isolated takes the rest, because no other pool does", "rule rest"),
            ("isolated takes whole cores: siblings stay in one pool", "rule whole-cores"),
        ],
        "offlined": [
            ("offlined takes 2 whole cores", "Intent/ran:spec.pools.offlined.cores"),
            ("offlined takes whole cores: siblings stay in one pool", "rule whole-cores"),
            ("offlined takes the highest cores, so that whole caches can sleep", "goal canonical"),
        ],
    }


def test_an_old_layout_is_not_explained_by_goals_that_it_does_not_reach() -> None:
    reasons = explained(
        {"reserved": {"cores": 2}}, {"reserved": "0,8,16,24", "isolated": "1-7,9-15,17-23,25-31"}
    )
    assert "goal locality" not in [origin for _, origin in reasons["reserved"]]


@pytest.mark.parametrize(
    "layout",
    [
        {"reserved": "0-1,16-17", "isolated": "2-15,18-30"},  # CPU 31 is in no pool
        {"reserved": "0-1,16-17", "isolated": "1-15,18-31"},  # CPU 1 is in two pools
        {"reserved": "0-1,16-17", "isolated": "2-15,18-32"},  # there is no CPU 32
        # the intent has no such pool
        {"reserved": "0-1,16-17", "isolated": "2-14,18-30", "shared": "15,31"},
        {"reserved": "0-2,16-18", "isolated": "3-15,19-31"},  # three cores
        {"reserved": "0-3", "isolated": "4-31"},  # four half cores
        {"reserved": "0-1,16-17"},
        {},
    ],
)
def test_verify_refuses(layout: dict[str, str]) -> None:
    node = node_class(SERVER, {"reserved": {"cores": 2}})
    assert not solver.verify(node, {name: CpuSet.parse(cpus) for name, cpus in layout.items()})


def test_verify_accepts_another_layout_than_the_best() -> None:
    node = node_class(SERVER, {"reserved": {"cores": 2}})
    assert solver.verify(
        node,
        {"reserved": CpuSet.parse("0,8,16,24"), "isolated": CpuSet.parse("1-7,9-15,17-23,25-31")},
    )


def test_only_solving_imports_the_solver() -> None:
    code = "import sys; from cpuplan.solve import solver; sys.exit('ortools' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_range_that_holds_nothing_is_no_range() -> None:
    """More CPUs than there are, of a set that can have none.

    The solver takes such a sum for one that fits.
    """
    qos = {"bestEffort": {"min": 2, "apart": {"reserved": "core"}}}
    rules = [{"disable": name, "because": "-"} for name in ("cpu0-reserved", "reserved-not-empty")]
    node = node_class(machine(1), {"reserved": "rest"}, "none", qos=qos, rules=rules)
    with pytest.raises(CpuplanError, match="bestEffort"):
        solver.solve(node, locate)

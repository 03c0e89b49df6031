"""One layout for unlike machines, against all layouts of small ones."""

from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.topology import Topology
from cpuplan.diagnostics import CpuplanError, errors
from cpuplan.plan import NodeClass
from cpuplan.solve import layouts as common
from cpuplan.solve import solver
from cpuplan.solve.goals import common_aims
from cpuplan.solve.layout import View
from tests.unit.solve import oracle
from tests.unit.solve.problems import locate, machine, node_class
from tests.unit.solve.test_exhaustive import MACHINES, layouts, problems


def on(node: NodeClass, topology: Topology, hardware: str) -> NodeClass:
    """The class on another machine."""
    own = vars(node) | {"topology": topology, "hardware": hardware, "name": f"ran-{hardware}"}
    return NodeClass(**own)


@pytest.mark.slow
@settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))
@given(problems(), MACHINES, st.data())
def test_a_common_layout_is_found_if_there_is_one_and_it_is_the_best(
    node: NodeClass, other: Topology, data: st.DataObject
) -> None:
    assume(other.online == node.topology.online)
    classes = [node, on(node, other, "spr")]
    assume(not errors(solver.check_statements(classes[1], locate)))
    mine, theirs = (layouts(node_class) for node_class in classes)
    allowed = [layout for layout in mine if layout in theirs]
    if not allowed:
        with pytest.raises(CpuplanError) as raised:
            common.solve_common(classes, locate)
        codes = {problem.code for problem in raised.value.diagnostics}
        assert codes == {"CP403"} if mine and theirs else codes <= {"CP401", "CP402"}
        return
    solved = common.solve_common(classes, locate)[0].layout
    assert {name: cpus.bits for name, cpus in solved.items()} in allowed
    assert all(solver.verify(node_class, solved) for node_class in classes)
    aims = common_aims(classes, None, common.joint_topology(classes)[1])
    views = [View(node.topology, oracle.to_sets(layout)) for layout in allowed]

    def measures(view: View) -> list[int]:
        return [aim.measure(view) for aim in aims]

    assert measures(View(node.topology, solved)) == min(map(measures, views))


#: The same CPUs: the second thread after all first ones, or next to the first; one NUMA node or
#: two.
ROWS: list[tuple[Topology, Topology, dict[str, Any], dict[str, str]]] = [
    (
        machine(4, 2),
        machine(4, 2, numa_nodes=2),
        {"reserved": {"cores": 1}},
        {"reserved": "0,4", "isolated": "1-3,5-7"},
    ),
    (
        machine(4, 2, numa_nodes=2, sockets=2),
        machine(8, 1),
        {"reserved": {"count": 2}},
        {"reserved": "0,4", "isolated": "1-3,5-7"},
    ),
    # Siblings 0,4 1,5 2,6 3,7 on one and 0,2,4,6 1,3,5,7 on the other: whole cores of both are
    # these four.
    (
        machine(4, 2),
        machine(2, 4),
        {"reserved": {"count": 4}},
        {"reserved": "0,2,4,6", "isolated": "1,3,5,7"},
    ),
]


@pytest.mark.parametrize(("first", "second", "pools", "layout"), ROWS)
def test_layouts(
    first: Topology, second: Topology, pools: dict[str, Any], layout: dict[str, str]
) -> None:
    node = node_class(first, pools)
    solved = common.solve_common([node, on(node, second, "spr")], locate)[0].layout
    assert solved == {name: CpuSet.parse(cpus) for name, cpus in layout.items()}


def test_the_machines_that_contradict_each_other_are_named() -> None:
    node = node_class(
        machine(4, 2), {"reserved": {"cores": 1}, "shared": {"cores": 1, "per": "socket"}}
    )
    other = on(node, machine(4, 2, sockets=2), "spr")
    with pytest.raises(CpuplanError) as raised:
        common.solve_common([node, on(node, machine(4, 2), "icx2"), other], locate)
    (problem,) = raised.value.diagnostics
    assert problem.code == "CP403"
    assert [label.text for label in problem.labels] == [
        "shared takes 1 whole core of each socket (on icx and icx2)",
        "shared takes 1 whole core of each socket (on spr)",
    ]

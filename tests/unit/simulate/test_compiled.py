"""A kubelet that starts from what was compiled finds what one finds that starts from the plan."""

import pytest

from cpuplan.change.impact.snapshot import Snapshot
from cpuplan.simulate import planned
from tests import named_cases


@pytest.mark.parametrize("name", named_cases.CASES)
def test_both_find_the_same(name: str) -> None:
    made = named_cases.compiled(name)
    side = Snapshot(made.files)
    for node in made.plan.nodes:
        expected = side.state(node.node_class.key)
        assert expected is not None
        from_expected, from_plan = planned.planned_of_expected(expected), planned.planned(node)
        assert from_expected.config == from_plan.config
        assert from_expected[1:4] == from_plan[1:4]  # machine, version, fork
        assert from_expected.balloons == from_plan.balloons
        assert from_expected.pools == from_plan.pools
        assert bool(from_expected.dra) == bool(from_plan.dra)
        if from_expected.dra and from_plan.dra:
            assert from_expected.dra[1:] == from_plan.dra[1:]
            assert vars(from_expected.dra.topology) == vars(from_plan.dra.topology)
        assert bool(planned.given_out_by(expected)) == bool(from_plan.koordinator)

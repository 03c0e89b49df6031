"""A kubelet that starts from what was compiled finds what one finds that starts from the plan."""

import pytest

from cpuplan.change.impact.snapshot import Snapshot
from cpuplan.simulate import compiled, planned
from tests import named_cases


@pytest.mark.parametrize("name", named_cases.CASES)
def test_both_find_the_same(name: str) -> None:
    made = named_cases.compiled(name)
    side = Snapshot(made.files)
    for node in made.plan.nodes:
        expected = side.state(node.node_class.key)
        assert expected is not None
        found, wanted = compiled.planned(expected), planned.planned(node)
        assert found.config == wanted.config
        assert found[1:4] == wanted[1:4]  # machine, version, fork
        assert found.balloons == wanted.balloons
        assert found.pools == wanted.pools
        assert bool(found.dra) == bool(wanted.dra)
        if found.dra and wanted.dra:
            assert found.dra[1:] == wanted.dra[1:]
            assert vars(found.dra.topology) == vars(wanted.dra.topology)
        assert bool(compiled.given_out_by(expected)) == bool(wanted.koordinator)

"""Nodes in several MachineConfigPools, by the labels of the inventory."""

import pytest

from cpuplan.fleet.memberships import _effect


@pytest.mark.parametrize(
    ("own", "selecting", "effect"),
    [
        ("worker", {"worker"}, ""),
        ("fast", {"worker", "fast"}, ""),
        ("fast", {"worker"}, ""),
        ("master", {"master", "worker"}, ""),
        ("worker", {"worker", "infra"}, ", and infra decides"),
        ("fast", {"worker", "fast", "infra"}, ", and gets no updates"),
        ("fast", {"master", "fast"}, ", and master decides"),
        ("worker", {"master", "worker"}, ", and master decides"),
    ],
)
def test_which_pool_decides(own: str, selecting: set[str], effect: str) -> None:
    """master before custom before worker (pkg/helpers/helpers.go)."""
    assert _effect(own, selecting) == effect

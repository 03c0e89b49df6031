"""Nodes that were booted with what was compiled for them hold it, as their snapshots show."""

import pytest

from cpuplan.check.roots.sources import root_of
from cpuplan.expected.answer import Verdict
from tests import captured
from tests.mutation import cases

#: Facts that are held at least, by guest: more may be verified, and none less.
HELD = {"every-pool": 81, "flat-domain": 79, "flat-partition": 68, "plain": 86, "ticking": 78}


@pytest.mark.parametrize("name", captured.names())
def test_no_fewer_facts_are_held(name: str) -> None:
    held = [each for each in cases.case(name).clean if each.verdict is Verdict.HELD]
    assert len(held) >= HELD[name]


@pytest.mark.parametrize("name", captured.names())
def test_nothing_differs(name: str) -> None:
    clean = cases.case(name).clean
    assert [answer.finding for answer in clean if answer.finding] == []


@pytest.mark.parametrize("name", captured.names())
def test_a_snapshot_knows_its_node(name: str) -> None:
    assert root_of(captured.archive(name), name).host_name() == name

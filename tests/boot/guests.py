"""The plans of the guests: the project in `guest/`, solved."""

from functools import cache
from pathlib import Path

from cpuplan import pipeline
from cpuplan.plan import ConfiguredPlan, Plan

PROJECT = Path(__file__).parent / "guest"
CLUSTER = "lab"


def plan(node: str) -> ConfiguredPlan:
    """The plan of one node."""
    return _plan().by_node[CLUSTER, node]


@cache
def _plan() -> Plan:
    solved, problems = pipeline.solve(pipeline.load(PROJECT))
    assert not problems, problems
    return solved

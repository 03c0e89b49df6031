"""The table of changes: what each costs, on every target, and by which rule."""

from functools import cache

import pytest

from cpuplan.backends.registry import COMPONENTS
from cpuplan.base.emit import to_json
from cpuplan.change.impact.rule_table import RULES
from cpuplan.components.dra import claims, classes, driver, resource_slices
from cpuplan.components.koordinator import colocation, scheduler, slo
from cpuplan.components.koordinator import node as koordinator_node
from cpuplan.components.nri import balloons, topologyaware
from tests.unit.change.impact.rules import projects
from tests.unit.change.impact.rules.projects import Row

ROWS = projects.rows()
#: Rules that no intent alone leads to; the other modules of this folder prove them.
PROVEN_ELSEWHERE = {
    "mco-irreconcilable",
    "mco-node-stops",
    "mco-not-rendered",
    "mco-os",
    "mco-pool-paused",
    "mco-pool-resumed",
    "mco-pool-object",
    "unknown-before",
    "unknown-file",
    "unknown-object",
}
#: Components of what gives CPUs to pods in place of the kubelet.
OF_MECHANISMS = (
    balloons.NAME,
    topologyaware.NAME,
    claims.NAME,
    classes.NAME,
    driver.NAME,
    resource_slices.NAME,
    colocation.NAME,
    koordinator_node.NAME,
    scheduler.NAME,
    slo.NAME,
)


@pytest.mark.parametrize("row", ROWS, ids=[row.id for row in ROWS])
def test_costs(row: Row) -> None:
    outcome = projects.outcome(row)
    assert (outcome.impact.word, tuple(step.rule for step in outcome.steps)) == (
        row.impact,
        row.rules,
    ), "\n".join(map(str, outcome.steps))
    assert outcome.is_certain == row.certain
    for step in outcome.steps:
        assert step.because, step
        assert "{" not in step.does, step


def test_each_component_of_each_platform_has_a_row() -> None:
    """Of platforms that have the components of another one, that one has."""
    platforms = {platform for platform, _ in _shown()}
    written = {(platform, name) for platform in platforms for name in COMPONENTS[platform]}
    refused = {(name, mechanism) for name in ("rke2", "k3s") for mechanism in OF_MECHANISMS}
    assert _shown() == written - refused
    known = [list(COMPONENTS[platform]) for platform in platforms]
    assert all(list(components) in known for components in COMPONENTS.values())


@pytest.mark.parametrize("platform", ["rke2", "k3s"])
@pytest.mark.parametrize("mechanism", ["balloons", "topology-aware", "koordinator"])
def test_only_kubernetes_takes_other_mechanisms(platform: str, mechanism: str) -> None:
    patch = {"spec": {"target": {"mechanism": mechanism, "koordinator": "1.8"}}}
    with pytest.raises(AssertionError, match=f"cannot hold with mechanism {mechanism}"):
        projects.compiled(platform, to_json(patch))


@cache
def _shown() -> set[tuple[str, str]]:
    """The platforms and components whose settings a row changes."""
    return {
        (projects.platform_of(row), component)
        for row in ROWS
        for component in projects.outcome(row).components
    }


def test_each_rule_has_a_row() -> None:
    rules = {rule for row in ROWS for rule in row.rules}
    assert rules | PROVEN_ELSEWHERE == RULES.keys()
    assert not rules & PROVEN_ELSEWHERE


def test_each_target_has_a_row() -> None:
    changed = {row.target for row in ROWS if row.impact != "nothing"}
    assert changed == projects.table()["targets"].keys()

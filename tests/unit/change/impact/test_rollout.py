"""Rounds of nodes, wave after wave."""

from typing import Any

import pytest

from cpuplan.base.emit import to_json
from cpuplan.change.impact import rollout
from cpuplan.change.impact.comparison import Change, Comparison, Fleet
from cpuplan.change.impact.rollout import Limit, Wave, Waves, is_limit, rounds
from cpuplan.change.impact.snapshot import Pair, Snapshot
from cpuplan.facts.settings.costs import Impact, Step
from cpuplan.language.model.rollout import Rollout
from cpuplan.plan import ConfiguredPlan, Plan
from cpuplan.plan import Wave as Found
from tests.machines.plans import plan as node_plan
from tests.unit.change.impact.test_trees import PLAN

NODES = tuple(f"n{number}" for number in range(10))
POOL = b"""apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata: {name: worker}
spec: {maxUnavailable: %s}
"""


def configured(platform: str = "kubernetes") -> ConfiguredPlan:
    is_pool = platform == "openshift"
    version, target = ("4.20", {"pool": "worker"}) if is_pool else ("1.33", {})
    made = node_plan(platform=platform, version=version, target=target)
    made.node_class.nodes = NODES
    return made


def changed(node: ConfiguredPlan, impact: Impact, nodes: tuple[str, ...] = NODES) -> Comparison:
    of = node.node_class
    step = Step(impact, "it", "x", "rule")
    change = Change(Pair(of.key, of.key, of.cluster, nodes), (step,))
    return Comparison((change,), {}, (), {}, Fleet(0, 0, 0), 1)


def told(impact: Impact, asked: str = "1", nodes: tuple[str, ...] = NODES) -> list[object]:
    """Wave, nodes at once and rounds of an intent on plain nodes."""
    node = configured()
    result = rounds(
        changed(node, impact, nodes), Plan((node,)), (Snapshot({}), Snapshot({})), asked
    )
    return [(entry.wave, entry.at_once, entry.number) for entry in result]


@pytest.mark.parametrize(
    ("text", "nodes", "number"),
    [("1", 10, 1), ("3", 2, 3), ("25%", 10, 2), ("5%", 10, 1), ("100%", 10, 10)],
)
def test_limits_are_rounded_down_and_one_node_always_goes(
    text: str, nodes: int, number: int
) -> None:
    assert Limit(text).of(nodes) == number


@pytest.mark.parametrize("text", ["0", "-1", "0%", "101%", "x", "", "1.5", "%"])
def test_no_limits(text: str) -> None:
    assert not is_limit(text)


def test_nodes_that_stay_in_service_need_no_rounds() -> None:
    assert told(Impact.RESTART) == []
    assert told(Impact.DRAIN) == [("", 1, 10)]


def test_a_percentage_is_of_all_nodes_of_the_intent() -> None:
    assert told(Impact.REBOOT, "50%", NODES[:4]) == [("", 4, 1)]
    assert told(Impact.REBOOT, "30%", NODES[:4]) == [("", 3, 2)]


def test_waves_go_in_their_order_and_what_is_in_none_last(monkeypatch: pytest.MonkeyPatch) -> None:
    stated = (Wave(0, "two", ("n8", "n9"), "2"), Wave(1, "canary", ("n0", "n8")))
    monkeypatch.setattr(rollout, "waves_of", lambda _node: Waves(stated, "4"))
    assert told(Impact.REBOOT) == [("two", 2, 1), ("canary", 1, 1), ("", 4, 2)]


@pytest.mark.parametrize(("stated", "at_once"), [(b"3", 3), (b'"50%"', 5), (b"0", 1), (b"x", 1)])
def test_the_object_of_a_pool_has_its_limit(stated: bytes, at_once: int) -> None:
    node = configured("openshift")
    path = f"clusters/{node.node_class.cluster}/manifests/00-machineconfigpool-worker.yaml"
    sides = Snapshot({}), Snapshot({path: POOL % stated})
    (only,) = rounds(changed(node, Impact.REBOOT), Plan((node,)), sides, "7")
    assert (only.is_pool, only.group, only.at_once) == (True, "worker", at_once)


def test_a_pool_without_an_object_goes_node_by_node() -> None:
    node = configured("openshift")
    (only,) = rounds(changed(node, Impact.REBOOT), Plan((node,)), (Snapshot({}), Snapshot({})), "7")
    assert only.at_once == 1


def test_nodes_that_are_gone_go_with_the_pool_that_they_had() -> None:
    was = {**PLAN, "class": "a", "intent": "ran", "pool": "worker", "nodes": ["n0"]}
    before = Snapshot({".cpuplan/classes/lab/a.json": to_json(was).encode()})
    change = Change(
        Pair(("lab", "a"), None, "lab", ("n0", "n1")), (Step(Impact.REBOOT, "it", "x", "rule"),)
    )
    whole = Comparison((change,), {}, (), {}, Fleet(0, 0, 0), 1)
    (only,) = rounds(whole, Plan(()), (before, Snapshot({})), "7")
    assert (only.group, only.is_pool, only.nodes, only.number) == ("worker", True, 2, 2)


def test_an_impact_above_what_a_rollout_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    node = configured()
    monkeypatch.setattr(rollout, "waves_of", lambda _node: Waves(max_impact="drain"))
    plan = Plan((node,))
    findings = list(
        rollout.check_limits(changed(node, Impact.REBOOT), plan, lambda _: None, "reboot")
    )
    assert [finding.code for finding in findings] == ["CP683"]
    assert f"rollout.maxImpact of intent {node.node_class.intent}" in findings[0].message
    assert not list(rollout.check_limits(changed(node, Impact.DRAIN), plan, lambda _: None, None))


def stating(rollout: dict[str, Any]) -> ConfiguredPlan:
    """A class whose intent states a rollout; a wave with nodes has n0."""
    node = configured()
    stated = Rollout.model_validate(rollout)
    node.node_class.spec = node.spec.model_copy(update={"rollout": stated})
    of_nodes = [numbered for numbered in enumerate(stated.waves) if not numbered[1].is_of_clusters]
    node.node_class.waves = tuple(Found(at, wave.name, ("n0",)) for at, wave in of_nodes)
    return node


def test_a_rollout_is_read_where_an_intent_states_one() -> None:
    canary = {"name": "canary", "nodes": ["n0"], "maxUnavailable": "20%"}
    node = stating({"waves": [canary], "maxUnavailable": 2, "maxImpact": "drain"})
    assert rollout.waves_of(node) == Waves((Wave(0, "canary", ("n0",), "20%"),), "2", "drain")
    assert rollout.waves_of(configured()) == Waves()


def test_whole_clusters_go_in_the_order_of_their_waves() -> None:
    stated = [{"name": "early", "clusters": ["other"]}, {"name": "late", "maxUnavailable": 5}]
    node = stating({"waves": [*stated, {"name": "canary", "nodes": ["n0"]}]})
    assert rollout.waves_of(node).of_cluster == Wave(1, "late", (), "5")
    result = rounds(changed(node, Impact.REBOOT), Plan((node,)), (Snapshot({}), Snapshot({})), "1")
    assert [(entry.wave, entry.nodes, entry.at_once) for entry in result] == [
        ("canary", 1, 1),
        ("late", 9, 5),
    ]

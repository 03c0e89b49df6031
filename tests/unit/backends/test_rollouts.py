"""What a rollout becomes: fields of pools, steps and windows of Argo CD, plays, budgets."""

from typing import Any

import pytest
import yaml

from cpuplan import backends
from cpuplan.backends.rollouts import of_pool
from cpuplan.diagnostics import Diagnostic
from cpuplan.language.model.operations import DeliverySpec
from cpuplan.plan import ConfiguredPlan, Plan, Wave
from cpuplan.write import emitted
from tests.machines.plans import plan

CANARY = {"name": "canary", "clusters": ["site-a"]}
NIGHT = {"schedule": "0 22 * * sat", "duration": "4h", "timeZone": "Europe/Berlin"}
NODEWRIGHT: dict[str, Any] = {
    "platform": "kubernetes",
    "version": "1.34",
    "target": {"delivery": ["nodeWright"]},
}
ANSIBLE: dict[str, Any] = {
    "platform": "kubernetes",
    "version": "1.34",
    "target": {"delivery": ["ansible"]},
}
GIT = DeliverySpec(repository="https://git.example.com/a.git")


def with_rollout(rollout: dict[str, Any], pool: str = "worker-cnf", **given: Any) -> ConfiguredPlan:
    target = {"pool": pool} if "platform" not in given else {}
    return plan(**{"target": target, **given}, spec={"rollout": rollout})


def files(*nodes: ConfiguredPlan, delivery: DeliverySpec | None = GIT) -> dict[str, bytes]:
    """All files; each is valid by its schema."""
    made = backends.tree(Plan(nodes), delivery)
    assert emitted.check(made) == []
    return made


def document(node: ConfiguredPlan, name: str) -> Any:
    return yaml.safe_load(files(node)[f"clusters/site-a/manifests/{name}"])


def test_a_pool_has_what_the_intent_says_and_nothing_else() -> None:
    assert of_pool(with_rollout({})) == {}
    assert of_pool(with_rollout({"maxUnavailable": "10%"})) == {"maxUnavailable": "10%"}
    assert of_pool(with_rollout({"pausePools": True})) == {"paused": True}
    # Only a value takes the pause away from a pool that keeps its fields.
    assert of_pool(with_rollout({"pausePools": False})) == {"paused": False}


def test_the_number_of_a_wave_is_for_its_clusters() -> None:
    waves = [{**CANARY, "maxUnavailable": 1}]
    assert of_pool(with_rollout({"waves": waves, "maxUnavailable": 5})) == {"maxUnavailable": 1}
    others = [{"name": "canary", "clusters": ["lab"], "maxUnavailable": 1}]
    assert of_pool(with_rollout({"waves": others, "maxUnavailable": 5})) == {"maxUnavailable": 5}


def test_a_custom_pool_keeps_its_selectors() -> None:
    node = with_rollout({"maxUnavailable": 2, "pausePools": True})
    spec = document(node, "00-machineconfigpool-worker-cnf.yaml")["spec"]
    plain = document(with_rollout({}), "00-machineconfigpool-worker-cnf.yaml")["spec"]
    assert spec == {**plain, "maxUnavailable": 2, "paused": True}


def test_a_pool_of_every_cluster_is_patched_and_never_removed() -> None:
    node = with_rollout({"pausePools": True}, pool="worker")
    made = document(node, "00-machineconfigpool-worker.yaml")
    assert made["spec"] == {"paused": True}
    annotations = made["metadata"]["annotations"]
    options = annotations["argocd.argoproj.io/sync-options"].split(",")
    assert options == ["Prune=false", "Delete=false", "ServerSideApply=true", "Validate=false"]
    assert annotations["kustomize.toolkit.fluxcd.io/prune"] == "disabled"
    assert annotations["kustomize.toolkit.fluxcd.io/ssa"] == "Merge"
    path = "clusters/site-a/manifests/00-machineconfigpool-worker.yaml"
    assert path not in files(with_rollout({}, pool="worker"))


def test_a_rollout_changes_no_file_of_a_node() -> None:
    """Neither the objects that make nodes reboot, nor the state that they are compared with."""
    plain = files(with_rollout({}))
    made = files(with_rollout({"maxUnavailable": 2, "pausePools": True, "maxImpact": "drain"}))
    changed = {path for path in plain if made[path] != plain[path]}
    assert changed == {
        "clusters/site-a/expected/objects/00-machineconfigpool-worker-cnf.json",
        "clusters/site-a/manifests/00-machineconfigpool-worker-cnf.yaml",
    }


def application_set(*nodes: ConfiguredPlan, **given: Any) -> Any:
    delivery = DeliverySpec(repository="https://git.example.com/a.git", **given)
    return yaml.safe_load(files(*nodes, delivery=delivery)["argocd/applicationset.yaml"])["spec"]


def test_clusters_get_their_turn_one_wave_after_another() -> None:
    waves = [CANARY, {"name": "early", "clusters": ["site-b"]}]
    made = application_set(with_rollout({"waves": waves}))
    steps = made["strategy"]["rollingSync"]["steps"]
    assert [step["matchExpressions"][0] for step in steps] == [
        {"key": "cpuplan.io/wave", "operator": "In", "values": ["canary"]},
        {"key": "cpuplan.io/wave", "operator": "In", "values": ["early"]},
        {"key": "cpuplan.io/wave", "operator": "NotIn", "values": ["canary", "early"]},
    ]
    labels = made["template"]["metadata"]["labels"]
    assert labels == {"cpuplan.io/wave": '{{default "" (get . "wave")}}'}
    # The set's controller syncs; an Application that syncs itself would not wait for its turn.
    assert "automated" not in made["template"]["spec"]["syncPolicy"]


def test_a_cluster_says_its_wave() -> None:
    made = yaml.safe_load(files(with_rollout({"waves": [CANARY]}))["clusters/site-a/cluster.json"])
    assert made["wave"] == "canary"
    other = with_rollout({"waves": [{"name": "canary", "clusters": ["lab"]}]})
    assert "wave" not in yaml.safe_load(files(other)["clusters/site-a/cluster.json"])


def test_without_waves_nothing_is_ordered() -> None:
    made = application_set(with_rollout({}))
    assert "strategy" not in made
    assert "labels" not in made["template"]["metadata"]


def test_windows_are_those_of_the_project() -> None:
    project = yaml.safe_load(files(with_rollout({"windows": [NIGHT]}))["argocd/appproject.yaml"])
    assert project["spec"]["syncWindows"] == [
        {"kind": "allow", **NIGHT, "applications": ["cpuplan-site-a"]}
    ]


def test_paused_belongs_to_git_where_git_says_it() -> None:
    entries = application_set(with_rollout({"pausePools": False}), ignore_differences=True)
    ignored = entries["template"]["spec"]["ignoreDifferences"]
    [pointers] = [
        difference["jsonPointers"]
        for difference in ignored
        if difference["kind"] == "MachineConfigPool"
    ]
    assert pointers == ["/spec/configuration"]


@pytest.mark.parametrize(
    ("most", "budget"), [(None, {"count": 1}), (3, {"count": 3}), ("25%", {"percent": 25})]
)
def test_nodewright_changes_so_many_nodes_at_a_time(most: Any, budget: dict[str, int]) -> None:
    node = with_rollout({"maxUnavailable": most} if most else {}, **NODEWRIGHT)
    name = f"10-skyhook-{node.node_class.name}.yaml"
    assert document(node, name)["spec"]["interruptionBudget"] == budget


def test_ansible_plays_waves_in_their_order() -> None:
    waves = [{"name": "canary", "nodes": ["worker-0"], "maxUnavailable": 1}]
    node = with_rollout({"waves": waves, "maxUnavailable": "50%"}, **ANSIBLE)
    node.node_class.waves = (Wave(0, "canary", ("worker-0",)),)
    made = files(node)
    plays = yaml.safe_load(made["ansible/rollout-site-a.yaml"])
    group = f"cpuplan_{node.node_class.name.replace('-', '_')}"
    assert [(play["hosts"], play["serial"], play["any_errors_fatal"]) for play in plays] == [
        (f"{group}:&cpuplan__wave_canary", 1, True),
        (f"{group}:!cpuplan__wave_canary", "50%", True),
    ]
    inventory = yaml.safe_load(made[f"ansible/site-a/{node.node_class.name}.yaml"])
    assert inventory["cpuplan__wave_canary"] == {"hosts": {"worker-0": None}}
    assert not any("rollout" in path for path in files(with_rollout({}, **ANSIBLE)))


def codes(node: ConfiguredPlan) -> list[str]:
    findings: list[Diagnostic] = backends.check(node, lambda _: None)
    return [finding.code for finding in findings if finding.code in ("CP661", "CP662", "CP678")]


HOSTED = {"mode": "performanceProfile", "controlPlaneTopology": "External", "pool": "np"}


@pytest.mark.parametrize(
    ("rollout", "given", "expected"),
    [
        ({"maxUnavailable": 2, "pausePools": True}, {}, []),
        ({"maxUnavailable": 2}, {"target": HOSTED}, ["CP661"]),
        ({"pausePools": True}, {"target": HOSTED}, ["CP661"]),
        ({"maxUnavailable": 2}, ANSIBLE, []),
        ({"maxUnavailable": 2}, NODEWRIGHT, []),
        ({"pausePools": True}, NODEWRIGHT, ["CP661"]),
        ({"maxUnavailable": 2}, {"platform": "kubernetes", "version": "1.34"}, ["CP662"]),
        ({"maxUnavailable": 2}, {"platform": "talos", "version": "1.12"}, ["CP662"]),
        ({"maxImpact": "drain"}, {"platform": "kubernetes", "version": "1.34"}, []),
    ],
)
def test_what_cannot_be_kept_is_said(
    rollout: dict[str, Any], given: dict[str, Any], expected: list[str]
) -> None:
    assert codes(with_rollout(rollout, **given)) == expected

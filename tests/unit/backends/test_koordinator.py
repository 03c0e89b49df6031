"""Objects of a cluster with Koordinator, and what keeps others from fighting its programs."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from cpuplan import backends
from cpuplan.backends.koordinator import are_in
from cpuplan.components.koordinator import scheduler
from cpuplan.language.model.operations import DeliverySpec
from cpuplan.plan import ConfiguredPlan, Plan
from cpuplan.upstream.koordinator.nodenumaresource.scoring import read_args
from cpuplan.upstream.koordinator.webhook import slo_config_plugin as sloconfig
from tests.machines.plans import plan, regular
from tests.unit.components.test_components import PLANS

FOLDER = "clusters/site-a"
DELIVERY = DeliverySpec(repository="https://git.example.com/a.git")
SPREAD = {"scoringStrategy": {"type": "LeastAllocated"}}


def planned(**fields: Any) -> ConfiguredPlan:
    return plan(
        regular(cores=8, threads=2),
        reserved="0,8",
        platform="kubernetes",
        version="1.35",
        target={"mechanism": "koordinator"},
        spec={"koordinator": fields},
    )


def tree(*plans: ConfiguredPlan) -> dict[str, Any]:
    files = backends.tree(Plan(plans), DELIVERY)
    return {path: yaml.safe_load(data) for path, data in files.items() if path.endswith(".yaml")}


def test_nodes_are_patched_and_never_removed() -> None:
    made = tree(planned())[f"{FOLDER}/manifests/20-node-worker-0.yaml"]
    assert set(made) == {"apiVersion", "kind", "metadata"}
    options = made["metadata"]["annotations"]["argocd.argoproj.io/sync-options"]
    assert set(options.split(",")) == {"Prune=false", "Delete=false", "ServerSideApply=true"}
    assert made["metadata"]["annotations"]["kustomize.toolkit.fluxcd.io/prune"] == "disabled"


def test_the_project_may_patch_nodes_only_for_koordinator() -> None:
    plain = plan(platform="kubernetes", version="1.35")
    kinds = {"ClusterColocationProfile", "Node"}
    for node, allowed in ((plain, set()), (planned(), kinds)):
        project = tree(node)["argocd/appproject.yaml"]["spec"]
        resources = project["clusterResourceWhitelist"]
        assert {resource["kind"] for resource in resources} & kinds == allowed


def test_what_others_write_to_nodes_is_no_difference() -> None:
    made = tree(planned())["argocd/applicationset.yaml"]["spec"]["template"]["spec"]
    (ignored,) = made["ignoreDifferences"]
    assert ignored["kind"] == "Node"
    prefix = "/metadata/annotations/node.koordinator.sh~1"
    assert ignored["jsonPointers"] == [
        "/spec",
        "/status",
        f"{prefix}resource-amplification-ratio",
        f"{prefix}raw-allocatable",
        f"{prefix}cpu-normalization-ratio",
    ]


def test_argo_cd_leaves_the_kinds_of_the_programs_alone() -> None:
    data = tree(planned())[f"{FOLDER}/koordinator/argocd-cm.yaml"]["data"]
    excluded = yaml.safe_load(data["resource.exclusions"])
    assert {kind for excluded_kinds in excluded for kind in excluded_kinds["kinds"]} == {
        "NodeResourceTopology",
        "NodeSLO",
        "NodeMetric",
        "Device",
        "ScheduleExplanation",
    }


def test_the_chart_keeps_config_maps_that_nobody_asks_for() -> None:
    files = tree(planned())
    assert not [path for path in files if "configmap" in path or "/chart/" in path]


def test_config_maps_are_taken_from_the_chart() -> None:
    files = tree(planned(cpuSuppressThresholdPercent=70, scheduler=SPREAD))
    written = {
        made["metadata"]["name"]
        for path, made in files.items()
        if path.startswith(f"{FOLDER}/manifests/") and made["kind"] == "ConfigMap"
    }
    component = files[f"{FOLDER}/koordinator/chart/kustomization.yaml"]
    release = files[f"{FOLDER}/koordinator/flux-helmrelease.yaml"]
    (renderer,) = release["spec"]["postRenderers"]
    assert component["patches"] == renderer["kustomize"]["patches"]
    assert {patch["target"]["name"] for patch in component["patches"]} == written
    assert written == {"koord-scheduler-config", "slo-controller-config"}
    for patch in component["patches"]:
        assert yaml.safe_load(patch["patch"])["$patch"] == "delete"


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kustomize_takes_the_config_maps_from_the_chart(tmp_path: Path) -> None:
    files = backends.tree(Plan((planned(scheduler=SPREAD),)))
    (tmp_path / "chart").mkdir()
    component = files[f"{FOLDER}/koordinator/chart/kustomization.yaml"]
    (tmp_path / "chart/kustomization.yaml").write_bytes(component)
    names = ("koord-scheduler-config", "slo-controller-config")
    maps = [scheduler.config_map(name, {"key": "of the chart"}) for name in names]
    (tmp_path / "rendered.yaml").write_text(yaml.safe_dump_all(maps))
    (tmp_path / "kustomization.yaml").write_text(
        "resources: [rendered.yaml]\ncomponents: [chart]\n"
    )
    done = subprocess.run(["kubectl", "kustomize", tmp_path], capture_output=True, check=True)
    left = [document["metadata"]["name"] for document in yaml.safe_load_all(done.stdout)]
    assert left == ["slo-controller-config"]


@pytest.mark.parametrize("name", [name for name, member in PLANS.items() if are_in([member])])
def test_the_programs_take_what_is_written(name: str) -> None:
    """By the ports of koord-manager's webhook and of koord-scheduler."""
    files = backends.tree(Plan((PLANS[name],)))
    manifests = [
        yaml.safe_load(data) for path, data in files.items() if "/manifests/20-configmap-" in path
    ]
    data = {config_map["metadata"]["name"]: config_map["data"] for config_map in manifests}
    sloconfig.check(data["slo-controller-config"])
    text = data["koord-scheduler-config"]["koord-scheduler-config"]
    (profile,) = yaml.safe_load(text)["profiles"]
    (own,) = (plugin for plugin in profile["pluginConfig"] if plugin["name"] == "NodeNUMAResource")
    read_args(own["args"])


def test_strategies_are_for_the_nodes_of_an_intent() -> None:
    first, second = planned(cpuSuppressThresholdPercent=70), planned(cpuAmplificationRatio="1.5")
    second.node_class.intent = second.node_class.name = "other"
    data = tree(first, second)[f"{FOLDER}/manifests/20-configmap-slo-controller-config.yaml"][
        "data"
    ]
    threshold = json.loads(data["resource-threshold-config"])
    assert threshold == {
        "clusterStrategy": {"enable": True},
        "nodeStrategies": [
            {
                "name": "ran",
                "nodeSelector": {"matchLabels": {"cpuplan.io/intent": "ran"}},
                "enable": True,
                "cpuSuppressThresholdPercent": 70,
            }
        ],
    }
    amplification = json.loads(data["resource-amplification-config"])
    assert amplification["enable"] is False
    assert [node_config["name"] for node_config in amplification["nodeConfigs"]] == ["other"]
    assert json.loads(data["colocation-config"]) == {"enable": True}

"""Objects for clusters in which Koordinator gives CPUs to pods, and who owns what at run time."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cpuplan.backends.base import (
    MAY_BE_MISSING,
    NODE_WAVE,
    Files,
    Manifest,
    metadata,
    of_others,
    to_file,
)
from cpuplan.base.emit import to_json, to_yaml
from cpuplan.components.koordinator import colocation, node, release_names, scheduler, slo
from cpuplan.plan import ConfiguredPlan
from cpuplan.upstream.koordinator.extension import constants

#: What the chart has, by key: for the nodes that no intent speaks of.
_OF_CHART: dict[str, dict[str, Any]] = {
    "colocation-config": {"enable": True},
    slo.THRESHOLD: {"clusterStrategy": {"enable": True}},
}
#: Where a key has the strategies of nodes.
_LISTS = {slo.THRESHOLD: "nodeStrategies", slo.AMPLIFICATION: "nodeConfigs"}


def config_map_manifests(plans: Sequence[ConfiguredPlan]) -> Iterator[Manifest]:
    """Those of a cluster's plans; of scheduler arguments that differ (CP637), the first."""
    asking = [plan for plan in plans if plan.settings.of(scheduler.NAME)]
    for plan in asking[:1]:
        version = release_names.release(plan.node_class.target)
        if version:
            given = scheduler.arguments(plan.settings.of(scheduler.NAME))
            text = to_yaml(scheduler.scheduler_configuration(version, given))
            yield _manifest(scheduler.CONFIG_MAP, {scheduler.CONFIG_MAP: text})
    by_intent = {
        plan.node_class.intent: slo.strategies(settings)
        for plan in plans
        if (settings := plan.settings.of(slo.NAME))
    }
    if by_intent:
        yield _manifest(slo.CONFIG_MAP, _slo(by_intent))


def _slo(by_intent: dict[str, dict[str, dict[str, object]]]) -> dict[str, str]:
    """The chart's values, and the strategies of each intent for its nodes, known by their label."""
    data = {key: dict(value) for key, value in _OF_CHART.items()}
    for intent, strategies in sorted(by_intent.items()):
        selector = {"matchLabels": {node.INTENT_LABEL: intent}}
        for key, strategy in strategies.items():
            value = data.setdefault(key, {"enable": False})
            of_intent = {"name": intent, "nodeSelector": selector, **strategy}
            value.setdefault(_LISTS[key], []).append(of_intent)
    return {key: to_json(value, sort_keys=False) for key, value in data.items()}


def _manifest(name: str, data: dict[str, str]) -> Manifest:
    made = scheduler.config_map(name, data)
    made["metadata"] = {**made["metadata"], **metadata(name, NODE_WAVE)}
    return Manifest(f"20-configmap-{name}.yaml", made)


#: Kinds that the programs alone write.
_THEIRS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("topology.node.k8s.io", ("NodeResourceTopology",)),
    ("slo.koordinator.sh", ("NodeSLO", "NodeMetric")),
    ("scheduling.koordinator.sh", ("Device", "ScheduleExplanation")),
)
#: Annotations of nodes that koord-manager and its webhook write.
_THEIR_ANNOTATIONS = (
    constants.AMPLIFICATION_RATIO,
    constants.RAW_ALLOCATABLE,
    constants.NORMALIZATION_RATIO,
)
_HELM_RELEASE = "helm.toolkit.fluxcd.io/v2"


def owned_fields() -> list[dict[str, Any]]:
    """What an Application that patches nodes must leave alone."""
    annotations = (f"/metadata/annotations/{_pointer(key)}" for key in _THEIR_ANNOTATIONS)
    return [{"group": "", "kind": "Node", "jsonPointers": ["/spec", "/status", *annotations]}]


def _pointer(key: str) -> str:
    """A key as a part of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def ownership_files(config_maps: Sequence[str]) -> Files:
    """What Argo CD excludes, and how the chart leaves the ConfigMaps that are compiled."""
    made = {"argocd-cm.yaml": to_file(_exclusions())}
    if config_maps:
        patches = [_without(name) for name in config_maps]
        made["chart/kustomization.yaml"] = to_file(
            {
                "apiVersion": "kustomize.config.k8s.io/v1alpha1",
                "kind": "Component",
                "patches": patches,
            }
        )
        renderers = [{"kustomize": {"patches": patches}}]
        made["flux-helmrelease.yaml"] = to_file(
            {
                "apiVersion": _HELM_RELEASE,
                "kind": "HelmRelease",
                "metadata": {"name": "koordinator"},
                "spec": {"postRenderers": renderers},
            }
        )
    return made


def _exclusions() -> dict[str, Any]:
    """Further keys of the ConfigMap argocd-cm."""
    excluded = [
        {"apiGroups": [group], "kinds": list(kinds), "clusters": ["*"]} for group, kinds in _THEIRS
    ]
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "argocd-cm"},
        "data": {"resource.exclusions": to_yaml(excluded)},
    }


def _without(name: str) -> dict[str, Any]:
    """A patch that takes a ConfigMap from what the chart renders."""
    removed = {"$patch": "delete", **scheduler.config_map(name, {})}
    del removed["data"]
    return {
        "target": {"kind": "ConfigMap", "name": name},
        "patch": to_yaml(removed),
    }


def are_in(plans: Sequence[ConfiguredPlan]) -> list[ConfiguredPlan]:
    """The plans whose pods get their CPUs from Koordinator."""
    return [plan for plan in plans if plan.node_class.target.has_koordinator]


def ignored_differences(plans: Sequence[ConfiguredPlan]) -> list[dict[str, Any]]:
    """What Applications must leave alone, as Koordinator's programs write it; none without it."""
    return owned_fields() if are_in(plans) else []


def manifests(plan: ConfiguredPlan) -> Iterator[Manifest]:
    """The labels and annotations of each node, and the profiles of the intent's workloads."""
    if settings := plan.settings.of(node.NAME):
        for name in plan.node_class.nodes:
            yield Manifest(f"20-node-{name}.yaml", _node(name, node.metadata(settings)))
    for workload in plan.settings.of(colocation.NAME):
        data = colocation.document(plan, workload)
        name = data["metadata"]["name"]
        data["metadata"] = metadata(name, NODE_WAVE, options=MAY_BE_MISSING)
        yield Manifest(f"20-clustercolocationprofile-{name}.yaml", data)


def _node(name: str, given: Mapping[str, dict[str, str]]) -> dict[str, Any]:
    labels = {"labels": given["labels"]} if "labels" in given else {}
    annotations = {**of_others(NODE_WAVE), **given.get("annotations", {})}
    return {**node.HEAD, "metadata": {"name": name, **labels, "annotations": annotations}}


def cluster_manifests(plans: Sequence[ConfiguredPlan]) -> Iterator[Manifest]:
    """The ConfigMaps of a cluster, which all its intents share."""
    yield from config_map_manifests(are_in(plans))


def pods(plan: ConfiguredPlan) -> Files:
    """What templates of pods must have, by path below the cluster's folder `koordinator`."""
    return {
        f"pods/{colocation.profile(plan, workload)}.yaml": to_file(colocation.pod(workload))
        for workload in plan.settings.of(colocation.NAME)
    }


def files(plans: Sequence[ConfiguredPlan]) -> Files:
    """What installs Koordinator must leave alone in a cluster, by path below the same folder."""
    members = are_in(plans)
    if not members:
        return {}
    return ownership_files(
        [manifest.data["metadata"]["name"] for manifest in config_map_manifests(members)]
    )

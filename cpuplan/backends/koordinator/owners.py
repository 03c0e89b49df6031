"""Who owns what at run time, as settings of Argo CD, Flux and Kustomize.

koordlet, koord-manager and koord-scheduler write objects and fields of their own; a tool that takes
them for its own would fight them.
"""

from collections.abc import Sequence
from typing import Any

from cpuplan.backends.base import Files, to_file
from cpuplan.base.emit import to_yaml
from cpuplan.components.koordinator import chart
from cpuplan.upstream.koordinator.extension import constants

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


def ignored_differences() -> list[dict[str, Any]]:
    """What an Application that patches nodes must leave alone."""
    annotations = (f"/metadata/annotations/{_pointer(key)}" for key in _THEIR_ANNOTATIONS)
    return [{"group": "", "kind": "Node", "jsonPointers": ["/spec", "/status", *annotations]}]


def _pointer(key: str) -> str:
    """A key as a part of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def files(config_maps: Sequence[str]) -> Files:
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
    removed = {"$patch": "delete", **chart.config_map(name, {})}
    del removed["data"]
    return {
        "target": {"kind": "ConfigMap", "name": name},
        "patch": to_yaml(removed),
    }

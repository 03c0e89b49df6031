"""Objects for clusters in which Koordinator gives CPUs to pods, beside the files of their nodes.

What its own programs write at run time is in none of them (docs/koordinator.md).
"""

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
from cpuplan.backends.koordinator import cluster, owners
from cpuplan.components.koordinator import colocation, node
from cpuplan.plan import ConfiguredPlan


def are_in(plans: Sequence[ConfiguredPlan]) -> list[ConfiguredPlan]:
    """The plans whose pods get their CPUs from Koordinator."""
    return [plan for plan in plans if plan.node_class.target.has_koordinator]


def ignored_differences(plans: Sequence[ConfiguredPlan]) -> list[dict[str, Any]]:
    """What Applications must leave alone, as Koordinator's programs write it; none without it."""
    return owners.ignored_differences() if are_in(plans) else []


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
    yield from cluster.manifests(are_in(plans))


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
    return owners.files([one.data["metadata"]["name"] for one in cluster.manifests(members)])

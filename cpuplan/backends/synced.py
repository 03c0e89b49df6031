"""What syncs `out/` to the clusters: the files for Argo CD and for Flux of a Delivery document."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from cpuplan.backends import argocd, flux, koordinator, rollouts, verify
from cpuplan.backends import delivery as by_git
from cpuplan.backends.base import Files
from cpuplan.backends.managed import Managed
from cpuplan.fleet.hosting import application
from cpuplan.language.model.delivery import DeliverySpec
from cpuplan.plan import ConfiguredPlan


def files(
    plans: Sequence[ConfiguredPlan], delivery: DeliverySpec, objects: Iterable[Managed]
) -> Files:
    """The files of the tools that the document names, by path below `out/`."""
    managed = tuple(objects)
    made: Files = {}
    if "argocd" in delivery.tools:
        made |= argocd.files(_inputs(plans, delivery, managed))
    if "flux" in delivery.tools:
        made |= flux.files(delivery, managed)
    return made


def _inputs(
    plans: Sequence[ConfiguredPlan], delivery: DeliverySpec, objects: tuple[Managed, ...]
) -> argocd.Inputs:
    return argocd.Inputs(
        delivery,
        objects,
        of_koordinator=tuple(koordinator.ignored_differences(plans)),
        verifies=bool(verify.are_in(plans)),
        pauses=any("paused" in rollouts.of_pool(plan) for plan in plans),
        waves=tuple(rollouts.waves_of_clusters(plans)),
        windows=tuple(_windows(plans, objects)),
        clusters=tuple(_clusters(plans, objects)),
    )


def _of_cluster(
    plans: Sequence[ConfiguredPlan],
) -> Iterable[tuple[str, list[ConfiguredPlan]]]:
    for cluster, group in groupby(plans, key=lambda plan: plan.node_class.cluster):
        yield cluster, list(group)


def _windows(
    plans: Sequence[ConfiguredPlan], objects: Sequence[Managed]
) -> Iterable[Mapping[str, Any]]:
    """The windows of each cluster; those of several that have the same ones once."""
    applications: dict[Any, list[str]] = {}
    hosted = {each.cluster for each in objects if each.is_for_host}
    for cluster, members in _of_cluster(plans):
        # All intents of a cluster say the same (CP676).
        for window in members[0].spec.rollout.windows:
            names = [cluster, *([application(cluster)] if cluster in hosted else [])]
            applications.setdefault(window, []).extend(f"cpuplan-{name}" for name in names)
    for window, names in applications.items():
        yield {
            "kind": "allow",
            "schedule": window.schedule,
            "duration": window.duration,
            "timeZone": window.time_zone,
            "applications": names,
        }


def _clusters(
    plans: Sequence[ConfiguredPlan], objects: Sequence[Managed]
) -> Iterable[Mapping[str, Any]]:
    """What the folders of clusters say in cluster.json, with the cluster that is compiled."""
    for cluster, members in _of_cluster(plans):
        own = [each for each in objects if each.cluster == cluster]
        facts = by_git.facts(cluster, members)
        if any(not each.is_for_host for each in own):
            yield {**facts, "cluster": cluster, "hosting": "false"}
        if any(each.is_for_host for each in own):
            of_host = by_git.facts_of_host(cluster, members)
            yield {**of_host, "cluster": cluster, "hosting": "true"}

"""Delivery by Git: Kustomize's files around each cluster's objects, and what syncs them."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from cpuplan.backends import rollouts
from cpuplan.backends.base import Files, Managed, Object, to_file
from cpuplan.base.emit import to_json
from cpuplan.base.program import resource
from cpuplan.fleet.targets import HOST, application
from cpuplan.language.model.base import has_key
from cpuplan.language.model.operations import DeliverySpec
from cpuplan.plan import ConfiguredPlan, NodePlan

if TYPE_CHECKING:
    from cpuplan.backends import argocd


def git_files() -> Files:
    """Git's attributes for `out/`, and the list of files that Git ignores there."""
    attributes = resource("templates", "git", "out.gitattributes").read_bytes()
    return {".gitattributes": attributes, ".cpuplan/.gitignore": b"written\n"}


def cluster_files(
    cluster: str, plans: Sequence[NodePlan], objects: Iterable[Object], kept: Iterable[str] = ()
) -> Files:
    """The folder of one cluster, and in it that of what belongs into the cluster that hosts it.

    `kept` are the paths of files that stay there.
    """
    written, stays = list(objects), list(kept)
    own = [manifest for manifest in written if not manifest.is_for_host]
    hosting = [manifest for manifest in written if manifest.is_for_host]
    folder = f"clusters/{cluster}"
    return {
        **_folder(folder, own, stays, git_facts(cluster, plans)),
        **_folder(f"{folder}/{HOST}", hosting, stays, facts_of_host(cluster, plans)),
    }


def path_of(cluster: str, made: Object) -> str:
    """The path below `out/` of an object of a cluster."""
    folder = f"clusters/{cluster}/{HOST}" if made.is_for_host else f"clusters/{cluster}"
    return f"{folder}/manifests/{made.file}"


def host_of(plans: Sequence[NodePlan]) -> str:
    """The cluster that hosts the control plane of a cluster, or manages its machines."""
    named = [plan.node_class.target.hosting_cluster for plan in plans if _names_host(plan)]
    return named[0] if named else plans[0].node_class.target.hosting_cluster


def _names_host(plan: NodePlan) -> bool:
    """Whether a target names the cluster; those that do agree (CP200)."""
    return has_key(plan.node_class.target, "hostingCluster")


def _folder(
    folder: str, objects: Iterable[Object], kept: Iterable[str], known: Mapping[str, Any]
) -> Files:
    """Objects, an explicit list of them for Kustomize, and facts for the ApplicationSet.

    Nothing without objects: Kustomize refuses an empty list, and there is nothing to sync.
    """
    made = {f"{folder}/manifests/{manifest.file}": manifest.text for manifest in objects}
    names = sorted(
        path.rpartition("/")[2]
        for path in {*made, *kept}
        if path.startswith(f"{folder}/manifests/")
    )
    if not names:
        return {}
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": names,
    }
    made[f"{folder}/manifests/kustomization.yaml"] = to_file(kustomization)
    made[f"{folder}/cluster.json"] = to_json(known).encode()
    return made


def git_facts(cluster: str, plans: Sequence[NodePlan]) -> dict[str, Any]:
    """What the ApplicationSet must know of a cluster."""
    first = plans[0].node_class
    wave = rollouts.wave_of_cluster(first) if rollouts.waves_of_clusters(plans) else None
    return {
        "name": cluster,
        "platform": first.target.platform,
        "version": first.target.version,
        **({"wave": wave.name} if wave else {}),
    }


def facts_of_host(cluster: str, plans: Sequence[NodePlan]) -> dict[str, Any]:
    """The same of what belongs into the cluster that hosts it."""
    named = {"name": application(cluster), "destination": host_of(plans)}
    return {**git_facts(cluster, plans), **named}


def files(
    plans: Sequence[ConfiguredPlan], delivery: DeliverySpec, objects: Iterable[Managed]
) -> Files:
    """The files of the tools that the document names, by path below `out/`."""
    managed = tuple(objects)
    made: Files = {}
    if "argocd" in delivery.tools:
        from cpuplan.backends import argocd

        made |= argocd.files(_inputs(plans, delivery, managed))
    if "flux" in delivery.tools:
        from cpuplan.backends import flux

        made |= flux.files(delivery, managed)
    return made


def _inputs(
    plans: Sequence[ConfiguredPlan], delivery: DeliverySpec, objects: tuple[Managed, ...]
) -> "argocd.Inputs":
    from cpuplan.backends import argocd, koordinator, verify

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
    hosted = {managed.cluster for managed in objects if managed.is_for_host}
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
        own = [managed for managed in objects if managed.cluster == cluster]
        facts = git_facts(cluster, members)
        if any(not managed.is_for_host for managed in own):
            yield {**facts, "cluster": cluster, "hosting": "false"}
        if any(managed.is_for_host for managed in own):
            of_host = facts_of_host(cluster, members)
            yield {**of_host, "cluster": cluster, "hosting": "true"}

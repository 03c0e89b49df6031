"""Delivery by Git: Kustomize's files around each cluster's objects (docs/gitops.md)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cpuplan.backends import rollouts
from cpuplan.backends.base import Files, Object, to_file
from cpuplan.base.emit import to_json
from cpuplan.base.resources import resource
from cpuplan.fleet.hosting import HOST, application
from cpuplan.language.model.base import has_key
from cpuplan.plan import NodePlan


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
    own = [each for each in written if not each.is_for_host]
    hosting = [each for each in written if each.is_for_host]
    folder = f"clusters/{cluster}"
    return {
        **_folder(folder, own, stays, facts(cluster, plans)),
        **_folder(f"{folder}/{HOST}", hosting, stays, facts_of_host(cluster, plans)),
    }


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
    made = {f"{folder}/manifests/{each.file}": each.text for each in objects}
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


def facts(cluster: str, plans: Sequence[NodePlan]) -> dict[str, Any]:
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
    return {**facts(cluster, plans), **named}

"""The AppProject: from where, to where, what, and when."""

from collections.abc import Iterable, Sequence
from typing import Any

from cpuplan.backends.argocd import kinds as known
from cpuplan.backends.argocd.inputs import Inputs
from cpuplan.backends.managed import Managed


def document(given: Inputs) -> dict[str, Any]:
    """The project of all Applications."""
    delivery = given.delivery
    cluster_kinds, namespaced = _kinds(given)
    windows = {"syncWindows": list(given.windows)} if given.windows else {}
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AppProject",
        "metadata": {"name": delivery.project, "namespace": delivery.namespace},
        "spec": {
            "description": "CPU partitioning of nodes, compiled by cpuplan",
            "sourceRepos": [delivery.repository],
            "destinations": _destinations(given),
            "clusterResourceWhitelist": _entries(cluster_kinds),
            "namespaceResourceWhitelist": _entries(namespaced),
            **windows,
        },
    }


def _entries(kinds: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"group": group, "kind": kind} for group, kind in sorted(kinds)]


def _kinds(given: Inputs) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Kinds of the cluster and of namespaces: those that are compiled, or all that may be."""
    if given.delivery.restricted:
        of_cluster = {each.group_kind for each in given.objects if not each.namespace}
        return list(of_cluster), list({each.group_kind for each in given.objects} - of_cluster)
    cluster_kinds, namespaced = list(known.CLUSTER_KINDS), list(known.NAMESPACED_KINDS)
    if given.of_koordinator:
        cluster_kinds += known.KOORDINATOR_KINDS
    if given.verifies:
        cluster_kinds += known.VERIFY_CLUSTER_KINDS
        namespaced += known.VERIFY_KINDS
    return cluster_kinds, namespaced


def _destinations(given: Inputs) -> list[dict[str, str]]:
    """Where Applications may write.

    The one without a namespace is for the Application itself, whose destination has none, and for
    objects of the cluster.
    """
    if not given.delivery.restricted:
        return [{"name": "*", "namespace": "*"}]
    made = []
    for destination in sorted({each.destination for each in given.objects}):
        made.append({"name": destination})
        namespaces = _namespaces(given.objects, destination)
        made += [{"name": destination, "namespace": namespace} for namespace in namespaces]
    return made


def _namespaces(objects: Sequence[Managed], destination: str) -> list[str]:
    found = {each.namespace for each in objects if each.destination == destination}
    return sorted(found - {""})

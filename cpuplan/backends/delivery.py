"""Delivery by Git: Kustomize and Argo CD files around each cluster's objects (docs/gitops.md)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cpuplan.backends.base import CONFIRM, Files, Manifest, to_file
from cpuplan.emit import to_json
from cpuplan.fleet.hosting import HOST, application
from cpuplan.model.base import has_key
from cpuplan.model.delivery import DeliverySpec
from cpuplan.plan import NodePlan
from cpuplan.resources import resource

#: The kinds that cpuplan writes, by API group: all that its AppProject may sync.
NAMESPACED_KINDS = (
    ("", "ConfigMap"),
    ("bootstrap.cluster.x-k8s.io", "KubeadmConfigTemplate"),
    ("config.nri", "BalloonsPolicy"),
    ("tuned.openshift.io", "Tuned"),
)
CLUSTER_KINDS = (
    ("", "Namespace"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
    ("machineconfiguration.openshift.io", "KubeletConfig"),
    ("machineconfiguration.openshift.io", "MachineConfig"),
    ("machineconfiguration.openshift.io", "MachineConfigPool"),
    ("node.k8s.io", "RuntimeClass"),
    ("performance.openshift.io", "PerformanceProfile"),
    ("skyhook.nvidia.com", "Skyhook"),
)
#: The same where Koordinator gives CPUs to pods.
KOORDINATOR_KINDS = (
    ("", "Node"),
    ("config.koordinator.sh", "ClusterColocationProfile"),
)
#: The same where a cluster verifies its nodes.
VERIFY_KINDS = (
    ("", "ServiceAccount"),
    ("apps", "DaemonSet"),
    ("batch", "Job"),
    ("monitoring.coreos.com", "PodMonitor"),
    ("monitoring.coreos.com", "PrometheusRule"),
    ("rbac.authorization.k8s.io", "Role"),
    ("rbac.authorization.k8s.io", "RoleBinding"),
)
VERIFY_CLUSTER_KINDS = (
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("security.openshift.io", "SecurityContextConstraints"),
)
#: On the set: its Applications stay when it is deleted. They have none themselves, so that neither
#: do their objects go.
_FINALIZER = "resources-finalizer.argocd.argoproj.io"


def git_files() -> Files:
    """Git's attributes for `out/`, and the list of files that Git ignores there."""
    attributes = resource("templates", "git", "out.gitattributes").read_bytes()
    return {".gitattributes": attributes, ".cpuplan/.gitignore": b"written\n"}


def cluster_files(
    cluster: str, plans: Sequence[NodePlan], manifests: Iterable[Manifest], kept: Iterable[str] = ()
) -> Files:
    """The folder of one cluster, and in it that of what belongs into the cluster that hosts it.

    `kept` are the paths of files that stay there.
    """
    written, stays = list(manifests), list(kept)
    own = [manifest for manifest in written if not manifest.is_for_host]
    hosting = [manifest for manifest in written if manifest.is_for_host]
    folder, facts = f"clusters/{cluster}", _facts(cluster, plans)
    named = [plan.node_class.target.hosting_cluster for plan in plans if _names_host(plan)]
    host = named[0] if named else plans[0].node_class.target.hosting_cluster
    host_facts = {**facts, "name": application(cluster), "destination": host}
    return {
        **_folder(folder, own, stays, facts),
        **_folder(f"{folder}/{HOST}", hosting, stays, host_facts),
    }


def _names_host(plan: NodePlan) -> bool:
    """Whether a target names the cluster; those that do agree (CP200)."""
    return has_key(plan.node_class.target, "hostingCluster")


def _folder(
    folder: str, manifests: Iterable[Manifest], kept: Iterable[str], facts: Mapping[str, Any]
) -> Files:
    """Objects, an explicit list of them for Kustomize, and facts for the ApplicationSet.

    Nothing without objects: Kustomize refuses an empty list, and there is nothing to sync.
    """
    made = {f"{folder}/manifests/{manifest.file}": to_file(manifest.data) for manifest in manifests}
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
    made[f"{folder}/cluster.json"] = to_json(facts).encode()
    return made


def _facts(cluster: str, plans: Sequence[NodePlan]) -> dict[str, Any]:
    classes = [plan.node_class for plan in plans]
    return {
        "name": cluster,
        "platform": classes[0].target.platform,
        "version": classes[0].target.version,
    }


def argocd_files(
    delivery: DeliverySpec,
    ignored_differences: Sequence[Mapping[str, Any]] = (),
    *,
    verifies: bool = False,
) -> Files:
    """A restricted AppProject, and an ApplicationSet with an Application for each cluster.

    Where nodes are patched for Koordinator, its Applications ignore what others write there. Where
    a cluster `verifies` its nodes, they may sync what that takes.
    """
    kinds = [*CLUSTER_KINDS, *(KOORDINATOR_KINDS if ignored_differences else ())]
    namespaced = list(NAMESPACED_KINDS)
    if verifies:
        kinds += VERIFY_CLUSTER_KINDS
        namespaced += VERIFY_KINDS
    listed = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": ["appproject.yaml", "applicationset.yaml"],
    }
    return {
        "argocd/appproject.yaml": to_file(_project(delivery, sorted(kinds), sorted(namespaced))),
        "argocd/applicationset.yaml": to_file(_application_set(delivery, ignored_differences)),
        "argocd/kustomization.yaml": to_file(listed),
    }


def _project(
    delivery: DeliverySpec,
    kinds: Iterable[tuple[str, str]],
    namespaced: Iterable[tuple[str, str]],
) -> dict[str, Any]:
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AppProject",
        "metadata": {"name": delivery.project, "namespace": delivery.namespace},
        "spec": {
            "description": "CPU partitioning of nodes, compiled by cpuplan",
            "sourceRepos": [delivery.repository],
            "destinations": [{"name": "*", "namespace": "*"}],
            "clusterResourceWhitelist": [{"group": group, "kind": kind} for group, kind in kinds],
            "namespaceResourceWhitelist": [
                {"group": group, "kind": kind} for group, kind in namespaced
            ],
        },
    }


def _application_set(
    delivery: DeliverySpec, ignored_differences: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    ignored = {"ignoreDifferences": ignored_differences} if ignored_differences else {}
    out = f"{delivery.path}/out" if delivery.path else "out"
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "ApplicationSet",
        # With it, Applications outlive the set itself too (argo-cd,
        # Controlling-Resource-Modification.md).
        "metadata": {
            "name": "cpuplan",
            "namespace": delivery.namespace,
            "finalizers": [_FINALIZER],
        },
        "spec": {
            "goTemplate": True,
            "goTemplateOptions": ["missingkey=error"],
            # A cluster that is no longer listed keeps its objects and its Application, which then
            # fails for all to see.
            "syncPolicy": {
                "applicationsSync": "create-update",
                "preserveResourcesOnDeletion": True,
            },
            # Else the set's controller may take away a person's word before Argo CD has read it.
            "preservedFields": {"annotations": ["argocd.argoproj.io/deletion-approved"]},
            "generators": [
                {
                    "git": {
                        "repoURL": delivery.repository,
                        "revision": delivery.revision,
                        "files": [
                            {"path": f"{out}/clusters/*/cluster.json"},
                            {"path": f"{out}/clusters/*/{HOST}/cluster.json"},
                        ],
                    }
                }
            ],
            "template": {
                "metadata": {
                    "name": "cpuplan-{{.name}}",
                    "annotations": {"argocd.argoproj.io/manifest-generate-paths": "."},
                },
                "spec": {
                    "project": delivery.project,
                    "source": {
                        "repoURL": delivery.repository,
                        "targetRevision": delivery.revision,
                        "path": "{{.path.path}}/manifests",
                    },
                    "destination": {"name": '{{default .name (get . "destination")}}'},
                    **ignored,
                    "syncPolicy": _sync_policy(delivery),
                },
            },
        },
    }


def _sync_policy(delivery: DeliverySpec) -> dict[str, Any]:
    """Nothing stays that Git has no more, and nothing goes without a person's word.

    The confirmation is asked of each Application too: the machine config operator takes the
    annotations away from a KubeletConfig that it sees for the first time, and what is removed is
    asked on the live object.
    """
    policy: dict[str, Any] = {
        "syncOptions": [
            # Replace and Force would drop what the machine config operator keeps on its objects:
            # finalizers, suffixes.
            "ServerSideApply=true",
            "ApplyOutOfSyncOnly=true",
            "FailOnSharedResource=true",
            "PruneLast=true",
            *CONFIRM,
        ],
    }
    if delivery.automated:
        # A folder without objects is a mistake, not the wish to lose all of them.
        return {"automated": {"prune": True, "selfHeal": True, "allowEmpty": False}, **policy}
    return policy

"""Delivery by Git: Kustomize and Argo CD files around the objects of each cluster (docs/gitops.md)."""

from collections.abc import Iterable, Sequence
from typing import Any

from cpuplan.backends.base import Files, Manifest, to_file
from cpuplan.delivery import DeliverySpec
from cpuplan.emit import to_json
from cpuplan.plan import NodePlan

#: The kinds that cpuplan writes, by API group: all that its AppProject may sync.
NAMESPACED_KINDS = (
    ("", "ConfigMap"),
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
)


def cluster_files(cluster: str, plans: Sequence[NodePlan], manifests: Iterable[Manifest]) -> Files:
    """The folder of one cluster: objects, an explicit list of them for Kustomize, and facts for the ApplicationSet."""
    objects = sorted(manifests)
    folder = f"clusters/{cluster}"
    files = {f"{folder}/manifests/{manifest.file}": to_file(manifest.data) for manifest in objects}
    listed = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [manifest.file for manifest in objects],
    }
    files[f"{folder}/manifests/kustomization.yaml"] = to_file(listed)
    files[f"{folder}/cluster.json"] = to_json(_facts(cluster, plans)).encode()
    return files


def _facts(cluster: str, plans: Sequence[NodePlan]) -> dict[str, Any]:
    classes = [plan.node_class for plan in plans]
    return {
        "name": cluster,
        "platform": classes[0].target.platform,
        "version": classes[0].target.version,
        "classes": [{"name": each.name, "pool": each.target.pool or "", "nodes": len(each.nodes)} for each in classes],
    }


def argocd_files(delivery: DeliverySpec) -> Files:
    """An AppProject that may do no more than it must, and an ApplicationSet with an Application for each cluster."""
    listed = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": ["appproject.yaml", "applicationset.yaml"],
    }
    return {
        "argocd/appproject.yaml": to_file(_project(delivery)),
        "argocd/applicationset.yaml": to_file(_application_set(delivery)),
        "argocd/kustomization.yaml": to_file(listed),
    }


def _project(delivery: DeliverySpec) -> dict[str, Any]:
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AppProject",
        "metadata": {"name": delivery.project, "namespace": delivery.namespace},
        "spec": {
            "description": "CPU partitioning of nodes, compiled by cpuplan",
            "sourceRepos": [delivery.repository],
            "destinations": [{"name": "*", "namespace": "*"}],
            "clusterResourceWhitelist": [{"group": group, "kind": kind} for group, kind in CLUSTER_KINDS],
            "namespaceResourceWhitelist": [{"group": group, "kind": kind} for group, kind in NAMESPACED_KINDS],
        },
    }


def _application_set(delivery: DeliverySpec) -> dict[str, Any]:
    out = f"{delivery.path}/out" if delivery.path else "out"
    sync: dict[str, Any] = {
        # Replace and Force would drop what the machine config operator keeps on its objects: finalizers and suffixes.
        "syncOptions": ["ServerSideApply=true", "ApplyOutOfSyncOnly=true", "FailOnSharedResource=true"],
    }
    if delivery.automated:
        sync = {"automated": {"prune": False, "selfHeal": True}, **sync}
    source = {
        "repoURL": delivery.repository,
        "targetRevision": delivery.revision,
        "path": out + "/clusters/{{.name}}/manifests",
    }
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "ApplicationSet",
        "metadata": {"name": "cpuplan", "namespace": delivery.namespace},
        "spec": {
            "goTemplate": True,
            "goTemplateOptions": ["missingkey=error"],
            "generators": [
                {
                    "git": {
                        "repoURL": delivery.repository,
                        "revision": delivery.revision,
                        "files": [{"path": f"{out}/clusters/*/cluster.json"}],
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
                    "source": source,
                    "destination": {"name": "{{.name}}"},
                    "syncPolicy": sync,
                },
            },
        },
    }

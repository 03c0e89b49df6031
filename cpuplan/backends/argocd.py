"""What Argo CD is given: a project, a set of Applications, and patches of its own settings."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.backends import base as known
from cpuplan.backends.base import CONFIRM, Files, Managed, to_file
from cpuplan.base.program import resource
from cpuplan.fleet.targets import HOST
from cpuplan.language.model.operations import DeliverySpec


class Inputs(NamedTuple):
    """One value for all of them."""

    delivery: DeliverySpec
    #: All compiled objects, those of paused classes too.
    objects: tuple[Managed, ...] = ()
    #: What Applications leave alone where Koordinator writes; nothing without it.
    of_koordinator: tuple[Mapping[str, Any], ...] = ()
    #: Whether a cluster verifies its nodes.
    verifies: bool = False
    #: Whether Git says which pools are paused.
    pauses: bool = False
    #: The names of waves that clusters are in, in their order.
    waves: tuple[str, ...] = ()
    #: Times at which Applications may sync.
    windows: tuple[Mapping[str, Any], ...] = ()
    #: The clusters' facts, as in cluster.json, for Applications that do not read it.
    clusters: tuple[Mapping[str, Any], ...] = ()

    @property
    def kinds(self) -> frozenset[tuple[str, str]]:
        """API group and kind of each compiled object."""
        return frozenset(managed.group_kind for managed in self.objects)


def plugin_files() -> Files:
    """The plugin's own configuration, for its sidecar."""
    path = resource("templates", "argocd", "plugin.yaml")
    return {"argocd/plugin.yaml": path.read_bytes()}


_MACHINE_CONFIG = "machineconfiguration.openshift.io"
#: By API group and kind, the fields of each and who writes them.
_OWNED: dict[tuple[str, str], tuple[str, ...]] = {
    # OpenShift adds the Secrets of its internal registry.
    ("", "ServiceAccount"): ("/secrets",),
    # Cluster API: the Cluster object becomes the owner.
    ("bootstrap.cluster.x-k8s.io", "KubeadmConfigTemplate"): (
        "/metadata/labels/cluster.x-k8s.io~1cluster-name",
        "/metadata/ownerReferences",
    ),
    # The operator's own number of the MachineConfig that it makes, and what it still has to remove.
    (_MACHINE_CONFIG, "KubeletConfig"): (
        f"/metadata/annotations/{_MACHINE_CONFIG}~1mc-name-suffix",
        "/metadata/finalizers",
    ),
    # The configuration that the operator rendered; `paused` belongs to whoever pauses.
    (_MACHINE_CONFIG, "MachineConfigPool"): ("/spec/configuration", "/spec/paused"),
    ("performance.openshift.io", "PerformanceProfile"): ("/metadata/finalizers",),
    # NodeWright's command line pauses and disables by annotations.
    ("skyhook.nvidia.com", "Skyhook"): (
        "/metadata/annotations/skyhook.nvidia.com~1disable",
        "/metadata/annotations/skyhook.nvidia.com~1pause",
        "/metadata/annotations/skyhook.nvidia.com~1version",
        "/metadata/finalizers",
    ),
}
#: OpenShift adds its own pull secrets to those of an account.
_PULL_SECRETS = '.imagePullSecrets[]? | select(.name | test("-dockercfg-"))'


def ignored(
    kinds: Collection[tuple[str, str]], *, by_label: bool, pauses: bool
) -> list[dict[str, Any]]:
    """What Applications with these kinds leave alone.

    `pauses`: Git says whether pools are paused. `by_label`: objects are known by a label, so that
    annotations that the machine config operator removes need not come back.
    """
    made = []
    for (group, kind), pointers in sorted(_OWNED.items()):
        if (group, kind) not in kinds:
            continue
        fields = list(pointers)
        if kind == "MachineConfigPool" and pauses:
            fields.remove("/spec/paused")
        if kind == "KubeletConfig" and by_label:
            fields = ["/metadata/annotations", "/metadata/finalizers"]
        entry: dict[str, Any] = {"group": group, "kind": kind, "jsonPointers": fields}
        if kind == "ServiceAccount":
            entry["jqPathExpressions"] = [_PULL_SECRETS]
        made.append(entry)
    return made


#: The kinds whose objects get a status from somebody, by API group; each has a script.
HEALTH_CHECKED = (
    ("config.nri", "BalloonsPolicy"),
    ("config.nri", "TopologyAwarePolicy"),
    ("machineconfiguration.openshift.io", "KubeletConfig"),
    ("machineconfiguration.openshift.io", "MachineConfigPool"),
    ("performance.openshift.io", "PerformanceProfile"),
    ("skyhook.nvidia.com", "Skyhook"),
    ("tuned.openshift.io", "Tuned"),
)


def health_script(kind: str) -> str:
    """The check of a kind."""
    path = resource("templates", "argocd", "health", f"{kind}.lua")
    return path.read_text(encoding="utf-8")


def health_in_config_map(kinds: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The checks of these kinds as keys of the ConfigMap argocd-cm."""
    return {
        f"resource.customizations.health.{group}_{kind}": health_script(kind)
        for group, kind in HEALTH_CHECKED
        if (group, kind) in set(kinds)
    }


def health_in_operator(kinds: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    """The same as a field of the ArgoCD object, from which its operator writes argocd-cm."""
    return [
        {"group": group, "kind": kind, "check": health_script(kind)}
        for group, kind in HEALTH_CHECKED
        if (group, kind) in set(kinds)
    ]


def app_project(given: Inputs) -> dict[str, Any]:
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
        of_cluster = {managed.group_kind for managed in given.objects if not managed.namespace}
        return list(of_cluster), list(
            {managed.group_kind for managed in given.objects} - of_cluster
        )
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
    for destination in sorted({managed.destination for managed in given.objects}):
        made.append({"name": destination})
        namespaces = _namespaces(given.objects, destination)
        made += [{"name": destination, "namespace": namespace} for namespace in namespaces]
    return made


def _namespaces(objects: Sequence[Managed], destination: str) -> list[str]:
    namespaces = {managed.namespace for managed in objects if managed.destination == destination}
    return sorted(namespaces - {""})


#: On the set: its Applications stay when it is deleted. They have none themselves, so that neither
#: do their objects go.
_FINALIZER = "resources-finalizer.argocd.argoproj.io"
#: The label of an Application with its wave; empty for what comes after all waves.
WAVE_LABEL = "cpuplan.io/wave"
PLUGIN = "cpuplan"


def application_set(given: Inputs) -> dict[str, Any]:
    """The set."""
    delivery = given.delivery
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
            **_strategy(given),
            "generators": [_generator(given)],
            "template": {
                "metadata": _metadata(given),
                "spec": {
                    "project": delivery.project,
                    "source": _source(delivery),
                    "destination": {"name": '{{default .name (get . "destination")}}'},
                    **_ignored(given),
                    "syncPolicy": _sync_policy(given),
                },
            },
        },
    }


def _generator(given: Inputs) -> dict[str, Any]:
    """The clusters in the repository, or those of this compilation if it has no `out/`."""
    delivery = given.delivery
    if delivery.plugin:
        return {"list": {"elements": [dict(facts) for facts in given.clusters]}}
    out = f"{delivery.path}/out" if delivery.path else "out"
    return {
        "git": {
            "repoURL": delivery.repository,
            "revision": delivery.revision,
            "files": [
                {"path": f"{out}/clusters/*/cluster.json"},
                {"path": f"{out}/clusters/*/{HOST}/cluster.json"},
            ],
        }
    }


def _metadata(given: Inputs) -> dict[str, Any]:
    wave = {"labels": {WAVE_LABEL: '{{default "" (get . "wave")}}'}} if given.waves else {}
    return {
        "name": "cpuplan-{{.name}}",
        **wave,
        "annotations": {"argocd.argoproj.io/manifest-generate-paths": "."},
    }


def _source(delivery: DeliverySpec) -> dict[str, Any]:
    source = {"repoURL": delivery.repository, "targetRevision": delivery.revision}
    if not delivery.plugin:
        return {**source, "path": "{{.path.path}}/manifests"}
    parameters = [
        {"name": "cluster", "string": "{{.cluster}}"},
        {"name": "hosting", "string": "{{.hosting}}"},
    ]
    plugin = {"name": PLUGIN, "parameters": parameters}
    return {**source, "path": delivery.path or ".", "plugin": plugin}


def _strategy(given: Inputs) -> dict[str, Any]:
    """Wave after wave, each when all Applications of the one before are healthy.

    What is in no step would never be synced: a last one is for all others.
    """
    if not given.waves:
        return {}
    steps = [_step("In", [wave]) for wave in given.waves]
    steps.append(_step("NotIn", list(given.waves)))
    return {"strategy": {"type": "RollingSync", "rollingSync": {"steps": steps}}}


def _step(operator: str, values: list[str]) -> dict[str, Any]:
    return {"matchExpressions": [{"key": WAVE_LABEL, "operator": operator, "values": values}]}


def _ignored(given: Inputs) -> dict[str, Any]:
    entries = [dict(entry) for entry in given.of_koordinator]
    if given.delivery.ignore_differences:
        by_label = given.delivery.tracking == "label"
        entries += ignored(given.kinds, by_label=by_label, pauses=given.pauses)
    return {"ignoreDifferences": entries} if entries else {}


def _sync_policy(given: Inputs) -> dict[str, Any]:
    """Nothing stays that Git has no more, and nothing goes without a person's word.

    The confirmation is asked of each Application too: the machine config operator takes the
    annotations away from a KubeletConfig that it sees for the first time, and what is removed is
    asked on the live object.
    """
    respects = ["RespectIgnoreDifferences=true"] if given.delivery.ignore_differences else []
    policy: dict[str, Any] = {
        "syncOptions": [
            # Replace and Force would drop what the machine config operator keeps on its objects:
            # finalizers, suffixes.
            "ServerSideApply=true",
            "ApplyOutOfSyncOnly=true",
            "FailOnSharedResource=true",
            "PruneLast=true",
            *respects,
            *CONFIRM,
        ],
    }
    # The controller of the set syncs wave after wave, and turns it off in each Application.
    if given.delivery.automated and not given.waves:
        # A folder without objects is a mistake, not the wish to lose all of them.
        return {"automated": {"prune": True, "selfHeal": True, "allowEmpty": False}, **policy}
    return policy


#: Not the default label, which applications use for themselves.
_LABEL = "argocd.argoproj.io/instance"


def settings_files(delivery: DeliverySpec, kinds: Iterable[tuple[str, str]]) -> Files:
    """A patch for installations with a ConfigMap, and one for those of the operator.

    Neither is in the Kustomization: what they belong to is not cpuplan's.
    """
    given = frozenset(kinds)
    checks = health_in_config_map(given) if delivery.health_checks else {}
    data = {**_tracking(delivery), **checks}
    if not data:
        return {}
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "argocd-cm", "namespace": delivery.namespace},
        "data": data,
    }
    return {
        "argocd/argocd-cm.yaml": to_file(config_map),
        "argocd/argocd.yaml": to_file(_operator(delivery, given)),
    }


def _tracking(delivery: DeliverySpec) -> dict[str, str]:
    if delivery.tracking is None:
        return {}
    label = {"application.instanceLabelKey": _LABEL} if delivery.tracking == "label" else {}
    return {**label, "application.resourceTrackingMethod": delivery.tracking}


def _operator(delivery: DeliverySpec, kinds: frozenset[tuple[str, str]]) -> dict[str, Any]:
    """The same as fields of the ArgoCD object; OpenShift GitOps calls it as its namespace."""
    spec: dict[str, Any] = {}
    if delivery.tracking == "label":
        spec["applicationInstanceLabelKey"] = _LABEL
    if delivery.health_checks:
        spec["resourceHealthChecks"] = health_in_operator(kinds)
    if delivery.tracking is not None:
        spec["resourceTrackingMethod"] = delivery.tracking
    return {
        "apiVersion": "argoproj.io/v1beta1",
        "kind": "ArgoCD",
        "metadata": {"name": delivery.namespace, "namespace": delivery.namespace},
        "spec": spec,
    }


def files(given: Inputs) -> Files:
    """The files below `argocd/`; what its Kustomization lists is applied by hand."""
    listed = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": ["appproject.yaml", "applicationset.yaml"],
    }
    return {
        "argocd/appproject.yaml": to_file(app_project(given)),
        "argocd/applicationset.yaml": to_file(application_set(given)),
        "argocd/kustomization.yaml": to_file(listed),
        **settings_files(given.delivery, given.kinds),
        **(plugin_files() if given.delivery.plugin else {}),
    }

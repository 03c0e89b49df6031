"""The ApplicationSet: an Application for each cluster, and in which order they sync."""

from typing import Any

from cpuplan.backends.argocd import ownership
from cpuplan.backends.argocd.inputs import Inputs
from cpuplan.backends.base import CONFIRM
from cpuplan.fleet.hosting import HOST
from cpuplan.language.model.delivery import DeliverySpec

#: On the set: its Applications stay when it is deleted. They have none themselves, so that neither
#: do their objects go.
_FINALIZER = "resources-finalizer.argocd.argoproj.io"
#: The label of an Application with its wave; empty for what comes after all waves.
WAVE_LABEL = "cpuplan.io/wave"
PLUGIN = "cpuplan"


def document(given: Inputs) -> dict[str, Any]:
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
        entries += ownership.ignored(given.kinds, by_label=by_label, pauses=given.pauses)
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

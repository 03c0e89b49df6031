"""How the objects of `verify` are called, what all carry, and what nodes must show."""

import json
from collections.abc import Mapping
from typing import Any

from cpuplan.backends.base import MAY_BE_MISSING, SYNC_OPTIONS, Manifest, metadata
from cpuplan.fleet import class_names
from cpuplan.fleet.class_names import AGENT
from cpuplan.language.model.rollout import Verify
from cpuplan.plan import NodePlan

#: After everything else: nothing waits for an agent that waits for its node.
WAVE = 30
#: What holds agents to something is there before them.
BEFORE = 25
ARRIVAL = "cpuplan-arrival"
NAME, INSTANCE, PART_OF = (
    "app.kubernetes.io/name",
    "app.kubernetes.io/instance",
    "app.kubernetes.io/part-of",
)
#: The API of the Prometheus operator, which a cluster may lack.
_OF_OPERATORS = ("monitoring.coreos.com/v1",)


def manifest(data: dict[str, Any]) -> Manifest:
    """An object and the name of its file, after its kind and name."""
    return Manifest(f"40-{data['kind'].lower()}-{data['metadata']['name']}.yaml", data)


def agent(plan: NodePlan) -> str:
    """The name of a class's objects."""
    return class_names.agent_name(plan.node_class.name)


def selector(plan: NodePlan) -> dict[str, str]:
    """The labels of the agents of a class, which never change."""
    return {NAME: AGENT, INSTANCE: agent(plan)}


def object_head(
    api: str,
    kind: str,
    name: str,
    verify: Verify,
    *,
    namespace: str = "",
    labels: Mapping[str, str] | None = None,
    wave: int = WAVE,
) -> dict[str, Any]:
    """apiVersion, kind and metadata."""
    options = MAY_BE_MISSING if api in _OF_OPERATORS else ""
    given = {PART_OF: "cpuplan", **verify.labels, **(labels or {})}
    made = metadata(name, wave, labels=given, options=options)
    if namespace:
        made["namespace"] = namespace
    return {"apiVersion": api, "kind": kind, "metadata": made}


def hook(data: dict[str, Any]) -> dict[str, Any]:
    """The same object as a hook: made anew after each sync, and no part of the comparison."""
    annotations = data["metadata"]["annotations"]
    del annotations[SYNC_OPTIONS], annotations["argocd.argoproj.io/sync-wave"]
    annotations["argocd.argoproj.io/hook"] = "PostSync"
    annotations["argocd.argoproj.io/hook-delete-policy"] = "BeforeHookCreation"
    # The template of a Job cannot be changed: Flux makes it anew.
    annotations["kustomize.toolkit.fluxcd.io/force"] = "enabled"
    return data


#: Bytes of all values of a ConfigMap (apimachinery, MaxSecretSize; validation of ConfigMaps).
MOST = 1024 * 1024


def config_map(name: str, verify: Verify, texts: Mapping[str, str]) -> dict[str, Any]:
    """Files of `out/` by their names."""
    head = object_head("v1", "ConfigMap", name, verify, namespace=verify.namespace)
    return {**head, "data": dict(texts)}


def state_key(plan: NodePlan) -> str:
    """The name of the file."""
    return f"{plan.node_class.name}.json"


def state_digest(state: str) -> str:
    """What tells the plan of a state from others."""
    return str(json.loads(state)["digest"])

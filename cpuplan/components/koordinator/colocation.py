"""ClusterColocationProfiles: the QoS class, policies, priority and scheduler of pods.

koord-manager's webhook gives them to pods that match when these are created. What only a scheduler
may write, `resource-status`, is in none.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from cpuplan.components.emission import emit, parse_by_key, render_by_key
from cpuplan.components.koordinator import release_names
from cpuplan.facts.settings import objects as rows
from cpuplan.language.model.allocators import KoordinatorWorkload
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting, Value, plain
from cpuplan.upstream.koordinator.extension import constants, qos, releases

NAME = rows.COLOCATION
API_VERSION, KIND = "config.koordinator.sh/v1alpha1", "ClusterColocationProfile"
SCHEDULER = "koord-scheduler"


def settings(plan: NodePlan) -> Iterator[Setting]:
    """The spec of each workload's profile, by the name of the workload."""
    if not plan.node_class.target.has_koordinator:
        return
    for index, workload in enumerate(plan.spec.koordinator.workloads):
        field = f"koordinator.workloads.{index}"
        because = (plan.node_class.reason(f"pods of {workload.name}", field),)
        spec = _spec(plan, workload)
        yield from emit(plan, rows.COLOCATION_PROFILE, spec, because, workload=workload.name)


def _spec(plan: NodePlan, workload: KoordinatorWorkload) -> Value:
    spec: dict[str, Value] = {}
    for key, labels in (
        ("namespaceSelector", workload.namespace_labels),
        ("selector", workload.match_labels),
    ):
        if labels:
            spec[key] = {"matchLabels": dict(labels)}
    spec["qosClass"] = workload.qos_class
    spec["priorityClassName"] = priority_class(workload)
    spec["schedulerName"] = SCHEDULER
    if texts := annotations(plan, workload):
        spec["annotations"] = dict(texts)
    return spec


def priority_class(workload: KoordinatorWorkload) -> str:
    """The class that the intent names, else the usual one of the QoS class."""
    usual = qos.BATCH if workload.qos_class == qos.BE else qos.PROD
    return workload.priority_class_name or usual


def annotations(plan: NodePlan, workload: KoordinatorWorkload) -> dict[str, str]:
    """What pods of a workload ask of koord-scheduler, in the words of the release."""
    target = plan.node_class.target
    known = releases.FIELDS[constants.RESOURCE_SPEC]
    asked = {
        "requiredCPUBindPolicy": workload.required_cpu_bind_policy,
        "preferredCPUBindPolicy": workload.preferred_cpu_bind_policy,
        "preferredCPUExclusivePolicy": workload.preferred_cpu_exclusive_policy,
    }
    spec = {
        field: value
        for field, value in asked.items()
        if value
        and (release_names.reads(target, known[field]) or _is_proposed(target.koordinator, field))
    }
    made = {constants.RESOURCE_SPEC: _json(spec)} if spec else {}
    policy = workload.numa_topology_policy
    if policy and release_names.reads(target, releases.POD_NAMES[constants.NUMA_TOPOLOGY_SPEC]):
        made[constants.NUMA_TOPOLOGY_SPEC] = _json({"numaTopologyPolicy": policy})
    return made


def _is_proposed(release: str, field: str) -> bool:
    return release == release_names.PROPOSAL and field.startswith("preferred")


def _json(data: Mapping[str, str]) -> str:
    return json.dumps(dict(data), separators=(",", ":"))


def pod(workload: Setting) -> dict[str, Any]:
    """The same as what a pod's template must have, for who uses no profiles."""
    spec = plain(workload.value)
    metadata: dict[str, Any] = {"name": workload.key, "labels": {constants.QOS: spec["qosClass"]}}
    if "annotations" in spec:
        metadata["annotations"] = spec["annotations"]
    fields = {key: spec[key] for key in ("priorityClassName", "schedulerName")}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": fields}


def profile(plan: NodePlan, workload: Setting) -> str:
    """The name of a workload's profile, which has no namespace."""
    return f"{plan.node_class.intent}-{workload.key}"


def document(plan: NodePlan, workload: Setting) -> dict[str, Any]:
    """The profile of a workload."""
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": profile(plan, workload)},
        "spec": plain(workload.value),
    }


#: The specs by workload.
render, parse = render_by_key, parse_by_key

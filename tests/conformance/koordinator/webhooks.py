"""What the webhooks of koord-manager admit and change, and the values that pods and nodes bear."""

from collections.abc import Callable
from typing import Any

from cpuplan.upstream.koordinator.extension import node, numa_aware, qos
from cpuplan.upstream.koordinator.extension.constants import (
    AMPLIFICATION_RATIO,
    BE_CPU_SHARED_POOLS,
    CPU_BASIC_INFO,
    CPU_MANAGER_POLICY,
    CPU_SHARED_POOLS,
    CPU_TOPOLOGY,
    NORMALIZATION_RATIO,
    NUMA_TOPOLOGY_SPEC,
    POD_CPU_ALLOCS,
    RAW_ALLOCATABLE,
    RESERVATION,
    RESOURCE_SPEC,
    RESOURCE_STATUS,
    SYSTEM_QOS_RESOURCE,
)
from cpuplan.upstream.koordinator.util import parse_cpus, texts_of
from cpuplan.upstream.koordinator.webhook import (
    cluster_colocation_profile,
    resource_amplification,
    slo_config_plugin,
)
from cpuplan.upstream.kubernetes.bits import to_text
from cpuplan.upstream.kubernetes.errors import AggregateError, KubeletError, PanicError
from cpuplan.upstream.kubernetes.pod import read_resources
from tests.conformance.koordinator.shapes import Json, pod_of
from tests.conformance.operations import Judge


def _parse_annotation(given: Json) -> Json:
    try:
        return _READERS[given["key"]](given["annotations"], given.get("labels") or {})
    except KubeletError as error:
        return {"error": str(error)}


def _with_cpus(fields: Json, cpus: str) -> Json:
    try:
        parse_cpus(cpus)
    except KubeletError as error:
        return {**fields, "cpusetError": str(error)}
    return fields


def _status(annotations: Json, _: Json) -> Json:
    status = numa_aware.read_resource_status(annotations)
    return _with_cpus({"value": status.as_json()}, status.cpuset)


def _reservation(annotations: Json, _: Json) -> Json:
    reservation = node.read_reservation(annotations)
    cpus, count = node.reserved_cpus(annotations)
    value = reservation and reservation.as_json()
    return _with_cpus({"value": value, "reservedCPUs": cpus, "numReservedCPUs": count}, cpus)


def _system_qos(annotations: Json, _: Json) -> Json:
    system = node.read_system_qos(annotations)
    return _with_cpus({"value": system.as_json(), "exclusive": system.is_exclusive}, system.cpuset)


def _ratios(annotations: Json, _: Json) -> Json:
    ratios = node.read_ratios(annotations)
    value = None if ratios is None else node.ratios_json(ratios)
    return {"value": value, "cpu": (ratios or {}).get("cpu", -1)}


def _raw(annotations: Json, _: Json) -> Json:
    resources = node.read_raw_allocatable(annotations)
    return {"value": None if resources is None else texts_of(resources)}


def _cpu_topology(annotations: Json, _: Json) -> Json:
    cpus = [cpu._asdict() for cpu in numa_aware.read_cpu_topology(annotations)]
    return {"value": {"detail": cpus} if cpus else {}}


def _pools(annotations: Json, *, best_effort: bool) -> Json:
    pools = numa_aware.read_shared_pools(annotations, best_effort=best_effort)
    return {"value": None if pools is None else [pool.as_json() for pool in pools]}


def _allocs(annotations: Json, _: Json) -> Json:
    allocs = numa_aware.read_pod_cpu_allocs(annotations)
    value = None if allocs is None else [alloc.as_json() for alloc in allocs]
    return {"value": value, "reservedByKubelet": to_text(numa_aware.kubelet_bound(allocs or ()))}


def _manager(annotations: Json, labels: Json) -> Json:
    manager = numa_aware.read_cpu_manager_policy(annotations)
    policy = numa_aware.node_bind_policy(labels, manager)
    return _with_cpus(
        {"value": manager.as_json(), "nodeCPUBindPolicy": policy}, manager.reserved_cpus
    )


_READERS: dict[str, Callable[[Json, Json], Json]] = {
    RESOURCE_SPEC: lambda given, _: {"value": numa_aware.read_resource_spec(given).as_json()},
    RESOURCE_STATUS: _status,
    NUMA_TOPOLOGY_SPEC: lambda given, _: {
        "value": numa_aware.read_numa_topology_spec(given).as_json()
    },
    RESERVATION: _reservation,
    SYSTEM_QOS_RESOURCE: _system_qos,
    AMPLIFICATION_RATIO: _ratios,
    RAW_ALLOCATABLE: _raw,
    NORMALIZATION_RATIO: lambda given, _: {"value": node.read_normalization_ratio(given)},
    CPU_BASIC_INFO: lambda given, _: {"value": numa_aware.read_cpu_basic_info(given)},
    CPU_TOPOLOGY: _cpu_topology,
    CPU_SHARED_POOLS: lambda given, _: _pools(given, best_effort=False),
    BE_CPU_SHARED_POOLS: lambda given, _: _pools(given, best_effort=True),
    POD_CPU_ALLOCS: _allocs,
    CPU_MANAGER_POLICY: _manager,
}


def _qos(given: Json) -> Any:
    known = pod_of(given)
    return {
        "qosRaw": qos.given_qos(known),
        "qos": qos.qos_of(known),
        "kubeQoS": qos.kube_qos(known),
        "priorityClassRaw": qos.given_priority_class(known),
        "priorityClass": qos.priority_class_of(known),
        "priorityValue": qos.priority_of(known),
        "allowUseCPUSet": qos.may_bind_cpus(known),
    }


def _validate_pod(given: Json) -> Json:
    pod_given = pod_of(given["newPod"])
    old = pod_of(given["oldPod"]) if given["operation"] == "UPDATE" else None
    skips = bool(given.get("colocationProfileSkipValidatingPriority"))
    problems = cluster_colocation_profile.refusals(pod_given, old, may_change_priority=skips)
    verdict: Json = {"allowed": not problems}
    if problems:
        verdict["error"] = str(AggregateError(problems))
    if qos.given_qos(pod_given) in (qos.LSE, qos.LSR):
        verdict["proposalRuleQ1"] = cluster_colocation_profile.keeps_proposal(pod_given)
    return verdict


def _amplify_node(given: Json) -> Json:
    try:
        node = resource_amplification.amplify(_node(given["newNode"]), _node(given.get("oldNode")))
    except KubeletError as error:
        return {"error": str(error)}
    return {
        "allocatable": texts_of(node.allocatable or {}),
        "annotations": dict(node.annotations),
    }


def _node(given: Json | None) -> Any:
    if given is None:
        return None
    allocatable = given.get("allocatable")
    amounts = None if allocatable is None else read_resources(allocatable)
    return resource_amplification.Node(given.get("annotations") or {}, amounts)


def _slo_config(given: Json) -> Json:
    try:
        slo_config_plugin.check(given["data"], given.get("oldData"), given.get("nodes"))
    except KubeletError as error:
        return {"allowed": False, "error": str(error)}
    except PanicError:
        return {"panic": True}
    return {"allowed": True}


KINDS: dict[str, Judge] = {
    "slo_config": _slo_config,
    "parse_annotation": _parse_annotation,
    "qos": _qos,
    "validate_pod": _validate_pod,
    "amplify_node": _amplify_node,
}

"""Ops about pods alone."""

from cpuplan.upstream.kubernetes import qos
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.kube_features import Gates, set_gates
from cpuplan.upstream.kubernetes.pod import Container, Pod, Resources, apply_defaults, read_pod
from tests.conformance.kubelet.shapes import Json, Op


def answer_qos(given: Json) -> Json:
    try:
        gates = set_gates(given.get("featureGates") or {})
    except KubeletError as error:
        return {"featureGatesError": str(error)}
    pod = read_pod(given["pod"])
    found: Json = {}
    if given.get("applyDefaults"):
        pod = apply_defaults(pod, gates)
        found["defaultedResources"] = {
            container.name: _resources(container.requests, container.limits)
            for container in pod.all_containers
        }
        if pod.requests is not None and pod.limits is not None:
            found["defaultedPodResources"] = _resources(pod.requests, pod.limits)
    try:
        qos.validate_pod_scope_resources(pod, gates)
    except KubeletError as error:
        found["podScopeError"] = str(error)
    return found | {
        "qosClass": qos.pod_qos(pod, gates),
        "podLevelResourcesSet": pod.has_own_resources,
        "podGuaranteedCPUs": qos.pod_guaranteed_cpus(pod, gates),
        "containers": [_container(pod, container, gates) for container in pod.all_containers],
    }


def _resources(requests: Resources, limits: Resources) -> Json:
    lists = {"requests": requests, "limits": limits}
    return {
        key: {name: str(amount) for name, amount in listed.items()}
        for key, listed in lists.items()
        if listed
    }


def _container(pod: Pod, container: Container, gates: Gates) -> Json:
    found: Json = {
        "name": container.name,
        "init": container.is_init,
        "guaranteedCPUs": qos.guaranteed_cpus(pod, container, gates),
        "equivalentGuaranteed": bool(qos.is_equivalent_guaranteed(container)),
    }
    return found | ({"restartable": container.is_restartable} if container.is_init else {})


OPS: dict[str, Op] = {"qos": answer_qos}

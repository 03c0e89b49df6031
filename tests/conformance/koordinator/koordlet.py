"""What koordlet computes on a node."""

import json
from collections.abc import Iterable
from typing import Any

from cpuplan.upstream.koordinator import proposal
from cpuplan.upstream.koordinator.extension.numa_aware import CpuInfo, SharedPool
from cpuplan.upstream.koordinator.koordlet import cpuset, states_noderesourcetopology
from cpuplan.upstream.koordinator.koordlet.cpu_suppress import suppress
from cpuplan.upstream.koordinator.koordlet.states_noderesourcetopology import (
    Kubelet,
    Machine,
    Node,
    Zone,
    compute_zones,
    merge_zones,
)
from cpuplan.upstream.koordinator.util import texts_of
from cpuplan.upstream.kubelet.machine import NodeMemory
from cpuplan.upstream.kubernetes.bits import bits_of, parse_cpus, to_text
from cpuplan.upstream.kubernetes.errors import KubeletError, PanicError
from cpuplan.upstream.kubernetes.pod import CPU, MEMORY, Pod, Resources, read_resources
from tests.conformance.koordinator.shapes import Json, pod_of, rows_of
from tests.conformance.operations import Judge


def _machine(given: Json) -> Machine:
    memory = (
        NodeMemory(
            node["node"],
            node["memoryBytes"],
            ((1048576, node.get("hugepages1GiBytes", 0) >> 30), (2048, _pages_2mi(node))),
        )
        for node in given["memory"]
    )
    return Machine(tuple(CpuInfo(*row) for row in rows_of(given["topology"])), tuple(memory))


def _pages_2mi(node: Json) -> int:
    return int(node.get("hugepages2MiBytes", 0)) >> 21


def _node(given: Json) -> Node:
    return Node(
        given.get("labels") or {},
        given.get("annotations"),
        read_resources(given.get("capacity")),
        read_resources(given.get("allocatable")),
    )


def _kubelet(given: Json) -> Kubelet:
    return Kubelet(
        given.get("cpuManagerPolicy", ""),
        given.get("cpuManagerPolicyOptions") or {},
        given.get("reservedSystemCPUs", ""),
        given.get("systemReserved") or {},
        given.get("kubeReserved") or {},
        given.get("topologyManagerPolicy", ""),
        given.get("topologyManagerScope", ""),
    )


def _pools(given: Json) -> Json:
    pods = [pod_of(pod) for pod in given["pods"]]
    machine = _machine(given)
    return {"proposal": _proposal(given, machine, pods), "koordlet": _koordlet(given, pods)}


def _proposal(given: Json, machine: Machine, pods: list[Pod]) -> Json:
    entries = (given.get("cpuManagerState") or {}).get("entries") or {}
    policy = given["kubelet"].get("cpuManagerPolicy", "none")
    pools = proposal.divide(machine, pods, policy, proposal.kubelet_bound(entries))
    bindings = {
        name: {"kind": kind, "cpuset": None if cpus is None else to_text(cpus)}
        for name, (kind, cpus) in pools.bindings.items()
    }
    return {
        "exclusive": {name: to_text(cpus) for name, cpus in pools.exclusive.items()},
        "cpuSharedPools": _listed(pools.shared),
        "beCPUSharedPools": _listed(pools.best_effort),
        "bindings": bindings,
    }


def _listed(pools: Iterable[SharedPool]) -> list[Json]:
    return [pool.as_json() for pool in pools]


def _koordlet(given: Json, pods: list[Pod]) -> Json:
    machine, node = _machine(given), _node(given["node"])
    kubelet = None if given.get("disableQueryKubeletConfig") else _kubelet(given["kubelet"])
    state = json.dumps(given["cpuManagerState"]) if "cpuManagerState" in given else ""
    try:
        topology = states_noderesourcetopology.compute_node_topology(
            machine, node, pods, kubelet, state
        )
    except KubeletError as error:
        return {"error": str(error)}
    result: Json = {
        "topologyPolicy": topology.policy,
        "annotations": topology.annotations(),
        "beCgroupCPUSet": to_text(cpuset.be_cgroup(machine, topology, pods)),
        "podCPUSets": [
            _pod_cpus(pod, topology, is_be=given.get("beCPUManager", False))
            for pod in sorted(pods, key=lambda pod: pod.name)
        ],
        "zones": [_zone(zone, (CPU, MEMORY)) for zone in merge_zones({}, topology.zones)],
    }
    if topology.labels:
        result["labels"] = dict(topology.labels)
        result["zonesBeforeMerge"] = [_zone(zone, (CPU, MEMORY)) for zone in topology.zones]
    return result


def _pod_cpus(pod: Pod, topology: states_noderesourcetopology.NodeTopology, *, is_be: bool) -> Json:
    try:
        cpus = cpuset.pod_cpus(pod, topology, be_manager=is_be)
    except KubeletError as error:
        return {"pod": pod.name, "error": str(error)}
    return {"pod": pod.name, "cpuset": cpus.cpuset, "from": cpus.source}


def _zone(zone: Zone, names: Iterable[str]) -> Json:
    capacity, allocatable = texts_of(zone.capacity), texts_of(zone.allocatable)
    resources = {
        name: {
            "capacity": capacity[name],
            "allocatable": allocatable[name],
            "available": allocatable[name],
        }
        for name in names
    }
    return {"name": zone.name, "resources": resources}


def _be_suppress(given: Json) -> Any:
    cpus = [CpuInfo(*row) for row in rows_of(given["topology"])]
    pods = [pod_of(pod) for pod in given["pods"]]
    old = parse_cpus(given["oldCPUSet"])
    try:
        order = suppress(cpus, pods, given["nrtAnnotations"], given["suppressMilliCPU"], old)
    except PanicError:
        return {"panic": True}
    return {"cpuset": to_text(bits_of(order)), "order": order}


def _nrt_zones(given: Json) -> Json:
    zones = compute_zones(
        _machine(given), _node(given["node"]), huge_pages=given.get("hugePageReport", False)
    )
    old = {zone["name"]: _allocatable(zone) for zone in given["oldNRT"]["zones"]}
    return {
        "computed": [_whole_zone(zone) for zone in zones],
        "written": [_whole_zone(zone) for zone in merge_zones(old, zones)],
    }


def _allocatable(zone: Json) -> Resources:
    return read_resources({row["name"]: row["allocatable"] for row in zone["resources"]})


def _whole_zone(zone: Zone) -> Json:
    return {**_zone(zone, zone.capacity), "type": "Node"}


KINDS: dict[str, Judge] = {
    "pools": _pools,
    "be_suppress": _be_suppress,
    "koordlet_nrt_zones": _nrt_zones,
}

"""Machines and pods of the tests of Koordinator."""

import json
from collections.abc import Mapping
from typing import Any

from cpuplan.upstream.koordinator.extension import constants
from cpuplan.upstream.koordinator.extension.numa_aware import CpuInfo
from cpuplan.upstream.koordinator.koordlet.states_noderesourcetopology import Machine
from cpuplan.upstream.kubelet.machine import NodeMemory
from cpuplan.upstream.kubernetes.pod import Pod, read_pod

GIB = 1 << 30


def machine(sockets: int = 2, cores: int = 4, threads: int = 2) -> Machine:
    """Siblings are neighbours; each socket is a NUMA node with 32 GiB."""
    cpus = tuple(
        CpuInfo(cpu, cpu // threads, cpu // threads // cores, cpu // threads // cores)
        for cpu in range(sockets * cores * threads)
    )
    return Machine(cpus, tuple(NodeMemory(node, 32 * GIB) for node in range(sockets)))


def pod(
    name: str,
    qos: str = "",
    cpus: str = "",
    *,
    requests: str = "",
    limits: str = "",
    numa_nodes: Mapping[int, str] | None = None,
    priority: int = 0,
) -> Pod:
    """A pod of one container; `cpus` and `numa_nodes` are what the scheduler gave it."""
    nodes = [
        {"node": node, "resources": {"cpu": amount}} for node, amount in (numa_nodes or {}).items()
    ]
    status: dict[str, Any] = {"cpuset": cpus, "numaNodeResources": nodes}
    annotations = {constants.RESOURCE_STATUS: json.dumps(status)} if cpus or nodes else {}
    resources = {
        "requests": {"cpu": requests, "memory": "1Gi"} if requests else {},
        "limits": {"cpu": limits, "memory": "1Gi"} if limits else {},
    }
    return read_pod(
        {
            "metadata": {
                "uid": f"uid-{name}",
                "name": name,
                "namespace": "default",
                "labels": {constants.QOS: qos} if qos else {},
                "annotations": annotations,
            },
            "spec": {
                "priority": priority,
                "containers": [{"name": "main", "resources": resources}],
            },
        }
    )

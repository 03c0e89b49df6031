"""What koordlet publishes of a planned node without pods, by the port of koordlet.

`cpu-basic-info` is left out: a plan knows neither the name of the model nor the mask of the cache.
"""

from collections.abc import Sequence
from typing import Any

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.topology import Topology
from cpuplan.components import chosen, kubelet, memory
from cpuplan.components.koordinator import node, release_names
from cpuplan.facts.settings.kubelet import KUBE_RESERVED, SYSTEM_RESERVED
from cpuplan.plan import NodePlan
from cpuplan.plan.expected.state import Expected
from cpuplan.plan.setting import Value
from cpuplan.upstream.koordinator.extension import constants
from cpuplan.upstream.koordinator.extension.numa_aware import CpuInfo
from cpuplan.upstream.koordinator.koordlet import states_noderesourcetopology
from cpuplan.upstream.koordinator.koordlet.states_noderesourcetopology import (
    Kubelet,
    Machine,
    Node,
    NodeTopology,
    merge_zones,
)
from cpuplan.upstream.koordinator.koordlet.states_noderesourcetopology import Zone as ComputedZone
from cpuplan.upstream.koordinator.util import texts_of
from cpuplan.upstream.kubelet.machine import NodeMemory
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.bits import parse_cpus
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.json import dump
from cpuplan.upstream.kubernetes.pod import CPU, MEMORY, Pod
from cpuplan.upstream.kubernetes.quantity import BINARY
from cpuplan.upstream.nrt.api import NODE
from cpuplan.upstream.nrt.resourcemonitor import Zone


def annotations(plan: NodePlan) -> dict[str, str]:
    """The annotations, as JSON, that the release of Koordinator has."""
    made = _reported(plan)
    if isinstance(made, str):
        return {}
    machine = _machine(plan.topology, plan.pool("offlined").cpus)
    rows = [{**cpu._asdict()} for cpu in machine.cpus]
    values: dict[str, Any] = {
        constants.CPU_TOPOLOGY: {"detail": rows},
        **made.annotations(),
    }
    target = plan.node_class.target
    return {
        key: dump(value)
        for key, value in sorted(values.items())
        if not target.has_koordinator or release_names.knows(target, key)
    }


def labels(plan: NodePlan) -> dict[str, str]:
    """The labels of the object."""
    made = _reported(plan)
    if isinstance(made, str):
        return {}
    return {"app.kubernetes.io/managed-by": "Koordinator", **made.labels}


def zones(plan: NodePlan) -> list[Zone]:
    """The zones as koordlet writes them."""
    made = _reported(plan)
    return [] if isinstance(made, str) else written(made.zones)


def trouble(plan: NodePlan) -> str:
    """Why koordlet reports nothing of a node, in its words; empty where it reports."""
    made = _reported(plan)
    return made if isinstance(made, str) else ""


def written(zones: Sequence[ComputedZone]) -> list[Zone]:
    """All that a zone has can be allocated: koordlet loses what it subtracts when it writes."""
    made = []
    for zone in merge_zones({}, zones):
        resources = [
            {"name": name, **dict.fromkeys(("capacity", "allocatable", "available"), text)}
            for name, text in sorted(texts_of(zone.allocatable).items())
        ]
        made.append({"name": zone.name, "type": NODE, "costs": [], "resources": resources})
    return made


def fact(plan: NodePlan) -> Value:
    """What koordlet knows of a node beside the machine: `computed` needs it of a state."""
    known = _kubelet(plan)
    options: dict[str, Value] = {**known.cpu_manager_options}
    system: dict[str, Value] = {**known.system_reserved}
    kube: dict[str, Value] = {**known.kube_reserved}
    return {
        "kubelet": {
            **known._asdict(),
            "cpu_manager_options": options,
            "system_reserved": system,
            "kube_reserved": kube,
        },
        "kept memory": memory.reservation(plan),
    }


def computed(expected: Expected, pods: Sequence[Pod]) -> NodeTopology:
    """What koordlet makes of a node with some pods; KubeletError where it makes nothing."""
    known: Any = expected.facts["koordlet"]
    machine = _machine(expected.topology, expected.pool("offlined").cpus)
    its_kubelet = Kubelet(**known["kubelet"])
    metadata = node.metadata(expected.settings.of(node.NAME))
    reserved = parse_cpus(its_kubelet.reserved_system_cpus).bit_count()
    given = _node(metadata, machine, reserved, known["kept memory"])
    return states_noderesourcetopology.compute_node_topology(machine, given, pods, its_kubelet)


def _reported(plan: NodePlan) -> NodeTopology | str:
    """What koordlet reports of a node, or the error with which it reports nothing at all."""
    machine = _machine(plan.topology, plan.pool("offlined").cpus)
    metadata = node.metadata(tuple(node.settings(plan)))
    reserved = len(kubelet.reserved_cpus(plan))
    given = _node(metadata, machine, reserved, memory.reservation(plan))
    try:
        return states_noderesourcetopology.compute_node_topology(machine, given, (), _kubelet(plan))
    except KubeletError as error:
        return str(error)


def _kubelet(plan: NodePlan) -> Kubelet:
    spec = plan.spec.kubelet
    options = kubelet.cpu_options(plan) if kubelet.is_static(plan) else {}
    return Kubelet(
        "static" if kubelet.is_static(plan) else "none",
        {option: value for option, (value, _) in options.items()},
        str(kubelet.reserved_cpus(plan)),
        chosen.amounts(plan, SYSTEM_RESERVED),
        chosen.amounts(plan, KUBE_RESERVED),
        chosen.topology_policy(plan),
        spec.topology_manager_scope or "container",
    )


def _node(metadata: dict[str, Any], machine: Machine, reserved: int, kept: int) -> Node:
    """The Node with what the plan writes on it, and what its kubelet keeps back."""
    cpus, size = len(machine.cpus), sum(known.memory for known in machine.memory)
    return Node(
        metadata.get("labels", {}),
        metadata.get("annotations", {}),
        {CPU: quantity.of(cpus), MEMORY: quantity.of(size, BINARY)},
        {CPU: quantity.of(cpus - reserved), MEMORY: quantity.of(max(size - kept, 0), BINARY)},
    )


def _machine(topology: Topology, offlined: CpuSet) -> Machine:
    """The machine as `lscpu -e` prints it: cores and sockets are counted from the lowest CPU on."""
    cores: dict[int, int] = {}
    sockets: dict[int, int] = {}
    rows = []
    for cpu in topology.cpus:
        if cpu.cpu in offlined:
            continue
        core = cores.setdefault(cpu.core, len(cores))
        socket = sockets.setdefault(cpu.socket, len(sockets))
        rows.append(CpuInfo(cpu.cpu, core, socket, max(cpu.numa_node, 0)))
    sizes = tuple(
        NodeMemory(number, facts.memory or 0, ()) for number, facts in topology.numa_facts.items()
    )
    return Machine(tuple(rows), sizes)

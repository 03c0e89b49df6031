"""What koordlet publishes of a planned node without pods, by the port of koordlet.

`cpu-basic-info` is left out: a plan knows neither the name of the model nor the mask of the cache.
"""

from collections.abc import Sequence
from typing import Any

from cpuplan.components import chosen, kubelet, memory
from cpuplan.components.koordinator import names, node
from cpuplan.koordinator import keys
from cpuplan.koordinator.annotations.topology import CpuInfo
from cpuplan.koordinator.annotations.values import dump, texts_of
from cpuplan.koordinator.koordlet import nodetopology
from cpuplan.koordinator.koordlet.node import Kubelet, Machine, Node
from cpuplan.koordinator.koordlet.nodetopology import NodeTopology
from cpuplan.koordinator.koordlet.zones import Zone as ComputedZone
from cpuplan.koordinator.koordlet.zones import merge_zones
from cpuplan.kubelet import quantity
from cpuplan.kubelet.machine import NodeMemory
from cpuplan.kubelet.pods.pod import CPU, MEMORY, Pod
from cpuplan.kubelet.quantity import BINARY
from cpuplan.nrt.exporters.podresources import Zone
from cpuplan.nrt.names import NODE
from cpuplan.plan import NodePlan


def annotations(plan: NodePlan) -> dict[str, str]:
    """The annotations, as JSON, that the release of Koordinator has."""
    machine = _machine(plan)
    rows = [{**cpu._asdict()} for cpu in machine.cpus]
    values: dict[str, Any] = {
        keys.CPU_TOPOLOGY: {"detail": rows},
        **_computed(plan, machine).annotations(),
    }
    target = plan.node_class.target
    return {
        key: dump(value)
        for key, value in sorted(values.items())
        if not target.has_koordinator or names.knows(target, key)
    }


def labels(plan: NodePlan) -> dict[str, str]:
    """The labels of the object."""
    found = _computed(plan, _machine(plan)).labels
    return {"app.kubernetes.io/managed-by": "Koordinator", **found}


def zones(plan: NodePlan) -> list[Zone]:
    """The zones as koordlet writes them."""
    return written(_computed(plan, _machine(plan)).zones)


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


def computed(plan: NodePlan, pods: Sequence[Pod] = ()) -> NodeTopology:
    """What koordlet makes of the node with some pods."""
    return _computed(plan, _machine(plan), pods)


def _computed(plan: NodePlan, machine: Machine, pods: Sequence[Pod] = ()) -> NodeTopology:
    spec = plan.spec.kubelet
    options = kubelet.cpu_options(plan) if kubelet.is_static(plan) else {}
    known = Kubelet(
        "static" if kubelet.is_static(plan) else "none",
        {option: value for option, (value, _) in options.items()},
        str(kubelet.reserved_cpus(plan)),
        chosen.system_reserved(plan),
        chosen.kube_reserved(plan),
        chosen.topology_policy(plan),
        spec.topology_manager_scope or "container",
    )
    return nodetopology.compute(machine, _node(plan, machine), pods, known)


def _node(plan: NodePlan, machine: Machine) -> Node:
    """The Node with what the plan writes on it, and what its kubelet keeps back."""
    metadata = node.metadata(tuple(node.settings(plan)))
    cpus, size = len(machine.cpus), sum(known.memory for known in machine.memory)
    free = size - memory.reservation(plan)
    return Node(
        metadata.get("labels", {}),
        metadata.get("annotations", {}),
        {CPU: quantity.of(cpus), MEMORY: quantity.of(size, BINARY)},
        {
            CPU: quantity.of(cpus - len(kubelet.reserved_cpus(plan))),
            MEMORY: quantity.of(max(free, 0), BINARY),
        },
    )


def _machine(plan: NodePlan) -> Machine:
    """The machine as `lscpu -e` prints it: cores and sockets are counted from the lowest CPU on."""
    cores: dict[int, int] = {}
    sockets: dict[int, int] = {}
    rows = []
    for cpu in plan.topology.cpus:
        if cpu.cpu in plan.pool("offlined").cpus:
            continue
        core = cores.setdefault(cpu.core, len(cores))
        socket = sockets.setdefault(cpu.socket, len(sockets))
        rows.append(CpuInfo(cpu.cpu, core, socket, max(cpu.numa_node, 0)))
    sizes = tuple(
        NodeMemory(number, facts.memory or 0, ())
        for number, facts in plan.topology.numa_facts.items()
    )
    return Machine(tuple(rows), sizes)

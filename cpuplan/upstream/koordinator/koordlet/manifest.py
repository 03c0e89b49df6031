"""The NodeResourceTopology that koordlet writes for its node."""

from typing import Any

from cpuplan.upstream.koordinator import keys
from cpuplan.upstream.koordinator.annotations.values import dump, texts_of
from cpuplan.upstream.koordinator.koordlet.node import Machine
from cpuplan.upstream.koordinator.koordlet.nodetopology import NodeTopology
from cpuplan.upstream.koordinator.koordlet.zones import Zone

#: Koordinator reads and writes this version only.
API_VERSION, KIND = "topology.node.k8s.io/v1alpha1", "NodeResourceTopology"
_MANAGED_BY = {"app.kubernetes.io/managed-by": "Koordinator"}


def manifest(name: str, machine: Machine, topology: NodeTopology) -> dict[str, Any]:
    """The object; `cpu-basic-info`, which says nothing about CPU sets, is left out."""
    texts = {key: dump(value) for key, value in topology.annotations().items()}
    texts[keys.CPU_TOPOLOGY] = dump({"detail": [cpu._asdict() for cpu in machine.cpus]})
    metadata = {"name": name, "labels": {**_MANAGED_BY, **topology.labels}, "annotations": texts}
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": metadata,
        "topologyPolicies": [topology.policy],
        "zones": [_zone(zone) for zone in topology.zones],
    }


def _zone(zone: Zone) -> dict[str, Any]:
    """As koordlet writes it over an older object: all amounts are what is allocatable."""
    resources = [
        {"name": name, "capacity": text, "allocatable": text, "available": text}
        for name, text in texts_of(zone.allocatable).items()
    ]
    return {"name": zone.name, "type": "Node", "resources": resources}

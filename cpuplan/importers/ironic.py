"""Introspection data of Ironic: its `numa-topology` collector, with the inventory if it is there.

(ironic-python-agent, numa_inspector.py.)
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from cpuplan.base.cpuset import EMPTY, CpuSet, union
from cpuplan.base.topology import MAX_NUMA_NODE
from cpuplan.importers import data
from cpuplan.importers.base import (
    ARCHITECTURES,
    MAX_MEMORY,
    Format,
    Imported,
    Machine,
    Node,
    NumaFacts,
    bare_machine,
    node_name,
)
from cpuplan.importers.data import Complaints, cpus_of, items, mapping, number
from cpuplan.importers.packed_files import ArchiveError

_MAX_CORE = 65535
#: Cores by NUMA node and core id, by which the collector distinguishes them.
_Cores = dict[tuple[int, int], CpuSet]


def read(path: Path) -> Imported:
    """The machine in the file; it is named after the file, since the host name is the agent's."""
    try:
        documents = data.read(path)
    except ArchiveError as error:
        return Imported((), (), (error.diagnostic,))
    whole = mapping(documents[0] if documents else None)
    plugin = mapping(whole.get("plugin_data"))
    topology = mapping(whole.get("numa_topology") or plugin.get("numa_topology"))
    inventory = mapping(whole.get("inventory") or plugin.get("inventory"))
    complaints = Complaints(str(path))
    cores = _cores(topology, complaints)
    if not cores:
        return Imported((), (), tuple(complaints))
    machine = bare_machine(cores.values())._replace(
        core_ids={cpu: core_id for (_, core_id), cpus in cores.items() for cpu in cpus},
        numa_nodes=tuple(_numa_nodes(items(topology.get("ram")), cores)),
    )
    node = Node(node_name(path), _with_inventory(machine, inventory), {}, partial=True)
    return Imported((node,), tuple(_remarks(path, node.name, topology)), tuple(complaints))


def _remarks(path: Path, name: str, topology: dict[str, Any]) -> list[str]:
    remarks = [
        f"{path}: the node is named {name}, after the file",
        f"{path}: numa-topology does not contain offline CPUs, dies, clusters and kinds of cores",
        (
            f"{path}: cores of one core id in a NUMA node are one to numa-topology, "
            "also those of unlike dies"
        ),
    ]
    nics = sorted(str(nic.get("name")) for nic in items(topology.get("nics")))
    if nics:
        remarks.append(
            f"{path}: the PCI addresses of {', '.join(nics)} are missing: they are left out"
        )
    return remarks


def _cores(topology: dict[str, Any], complaints: Complaints) -> _Cores:
    """The cores; a row that cannot be used is left out. `cpu` is the kernel's core id."""
    cores: _Cores = {}
    seen = EMPTY
    for row in items(topology.get("cpus")):
        node = number(row.get("numa_node"), 0, MAX_NUMA_NODE)
        core_id = number(row.get("cpu"), 0, _MAX_CORE)
        cpus = cpus_of(row.get("thread_siblings"))
        if node is None or core_id is None or cpus is None or cpus & seen:
            problem = (
                "a core needs the numbers cpu and numa_node, and a list of CPUs that no "
                "other core has"
            )
            complaints.add("numa_topology.cpus", row.get("cpu"), problem)
            continue
        seen |= cpus
        cores[node, core_id] = cores.get((node, core_id), EMPTY) | cpus
    return cores


def _numa_nodes(ram: Iterable[dict[str, Any]], cores: _Cores) -> Iterator[NumaFacts]:
    """The NUMA nodes of cores and of memory; if all have 0 kB, their memory is not known."""
    sizes: dict[int, int | None] = {}
    for row in ram:
        node = number(row.get("numa_node"), 0, MAX_NUMA_NODE)
        if node is not None:
            sizes[node] = number(row.get("size_kb"), 0, MAX_MEMORY)
    known = any(sizes.values())
    for node in sorted({node for node, _ in cores} | sizes.keys()):
        size = sizes.get(node) if known else None
        cpus = union(members for (where, _), members in cores.items() if where == node)
        yield NumaFacts(node, cpus, None if size is None else size * 1024, (), {})


def _with_inventory(machine: Machine, inventory: dict[str, Any]) -> Machine:
    """What the agent's inventory says of the CPU, and nothing else of it (addresses, serials)."""
    cpu = mapping(inventory.get("cpu"))
    architecture, model = cpu.get("architecture"), cpu.get("model_name")
    if not isinstance(architecture, str) or architecture not in ARCHITECTURES:
        architecture = ""
    return machine._replace(
        architecture=architecture,
        model=" ".join(model.split()) or None if isinstance(model, str) else None,
    )


FORMAT = Format(
    name="ironic",
    summary="introspection data",
    text=re.compile(r'\s*\{.*?"numa_topology"\s*:', re.DOTALL),
    read=read,
)

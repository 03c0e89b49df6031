"""Introspection data of Ironic with its `numa-topology` collector (ironic-python-agent,
numa_inspector.py).
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cpuplan.cpuset import EMPTY, MAX_CPU, CpuSet, union
from cpuplan.importers import data
from cpuplan.importers.base import Imported, Machine, Node, NumaFacts, bare_machine, node_name
from cpuplan.importers.data import Complaints, items, mapping, number
from cpuplan.importers.objects.node_object import MAX_MEMORY
from cpuplan.importers.objects.nrt import MAX_NODE
from cpuplan.importers.trees.archive import ArchiveError

_MAX_CORE = 65535
_ARCHITECTURES = frozenset({"x86_64", "aarch64", "ppc64le", "s390x", "riscv64", "loongarch64"})


def read(path: Path) -> Imported:
    """The machine in the file; it is named after the file, since the host name is the agent's."""
    try:
        documents = data.read(path)
    except ArchiveError as error:
        return Imported((), (), (error.diagnostic,))
    found = mapping(documents[0] if documents else None)
    complaints = Complaints(str(path))
    plugin = mapping(found.get("plugin_data"))
    topology = mapping(found.get("numa_topology") or plugin.get("numa_topology"))
    machine = _machine(topology, complaints)
    if machine is None:
        return Imported((), (), tuple(complaints))
    name = node_name(path)
    machine = _with_inventory(machine, mapping(found.get("inventory") or plugin.get("inventory")))
    remarks = [
        f"{path}: the node is called {name}, after the file",
        f"{path}: numa-topology does not tell offline CPUs, dies, clusters and kinds of cores",
        f"{path}: cores of one core id in a NUMA node are one to numa-topology, also those of unlike dies",
    ]
    names = sorted(str(nic.get("name")) for nic in items(topology.get("nics")))
    if names:
        remarks.append(
            f"{path}: the PCI addresses of {', '.join(names)} are not told: they are left out"
        )
    return Imported((Node(name, machine, {}, partial=True),), tuple(remarks), tuple(complaints))


def _machine(topology: dict[str, Any], complaints: Complaints) -> Machine | None:
    """The machine by its cores: `cpu` is the kernel's core id, and a core is a pair of it and the
    NUMA node.
    """
    cores: dict[tuple[int, int], CpuSet] = {}
    seen = EMPTY
    for row in items(topology.get("cpus")):
        node, core = number(row.get("numa_node"), 0, MAX_NODE), number(row.get("cpu"), 0, _MAX_CORE)
        threads = row.get("thread_siblings")
        cpus = [number(cpu, 0, MAX_CPU) for cpu in threads] if isinstance(threads, list) else [None]
        known = CpuSet(cpu for cpu in cpus if cpu is not None)
        if node is None or core is None or not known or len(known) != len(cpus) or known & seen:
            problem = (
                "a core has the numbers cpu and numa_node, and a list of CPUs which no other has"
            )
            complaints.add("numa_topology.cpus", row.get("cpu"), problem)
            continue
        seen |= known
        cores[node, core] = cores.get((node, core), EMPTY) | known
    if not cores:
        return None
    return bare_machine(cores.values())._replace(
        core_ids={cpu: core for (_, core), cpus in cores.items() for cpu in cpus},
        numa_nodes=_numa_nodes(items(topology.get("ram")), cores),
    )


def _numa_nodes(
    ram: Iterable[dict[str, Any]], cores: dict[tuple[int, int], CpuSet]
) -> tuple[NumaFacts, ...]:
    """The NUMA nodes of cores and of memory; where all of the memory is 0 kB, it is not told."""
    sizes = {
        number(row.get("numa_node"), 0, MAX_NODE): number(row.get("size_kb"), 0, MAX_MEMORY)
        for row in ram
    }
    told = any(sizes.values())
    nodes = {node for node, _ in cores} | {node for node in sizes if node is not None}
    found = []
    for node in sorted(nodes):
        size = sizes.get(node) if told else None
        cpus = union(members for (where, _), members in cores.items() if where == node)
        found.append(NumaFacts(node, cpus, None if size is None else size * 1024, (), {}))
    return tuple(found)


def _with_inventory(machine: Machine, inventory: dict[str, Any]) -> Machine:
    """What the agent's inventory says of the CPU; of all else in it (addresses, serial numbers)
    nothing is taken.
    """
    cpu = mapping(inventory.get("cpu"))
    architecture, model = cpu.get("architecture"), cpu.get("model_name")
    return machine._replace(
        architecture=architecture
        if isinstance(architecture, str) and architecture in _ARCHITECTURES
        else "",
        model=" ".join(model.split()) or None if isinstance(model, str) else None,
    )

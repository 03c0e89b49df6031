"""`propose --list`: pools, nodes and their CPUs, from which to choose numbers."""

from collections.abc import Iterator
from typing import Any, TypeAlias

from cpuplan.base.emit import to_json as data_to_json
from cpuplan.base.text import counted
from cpuplan.importers.machine import Machine, NumaFacts
from cpuplan.profiles.propose.dump import Dump
from cpuplan.profiles.propose.members import members, pool_names

#: Nodes by pool, and machines by node; None where a snapshot cannot be read.
Listing: TypeAlias = dict[str, dict[str, Machine | None]]


def pools(dump: Dump) -> Listing:
    """Every pool with all of its nodes, ascending by name."""
    return {name: _machines(dump, name) for name in pool_names(dump)}


def _machines(dump: Dump, pool: str) -> dict[str, Machine | None]:
    return {node.name: dump.machine(node.name) for node in members(dump, pool).nodes}


def to_json(listing: Listing) -> str:
    """NUMA nodes by the kernel's ids; CPU lists, and cores as the CPUs of each."""
    return data_to_json({pool: _nodes(nodes) for pool, nodes in listing.items()})


def _nodes(nodes: dict[str, Machine | None]) -> dict[str, Any]:
    return {name: machine and _machine(machine) for name, machine in nodes.items()}


def _machine(machine: Machine) -> dict[str, Any]:
    return {
        "online": str(machine.online),
        "offline": str(machine.offline),
        "numaNodes": {str(node.id): _numa_node(machine, node) for node in machine.numa_nodes},
    }


def _numa_node(machine: Machine, node: NumaFacts) -> dict[str, Any]:
    return {
        "cpus": str(node.cpus & machine.online),
        "cores": [str(core) for core in machine.siblings if core <= node.cpus],
    }


def to_text(listing: Listing) -> str:
    """A line for each pool, node and NUMA node."""
    return "".join(f"{line}\n" for line in _lines(listing))


def _lines(listing: Listing) -> Iterator[str]:
    for pool, nodes in listing.items():
        yield f"pool {pool}: {counted(len(nodes), 'node')}"
        for name, machine in nodes.items():
            if machine is None:
                yield f"  {name}: not readable"
                continue
            smt = "SMT" if len(machine.siblings) < len(machine.online) else "no SMT"
            offline = f", offline: {machine.offline}" if machine.offline else ""
            yield (
                f"  {name}: {len(machine.online)} CPUs, {len(machine.siblings)} cores, "
                f"{smt}{offline}"
            )
            for node in machine.numa_nodes:
                cores = " ".join(f"({core})" for core in machine.siblings if core <= node.cpus)
                yield f"    NUMA node {node.id}: {node.cpus & machine.online or 'no CPUs'}"
                if cores and smt == "SMT":
                    yield f"      cores {cores}"

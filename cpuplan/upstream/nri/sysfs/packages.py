"""Packages, their dies and their clusters (discoverPackages)."""

from collections.abc import Mapping

from cpuplan.upstream.kubelet.bits import members
from cpuplan.upstream.nri.sysfs.system import Cpu, Package


def discover(cpus: Mapping[int, Cpu]) -> dict[int, Package]:
    """The packages of online CPUs, by id."""
    by_package: dict[int, list[Cpu]] = {}
    for cpu in cpus.values():
        if cpu.online:
            by_package.setdefault(cpu.package, []).append(cpu)
    return {package: _package(package, by_package[package]) for package in sorted(by_package)}


def _package(package: int, cpus: list[Cpu]) -> Package:
    die_cpus: dict[int, int] = {}
    die_nodes: dict[int, set[int]] = {}
    clusters: dict[tuple[int, int], int] = {}
    for cpu in cpus:
        bit = 1 << cpu.cpu
        die_cpus[cpu.die] = die_cpus.get(cpu.die, 0) | bit
        die_nodes.setdefault(cpu.die, set()).add(cpu.node)
        cluster = (cpu.die, cpu.cluster)
        clusters[cluster] = clusters.get(cluster, 0) | bit
    everything = 0
    for on_die in die_cpus.values():
        everything |= on_die
    logical = _logical(clusters, {cpu.cpu: cpu for cpu in cpus})
    nodes = {die: tuple(sorted(on_die)) for die, on_die in sorted(die_nodes.items())}
    return Package(package, everything, dict(sorted(die_cpus.items())), nodes, logical)


def _logical(
    clusters: Mapping[tuple[int, int], int], cpus: Mapping[int, Cpu]
) -> tuple[tuple[int, int, int], ...]:
    """Clusters; those of a die that are just a core's threads are joined to one.

    The joint cluster has the id of its lowest CPU.
    """
    logical: dict[tuple[int, int], int] = {}
    cores: dict[int, int] = {}
    for (die, cluster), inside in sorted(clusters.items()):
        first = cpus[members(inside)[0]]
        if inside == first.threads:
            cores[die] = cores.get(die, 0) | inside
        else:
            logical[die, cluster] = inside
    for die, inside in cores.items():
        logical[die, cpus[members(inside)[0]].cluster] = inside
    return tuple((die, cluster, inside) for (die, cluster), inside in sorted(logical.items()))

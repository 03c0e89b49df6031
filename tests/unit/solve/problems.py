"""Machines and intents in a few words, and layouts found without a solver."""

from collections.abc import Mapping
from typing import Any

from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.base.topology import Cpu, Topology
from cpuplan.diagnostics.source import Position
from cpuplan.language.model.inventory import Device
from cpuplan.plan import NodeClass
from tests.machines.plans import class_of


def machine(
    cores: int,
    threads: int = 1,
    *,
    sockets: int = 1,
    numa_nodes: int = 1,
    caches: int = 1,
    interleaved: bool = False,
    offline: CpuSet = EMPTY,
) -> Topology:
    """`cores` in all, second threads after all first ones.

    Neighbours are together or, interleaved, spread.
    """

    def part(core: int, parts: int) -> int:
        return core % parts if interleaved else core * parts // cores

    cpus = []
    for core in range(cores):
        first = next(other for other in range(cores) if part(other, caches) == part(core, caches))
        numbers = range(core, cores * threads, cores)
        cpus += [
            Cpu(cpu, core, part(core, sockets), 0, part(core, numa_nodes), first, core)
            for cpu in numbers
        ]
    return Topology((cpu for cpu in cpus if cpu.cpu not in offline), offline=offline)


def node_class(
    topology: Topology,
    pools: Mapping[str, Any],
    policy: str = "static",
    *,
    devices: tuple[Device, ...] = (),
    **further: Any,
) -> NodeClass:
    """A class with these pools and `further` keys of the intent's spec, as written in YAML."""
    spec = {
        "targets": [{"platform": "kubernetes", "version": "1.33"}],
        "pools": pools,
        "kubelet": {"cpuManagerPolicy": policy},
        **further,  # may say more of the kubelet
    }
    nodes = ("worker-0", "worker-1")
    return class_of(
        topology, "ran", spec, cluster="site", hardware="icx", nodes=nodes, devices=devices
    )


def locate(origin: str) -> Position | None:
    """Every statement has its own column; built-in rules have no place."""
    path, colon, field = origin.partition(":")
    return Position(path, 1, len(field)) if colon else None

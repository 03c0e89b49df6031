"""Machines and intents in a few words, and layouts found without a solver."""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from cpuplan.cpuset import EMPTY, CpuSet
from cpuplan.intent import IntentSpec
from cpuplan.plan import NodeClass
from cpuplan.solve.rules import Layout, pools_of
from cpuplan.source import Position
from cpuplan.topology import Cpu, Topology


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
    """`cores` in all, second threads after all first ones; neighbours together or, interleaved, spread."""

    def part(core: int, parts: int) -> int:
        return core % parts if interleaved else core * parts // cores

    cpus = []
    for core in range(cores):
        first = next(other for other in range(cores) if part(other, caches) == part(core, caches))
        numbers = range(core, cores * threads, cores)
        cpus += [Cpu(cpu, core, part(core, sockets), 0, part(core, numa_nodes), first, core) for cpu in numbers]
    return Topology((cpu for cpu in cpus if cpu.cpu not in offline), offline=offline)


def node_class(topology: Topology, pools: Mapping[str, Any], policy: str = "static") -> NodeClass:
    """A class with these pools, as they are written in YAML."""
    spec = IntentSpec.model_validate(
        {
            "selector": {},
            "targets": [{"platform": "kubernetes", "version": "1.33"}],
            "pools": pools,
            "kubelet": {"cpuManagerPolicy": policy},
        }
    )
    return NodeClass(
        name="ran-icx",
        intent="ran",
        spec=spec,
        target=spec.targets[0],
        cluster="site",
        hardware="icx",
        topology=topology,
        nodes=("worker-0", "worker-1"),
    )


def locate(origin: str) -> Position | None:
    """Every statement has its own column; built-in rules have no place."""
    path, colon, field = origin.partition(":")
    return Position(path, 1, len(field)) if colon else None


def every_layout(node: NodeClass) -> Iterator[dict[str, CpuSet]]:
    """All ways to give each CPU a pool that split no core of a pool of whole cores and keep to the lists."""
    topology, pools = node.topology, pools_of(node)
    split = {name for name, pool in pools.items() if not _is_whole(node, name)}

    def may_have(name: str, cpu: int) -> bool:
        listed = pools[name].cpus
        return cpu in listed if listed is not None else True

    choices = []
    for siblings in topology.cores.values():
        threads = [[name for name in pools if may_have(name, cpu)] for cpu in siblings]
        ways = [way for way in product(*threads) if len(set(way)) == 1 or set(way) <= split]
        choices.append([tuple(zip(siblings, way, strict=True)) for way in ways])
    for chosen in product(*choices):
        bits = dict.fromkeys(pools, 0)
        for core in chosen:
            for cpu, name in core:
                bits[name] |= 1 << cpu
        yield {name: CpuSet.from_bits(bits[name]) for name in pools}


def _is_whole(node: NodeClass, name: str) -> bool:
    """What `wholeCores` means: false where it says so, and for a silent rest beside a pool that says so."""
    pools = pools_of(node)
    silent_rest = pools[name].rest and "whole_cores" not in pools[name].model_fields_set
    if silent_rest and any(not pool.whole_cores for pool in pools.values()):
        return False
    return pools[name].whole_cores


def has_its_sizes(node: NodeClass, layout: Layout) -> bool:
    """Do the pools have the CPUs that are asked for? Written from the intent's documentation, not from the rules."""
    topology = node.topology
    if node.spec.kubelet.cpu_manager_policy == "static" and not layout["reserved"]:
        return False
    for name, pool in pools_of(node).items():
        if pool.cpus is not None and layout[name] != pool.cpus:
            return False
        scopes = {"socket": topology.sockets, "numaNode": topology.numa_nodes}.get(pool.per, {0: topology.online})
        for scope in scopes.values():
            held = layout[name] & scope
            whole = [siblings for siblings in topology.cores.values() if siblings <= held]
            if pool.count is not None and len(held) != pool.count:
                return False
            if pool.cores is not None and (len(whole) != pool.cores or sum(map(len, whole)) != len(held)):
                return False
            if pool.percent is not None and len(held) != _rounded_up(topology, scope, pool.percent):
                return False
    return True


def _rounded_up(topology: Topology, scope: CpuSet, percent: int) -> int:
    widths = [len(siblings) for siblings in topology.cores.values() if siblings <= scope]
    sums = {
        sum(width for width, used in zip(widths, way, strict=True) if used)
        for way in product((0, 1), repeat=len(widths))
    }
    return min(number for number in sums if number * 100 >= percent * len(scope))

"""All layouts of small machines, found without solver and rules.

It says in other words what docs/layout.md says. Sets of CPUs are bits of integers here, for speed.
"""

import functools
import operator
from collections.abc import Iterator
from itertools import compress, product
from typing import Any, NamedTuple

from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.plan import NodeClass

POOLS = ("reserved", "shared", "isolated", "isolcpus", "offlined")
Bits = dict[str, int]


class Asked(NamedTuple):
    """An intent, digested: what is said of each set, and who has siblings where."""

    said: dict[str, Any]
    hosts: dict[str, str]  # by set: the pool of the siblings
    idle_only: bool  # offlined is there for siblings only
    switched_off: set[str]
    switched_on: set[str]


def asked(node: NodeClass) -> Asked:
    spec = node.spec
    said: dict[str, Any] = {name: getattr(spec.pools, name) for name in POOLS}
    said = {name: pool for name, pool in said.items() if pool is not None}
    for host in ("reserved", "isolated"):
        partitions = getattr(said.get(host), "partitions", None) or {}
        said |= {f"{host}.{name}": pool for name, pool in sorted(partitions.items())}
    for name, pool in (("bestEffort", spec.qos.best_effort), ("other", spec.qos.other)):
        if pool is not None:
            said[name] = pool
    for name, pool in said.items():
        owner: Any = said.get(name.partition(".")[0])
        # What a pool says of siblings holds for its partitions, unless these want whole cores.
        is_silent = not (
            pool.sibling or (pool.whole_cores and "whole_cores" in pool.model_fields_set)
        )
        if "." in name and owner and owner.sibling and is_silent:
            said[name] = pool.model_copy(update={"sibling": owner.sibling})
    hosts = {
        name: "offlined" if pool.sibling == "idle" else pool.sibling
        for name, pool in said.items()
        if pool.sibling
    }
    idle_only = "offlined" in hosts.values() and "offlined" not in said
    if idle_only:
        said["offlined"] = None
    if "isolated" not in said and not any(
        pool and pool.rest for name, pool in said.items() if name in POOLS
    ):
        said["isolated"] = None
    off: set[str] = {switch.disable for switch in spec.rules if switch.disable}
    on: set[str] = {switch.enable for switch in spec.rules if switch.enable}
    return Asked(said, hosts, idle_only, off, on)


def slots(names: Any) -> list[frozenset[str]]:
    """The sets that one CPU may be in together."""
    result = []
    for pool in POOLS:
        if pool not in names:
            continue
        inner = [
            [],
            *([name] for name in names if name.startswith(f"{pool}.")),
        ]
        outer: list[list[str]] = [[]]
        qos = [name for name in ("bestEffort", "other") if name in names]
        if pool not in ("isolcpus", "offlined"):
            if len(qos) == 1:
                outer = [[], qos]
            elif qos:
                outer = [[qos[0]], [qos[1]], qos]
        result += [frozenset([pool, *some, *over]) for some in inner for over in outer]
    return result


def every_layout(node: NodeClass, limit: int) -> Iterator[Bits] | None:
    """All layouts that what is said of single cores allows; None if these are more than `limit`."""
    said = asked(node)
    layout_slots = slots(said.said)
    choices, many = [], 1
    for siblings in node.topology.cores.values():
        if len(layout_slots) ** len(siblings) > 5000:
            return None
        ways = [
            tuple(zip(siblings, way, strict=True))
            for way in product(layout_slots, repeat=len(siblings))
            if core_fits(node, said, dict(zip(siblings, way, strict=True)))
        ]
        choices.append(ways)
        many *= len(ways)
    if many > limit:
        return None
    return _layouts(said, choices)


def _layouts(said: Asked, choices: list[Any]) -> Iterator[Bits]:
    for chosen in product(*choices):
        layout = dict.fromkeys(said.said, 0)
        for core in chosen:
            for cpu, slot in core:
                for name in slot:
                    layout[name] |= 1 << cpu
        yield layout


def _threads_of_sets(said: Asked, threads: dict[int, frozenset[str]]) -> dict[str, list[int]]:
    has: dict[str, list[int]] = {name: [] for name in said.said}
    for cpu, slot in threads.items():
        for name in slot:
            has[name].append(cpu)
    return has


def core_fits(node: NodeClass, said: Asked, threads: dict[int, frozenset[str]]) -> bool:
    """What is said of the threads of one core, and of single CPUs."""
    has = _threads_of_sets(said, threads)
    several = node.topology.threads_per_core > 1
    for name, pool in said.said.items():
        if pool is None:
            continue
        if any(not _may_have(node, pool, cpu) for cpu in has[name]):
            return False
        if pool.cpus is not None and any(
            cpu in pool.cpus for cpu in threads if cpu not in has[name]
        ):
            return False
        for other, level in pool.apart.items():
            if level == "core" and has[name] and has[other]:
                return False
        for other, level in pool.together.items():
            if level == "core" and has[name] and not has[other]:
                return False
    for host, target in said.hosts.items():
        if (
            several
            and has[host]
            # A partition is in its own pool, too: its thread counts once.
            and (len(has[host]) > 1 or len({*has[host], *has[target]}) < len(threads))
        ):
            return False
    if (
        said.idle_only
        and has["offlined"]
        and not any(has[host] for host, to in said.hosts.items() if to == "offlined")
    ):
        return False
    return all(
        _is_whole(said, threads, name, has[name]) for name in said.said if has[name] and several
    )


def _may_have(node: NodeClass, pool: Any, cpu: int) -> bool:
    of = node.topology[cpu]
    places = (
        (pool.cpus, cpu),
        (pool.numa_nodes, of.numa_node),
        (pool.sockets, of.socket),
        (pool.dies, of.die),
        (pool.caches, of.uncore_cache),
    )
    if any(numbers is not None and number not in numbers for numbers, number in places):
        return False
    if pool.near is not None and of.numa_node not in _nodes_of(node, pool.near):
        return False
    if pool.per_device is not None and of.numa_node not in _nodes_of(node, pool.per_device):
        return False
    if pool.whole_caches is not None and of.uncore_cache < 0:
        return False
    if pool.core_types is not None and of.core_type not in pool.core_types:
        return False
    return pool.never is None or cpu not in pool.never


def _nodes_of(node: NodeClass, near: Any) -> list[Any]:
    """The NUMA node of each device that is meant."""
    return [
        device.numa_node
        for device in node.devices
        if near.device in (None, device.name, device.address)
        and near.device_class in (None, device.device_class)
        and near.driver in (None, device.driver)
    ]


def _is_whole(said: Asked, threads: dict[int, frozenset[str]], name: str, mine: list[int]) -> bool:
    """Whole cores: the other threads are in the set too, but for what `sibling` puts there."""
    pool = said.said[name]
    if name in said.hosts:
        return True
    if pool is not None and pool.cores is None:
        written = "whole_cores" in pool.model_fields_set
        may_split = _may_split(said)
        if not pool.whole_cores or (
            not written and ("whole-cores" in said.switched_off or (pool.rest and may_split))
        ):
            return True
        # A pool of an isolated that has partitions only takes the rest when nobody else does.
        if not written and name == "isolated" and _takes_the_rest(said) and may_split:
            return True
    elif pool is None and (
        "whole-cores" in said.switched_off or (name == "isolated" and _may_split(said))
    ):
        return True
    others = [threads[cpu] for cpu in threads if cpu not in mine]
    friends = {host for host, target in said.hosts.items() if target == name}
    friends |= {target for host, target in said.hosts.items() if host.startswith(f"{name}.")}
    if name in ("bestEffort", "other"):
        friends = {"isolcpus", "offlined"}
    return all(slot & friends for slot in others)


def _may_split(said: Asked) -> bool:
    return any(
        pool and not pool.whole_cores
        for name, pool in said.said.items()
        if name not in ("bestEffort", "other")
    )


def _takes_the_rest(said: Asked) -> bool:
    pool = said.said.get("isolated")
    return not (pool is not None and _sized(pool)) and not any(
        other and other.rest for name, other in said.said.items() if name in POOLS
    )


def fits(node: NodeClass, layout: Bits) -> bool:
    """What is said of numbers, and of more than one core."""
    said = asked(node)
    if not (_expert_rules_hold(node, said, layout) and _workloads_fit(node, layout)):
        return False
    for name, pool in said.said.items():
        if pool is None:
            continue
        host = name.partition(".")[0]
        parts = [other for other in said.said if other.startswith(f"{host}.")]
        takes_rest = name == "isolated" and _takes_the_rest(said)
        only_parts = name == host and parts and not takes_rest and not _sized(pool)
        in_parts = functools.reduce(operator.or_, (layout[part] for part in parts), 0)
        if (only_parts or (name in parts and pool.rest)) and layout[host] & ~in_parts:
            return False
        if not _numbers_fit(node, said, name, layout):
            return False
        for other, level in pool.apart.items():
            if level != "core" and any(
                layout[name] & s and layout[other] & s for s in _scopes(node, level).values()
            ):
                return False
        for other, level in pool.together.items():
            scopes = _scopes(node, level).values()
            if level != "core" and any(layout[name] & s and not layout[other] & s for s in scopes):
                return False
    return True


def _numbers_fit(node: NodeClass, said: Asked, name: str, layout: Bits) -> bool:
    pool, online = said.said[name], node.topology.online.bits
    for scope, times in _meant(node, pool):
        held, whole = layout[name] & scope, scope & online
        if not _has_its_size(node, said, name, held, whole, times, _of(pool, layout, whole)):
            return False
        if pool.within and not _is_within_one(node, pool.within, held):
            return False
    return pool.whole_caches is None or _has_whole_caches(node, pool, layout[name])


def _of(pool: Any, layout: Bits, scope: int) -> int:
    """What 100 percent is, in a scope."""
    return (layout[pool.of] if pool.of else scope) & scope


def _is_within_one(node: NodeClass, level: str, held: int) -> bool:
    touched = set()
    for cpu in CpuSet.from_bits(held):
        of = node.topology[cpu]
        touched.add(
            {
                "cache": of.uncore_cache,
                "die": (of.socket, of.die),
                "numaNode": of.numa_node,
                "socket": of.socket,
            }[level]
        )
    return len(touched) <= 1


def _has_whole_caches(node: NodeClass, pool: Any, held: int) -> bool:
    """Nobody else is on these caches, but for siblings and QoS sets."""
    for cpus in node.topology.uncore_caches.values():
        mine = held & cpus.bits
        if not mine:
            continue
        if pool.sibling:
            cores = {node.topology[cpu].core for cpu in cpus}
            if {node.topology[cpu].core for cpu in CpuSet.from_bits(mine)} != cores:
                return False
        elif mine != cpus.bits:
            return False
    return True


def _sized(pool: Any) -> bool:
    return any(
        value is not None
        for value in (
            pool.cpus,
            pool.count,
            pool.cores,
            pool.whole_caches,
            pool.percent,
            pool.steps,
            pool.min,
            pool.max,
            pool.rest,
        )
    )


def _scopes(node: NodeClass, level: str) -> dict[int, int]:
    topology = node.topology
    parts = {
        "socket": topology.sockets,
        "numaNode": topology.numa_nodes,
        "cache": topology.uncore_caches,
    }.get(level, {0: topology.online})
    return {number: cpus.bits for number, cpus in parts.items()}


def _meant(node: NodeClass, pool: Any) -> list[tuple[int, int]]:
    """The parts that a size is for, and how many times it is.

    Those where some CPU is in all places that the pool names, all if none is; or the nodes of
    devices.
    """
    if pool.per_device is not None:
        nodes = _nodes_of(node, pool.per_device)
        return [
            (node.topology.numa_nodes[node_id].bits, nodes.count(node_id))
            for node_id in sorted(set(nodes))
        ]
    parts = list(_scopes(node, pool.per).values())
    named = pool.model_copy(update={"cpus": None, "core_types": None, "never": None})
    there = sum(1 << cpu for cpu in node.topology.online if _may_have(node, named, cpu))
    return [(part, 1) for part in parts if part & there] or [(part, 1) for part in parts]


def _has_its_size(
    node: NodeClass, said: Asked, name: str, held: int, scope: int, times: int, other: int
) -> bool:
    pool = said.said[name]
    many = held.bit_count()
    if pool.count is not None:
        return bool(many == pool.count * times)
    if pool.cores is not None:
        touched = sum(bool(siblings.bits & held) for siblings in node.topology.cores.values())
        return bool(touched == pool.cores * times)
    if pool.whole_caches is not None:
        caches = [cpus.bits for cpus in node.topology.uncore_caches.values()]
        inside = [cache for cache in caches if cache & ~scope == 0 and cache & held]
        return bool(len(inside) == pool.whole_caches * times)
    if pool.percent is not None or pool.steps is not None:
        return bool(many == _share(node, said, name, scope, other.bit_count()))
    least, most = (None if bound is None else bound * times for bound in (pool.min, pool.max))
    return bool((least is None or many >= least) and (most is None or many <= most))


def _share(node: NodeClass, said: Asked, name: str, scope: int, whole: int) -> int:
    """Whole cores nearest above the share; those nearest below where these are above max."""
    pool = said.said[name]
    if pool.steps is not None:
        # In hundredths of a percent, CPU by CPU.
        rates = []
        for step in pool.steps:
            rates += [round(float(step.percent) * 100)] * (
                whole if step.cpus is None else step.cpus
            )
        share = -(-sum(rates[:whole]) // 10_000)
    else:
        share = -(-pool.percent * whole // 100)
    wanted = max(share, pool.min or 0)
    if pool.sibling:
        return int(wanted if pool.max is None else min(wanted, pool.max))
    widths = [len(siblings) for siblings in node.topology.cores.values() if siblings.bits & scope]
    sums = {sum(compress(widths, way)) for way in product((0, 1), repeat=len(widths))}
    if pool.max is None or wanted <= pool.max:
        reached = min((number for number in sums if number >= wanted), default=int(wanted))
        if pool.max is None or reached <= pool.max:
            return reached
    if pool.max in sums:
        return int(pool.max)
    written = "whole_cores" in pool.model_fields_set
    splits = (
        not pool.whole_cores
        or (not written and "whole-cores" in said.switched_off)
        or name in said.hosts.values()
    )
    inside = [number for number in sums if max(pool.min or 0, 1) <= number <= pool.max]
    return int(pool.max) if splits or not inside else max(inside)


def _expert_rules_hold(node: NodeClass, said: Asked, layout: Bits) -> bool:
    topology, reserved = node.topology, said.said["reserved"]
    static = node.spec.kubelet.cpu_manager_policy == "static"
    if static and "reserved-not-empty" not in said.switched_off and not layout["reserved"]:
        return False
    if "isolated-not-empty" not in said.switched_off and layout.get("isolated") == 0:
        return False
    if "reserved-on-every-numa-node" in said.switched_on and any(
        layout.get("isolated", 0) & cpus.bits and not layout["reserved"] & cpus.bits
        for cpus in topology.numa_nodes.values()
    ):
        return False
    lists = [
        pool.cpus
        for name, pool in said.said.items()
        if name not in ("bestEffort", "other") and pool and pool.cpus is not None
    ]
    settled = reserved.cpus is not None or any(0 in cpus for cpus in lists)
    nothing = 0 in (reserved.count, reserved.cores, reserved.whole_caches, reserved.max)
    if (
        0 in topology.online
        and "cpu0-reserved" not in said.switched_off
        and not settled
        and not nothing
    ):
        return bool(layout["reserved"] & 1)
    return True


def _workloads_fit(node: NodeClass, layout: Bits) -> bool:
    said, every = asked(node).said, list(node.topology.numa_nodes.values())
    wanted: dict[tuple[str, int], int] = {}
    for workload in node.spec.workloads:
        cpus = (workload.cpus or 0) or _cpus_of(workload.manifest)
        pool = said[workload.pool]
        where = [node.topology.online.bits]
        if workload.per == "numaNode":
            where = [nodes.bits for nodes in every if pool is None or _reaches(node, pool, nodes)]
            where = where or [nodes.bits for nodes in every]
        for name in {workload.pool, "isolated"}:
            for part in where:
                wanted[name, part] = wanted.get((name, part), 0) + cpus * workload.pods
            if workload.per == "numaNode":
                whole = (name, node.topology.online.bits)
                if len(every) > 1:
                    wanted[whole] = wanted.get(whole, 0) + cpus * workload.pods * len(where)
    return all(
        (layout.get(name, 0) & part).bit_count() >= many for (name, part), many in wanted.items()
    )


def _reaches(node: NodeClass, pool: Any, cpus: CpuSet) -> bool:
    """Whether the places of a pool leave it some of these CPUs."""
    named = pool.model_copy(update={"cpus": None, "core_types": None, "never": None})
    return any(_may_have(node, named, cpu) for cpu in cpus)


def _cpus_of(manifest: Any) -> int:
    """Of a Guaranteed pod without init containers."""
    containers = manifest["spec"]["containers"]
    return sum(int(container["resources"]["limits"]["cpu"]) for container in containers)


def to_sets(layout: Bits) -> dict[str, CpuSet]:
    return {name: CpuSet.from_bits(bits) for name, bits in layout.items()}


# How good a layout is: the default order of goals, smaller is better.


def merit(
    node: NodeClass, layout: Bits, committed: dict[str, CpuSet] | None = None
) -> tuple[int, ...]:
    said, topology = asked(node), node.topology
    goals: dict[str, list[int]] = {
        "fewest-moved": [_moved(node, layout, committed)] if committed else [],
        "fewest-split-cores": [_split(node, layout)],
        "locality": [],
        "balance": [],
        "most-isolated": [-layout.get("isolated", 0).bit_count()],
    }
    if len(topology.numa_nodes) > 1:
        isolated = layout.get("isolated", 0)
        goals["balance"].append(
            -min((isolated & cpus.bits).bit_count() for cpus in topology.numa_nodes.values())
        )
    packed = []
    for name in [
        *(name for name in POOLS if name != "isolated"),
        *(n for n in said.said if "." in n),
    ]:
        pool = said.said.get(name)
        is_spread = pool and (pool.per != "machine" or pool.per_device)
        if name in said.said and not (pool and (pool.cpus is not None or is_spread)):
            packed.append(name)
    for parts in (part for part in (topology.numa_nodes, topology.uncore_caches) if len(part) > 1):
        for name in packed:
            used = [cpus for cpus in parts.values() if layout[name] & cpus.bits]
            goals["locality"].append(len(used))
    numbers = [number for goal in node.spec.objective for number in goals[goal]]
    for name, pool in said.said.items():
        ranged = (
            pool
            and (pool.min is not None or pool.max is not None)
            and not pool.rest
            and pool.percent is None
            and pool.steps is None
        )
        if name != "isolated" and (ranged or (name == "offlined" and pool is None)):
            numbers.append(layout[name].bit_count())
    return tuple(numbers)


def _moved(node: NodeClass, layout: Bits, committed: dict[str, CpuSet]) -> int:
    moved = 0
    for name in {*layout, *committed}:
        moved |= layout.get(name, 0) ^ committed.get(name, EMPTY).bits
    return (moved & node.topology.online.bits).bit_count()


def _split(node: NodeClass, layout: Bits) -> int:
    def sets(cpu: int) -> frozenset[str]:
        return frozenset(name for name, bits in layout.items() if bits >> cpu & 1)

    used = [set(map(sets, siblings)) for siblings in node.topology.cores.values()]
    return sum(len(slots) > 1 for slots in used)

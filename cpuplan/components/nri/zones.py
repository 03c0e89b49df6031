"""The zones that the plugins of NRI resource policies publish for a node without pods.

Pools of the topology-aware policy, and those balloons that exist before any container. Readers of
NUMA nodes see none of them: none is of type Node.
"""

from collections.abc import Iterator
from typing import NamedTuple

from cpuplan.components.nri import balloons, topologyaware
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Value
from cpuplan.upstream.kubernetes.bits import to_text
from cpuplan.upstream.kubernetes.errors import PanicError
from cpuplan.upstream.nri.api import NriError
from cpuplan.upstream.nri.balloons.instances import Balloon
from cpuplan.upstream.nri.balloons.instances import State as Balloons
from cpuplan.upstream.nri.topologyaware.node import Pool
from cpuplan.upstream.nri.topologyaware.resources import State as Pools

_ALL_TYPES = 0b111
#: Attributes that pods change.
SHARED, ISOLATED, EXCESS = "shared cpuset", "isolated cpuset", "excess cpus"
_RESERVED, _MEMORY, _CPUS, _COMPONENTS = (
    "reserved cpuset",
    "memory set",
    "cpuset",
    "component cpusets",
)


class Zone(NamedTuple):
    """A zone: type and parent, attributes, and amounts by resource."""

    name: str
    place: dict[str, Value]
    attributes: dict[str, Value]
    resources: dict[str, dict[str, Value]]


def zones(plan: NodePlan) -> list[Zone]:
    """Nothing where the policy does not start, which CP591 says."""
    target = plan.node_class.target
    try:
        if target.has_topology_aware:
            return list(_pools(topologyaware.started(plan).state))
        return list(_balloons(balloons.started(plan).state)) if target.has_balloons else []
    except (NriError, PanicError):
        return []


def _pools(state: Pools) -> Iterator[Zone]:
    for pool in state.pools:
        place: dict[str, Value] = {"type": pool.kind}
        if pool.parent is not None:
            place["parent"] = pool.parent.name
        nodes = pool.nodes(_ALL_TYPES)
        whole = (pool.sharable | pool.reserved).bit_count()
        memory, free = state.memory.nodes.capacity(nodes), state.memory.free(nodes)
        resources = {
            "cpu": _amounts(str(whole), _milli(state.allocatable_shared(pool))),
            "memory": _amounts(str(memory), str(free)),
        }
        yield Zone(pool.name, place, dict(_attributes(pool)), resources)


def _attributes(pool: Pool) -> Iterator[tuple[str, Value]]:
    yield _MEMORY, to_text(pool.nodes(_ALL_TYPES))
    yield SHARED, to_text(pool.free_sharable)
    if pool.reserved:
        yield _RESERVED, to_text(pool.reserved)
    if pool.free_isolated:
        yield ISOLATED, to_text(pool.isolated)


def _balloons(state: Balloons) -> Iterator[Zone]:
    """The CPUs of a balloon that may grow are no attribute here: pods change them."""
    free = state.free.bit_count()
    total = str(state.tree.cpus.bit_count())
    for balloon in state.balloons:
        known = balloon.type
        most = free + known.min_cpus
        allocatable = most if not known.max_cpus else min(known.max_cpus, most)
        attributes: dict[str, Value] = {}
        if known.max_cpus and known.min_cpus == known.max_cpus:
            attributes[_CPUS] = to_text(balloon.cpus)
        if balloon.components:
            attributes[_COMPONENTS] = _components(balloon)
        size = balloon.cpus.bit_count()
        room = known.max_cpus if 0 < known.max_cpus <= free else size + free
        cpu: dict[str, Value] = {
            "capacity": total,
            "allocatable": str(allocatable),
            "available": str(room),
        }
        yield Zone(balloon.name, {"type": "balloon"}, attributes, {"cpu": cpu})


def _components(balloon: Balloon) -> str:
    parts = [
        _components(part) if part.components else f"{{{to_text(part.cpus)}}}"
        for part in balloon.components
    ]
    return f"{{{', '.join(parts)}}}"


def _amounts(total: str, available: str) -> dict[str, Value]:
    return {"capacity": total, "allocatable": total, "available": available}


def _milli(amount: int) -> str:
    return str(amount // 1000) if amount % 1000 == 0 else f"{amount}m"

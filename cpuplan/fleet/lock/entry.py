"""One locked layout."""

from collections.abc import Mapping
from hashlib import sha256
from typing import NamedTuple, TypeAlias

from cpuplan.base.cpuset import CpuSet, union
from cpuplan.diagnostics.source import Position
from cpuplan.fleet.before import Key
from cpuplan.language.model.pools import POOLS
from cpuplan.plan import Limited, NodeClass

#: Incremented when built-in rules change, so that an older lock does not count as edited by hand.
FORM = 2


class Locked(NamedTuple):
    """The layout of one class, what it was solved from and by, and its place in the file."""

    solved_from: str
    pools: dict[str, CpuSet]
    position: Position
    places: dict[str, Position]  # of each pool's list
    pool: str = ""  # the MachineConfigPool or NodePool that had it
    solver: str = ""  # the version of OR-Tools
    gone: bool = False  # the class was removed on request
    limited: Limited | None = None  # what was not proven of it
    others: "tuple[Locked, ...]" = ()  # of the same class, from the other side of a merge

    @property
    def overlaps(self) -> bool:
        """Whether some CPU is in two pools, which no layout allows."""
        pools = [cpus for name, cpus in self.pools.items() if name in POOLS]
        return len(union(pools)) < sum(map(len, pools))

    @property
    def cpus(self) -> CpuSet:
        """All CPUs of the machine that it was solved for."""
        return union(cpus for name, cpus in self.pools.items() if name in POOLS)

    @property
    def content(self) -> tuple[object, ...]:
        """What the file contains of it; two sides of a merge may be equal."""
        pools = tuple(self.pools.items())
        return self.solved_from, pools, self.pool, self.solver, self.gone, self.limited


Lock: TypeAlias = Mapping[Key, Locked]


def digest(node_class: NodeClass) -> str:
    """A digest of what a layout depends on: the intent and the machine. 16 hexadecimal digits."""
    spec = node_class.spec
    models = (spec.pools, spec.qos, *spec.workloads, *spec.rules)
    pools = " ".join(model.model_dump_json(exclude_none=True) for model in models)
    policy = node_class.cpu_manager_policy
    near = [
        device.model_dump_json(exclude_none=True)
        for device in node_class.devices
        if '"near"' in pools or '"per_device"' in pools
    ]
    text = f"{FORM} {pools} {spec.objective} {policy} {near} {node_class.topology.fingerprint}"
    return sha256(text.encode()).hexdigest()[:16]

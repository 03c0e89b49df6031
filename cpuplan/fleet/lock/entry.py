"""One locked layout."""

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from cpuplan.cpuset import CpuSet, union
from cpuplan.fleet.before import Key
from cpuplan.model.pools import POOLS
from cpuplan.plan import NodeClass
from cpuplan.source import Position

#: Raised with the built-in rules, so that a lock from before is not taken for one that was edited
#: by hand.
FORM = 2


class Locked(NamedTuple):
    """The layout of one class, what it was solved from and by, and where it stands in the file."""

    solved_from: str
    pools: dict[str, CpuSet]
    position: Position
    places: dict[str, Position]  # of each pool's list
    pool: str = ""  # the MachineConfigPool or NodePool that had it
    solver: str = ""  # the version of OR-Tools
    gone: bool = False  # the class was taken away, and somebody said that this was meant
    others: "tuple[Locked, ...]" = ()  # of the same class, from the other side of a merge

    @property
    def overlaps(self) -> bool:
        """Is some CPU in two pools, as no layout has it?"""
        pools = [cpus for name, cpus in self.pools.items() if name in POOLS]
        return len(union(pools)) < sum(map(len, pools))

    @property
    def cpus(self) -> CpuSet:
        """All CPUs of the machine that it was solved for."""
        return union(cpus for name, cpus in self.pools.items() if name in POOLS)

    @property
    def said(self) -> tuple[object, ...]:
        """What the file says of it; two sides of a merge may say the same."""
        return self.solved_from, tuple(self.pools.items()), self.pool, self.solver, self.gone


Lock: TypeAlias = Mapping[Key, Locked]


def digest(node_class: NodeClass) -> str:
    """What a layout depends on, in 16 hexadecimal digits: what is asked for and the machine."""
    import hashlib

    spec = node_class.spec
    said = (spec.pools, spec.qos, *spec.workloads, *spec.rules)
    pools = " ".join(each.model_dump_json(exclude_none=True) for each in said)
    policy = spec.kubelet.cpu_manager_policy
    near = [
        device.model_dump_json(exclude_none=True)
        for device in node_class.devices
        if '"near"' in pools
    ]
    text = f"{FORM} {pools} {spec.objective} {policy} {near} {node_class.topology.fingerprint()}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]

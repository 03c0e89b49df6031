"""A balloon, and the state of the policy."""

from dataclasses import dataclass, field

from cpuplan.upstream.nri.balloons.config import BalloonType, Config, LoadClass
from cpuplan.upstream.nri.balloons.cputree import TreeNode
from cpuplan.upstream.nri.balloons.memory import Memory
from cpuplan.upstream.nri.balloons.resizing import TreeAllocator
from cpuplan.upstream.nri.common.pods import Container
from cpuplan.upstream.nri.cpuallocator.request import Topology


@dataclass(slots=True, eq=False)
class Balloon:
    """CPUs, and the containers that run on them.

    A composite has components instead of an allocator; their CPUs are its own. `loads` are the
    devices that stand for its loads.
    """

    type: BalloonType
    instance: int
    allocator: TreeAllocator | None
    memory_types: int
    components: list["Balloon"] = field(default_factory=list)
    cpus: int = 0
    mems: int = 0
    shared_idle: int = 0
    containers: list[Container] = field(default_factory=list)
    groups: dict[str, int] = field(default_factory=dict)
    loads: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        return f"{self.type.name}[{self.instance}]"

    @property
    def requested(self) -> int:
        """The sum of its containers' requests, in thousandths of a CPU."""
        return sum(container.request for container in self.containers)

    def room(self) -> int:
        """What is left of it at its present size."""
        return self.cpus.bit_count() * 1000 - self.requested

    def most_room(self, free: int) -> int:
        """What would be left at its largest size, with these CPUs free."""
        return self.largest(free) - self.requested

    def largest(self, free: int) -> int:
        """The size it can grow to; the maximum does not count where fewer CPUs are free."""
        available = free.bit_count()
        if self.components:
            smallest = min(component.largest(free) for component in self.components)
            available = min(smallest * len(self.components) // 1000, available)
        most = self.type.max_cpus
        if not most or most > available:
            return (self.cpus.bit_count() + available) * 1000
        return most * 1000


@dataclass(slots=True)
class State:
    """The policy between two events; `paths` are the CPUs near paths of /sys."""

    topology: Topology
    paths: dict[str, int]
    tree: TreeNode
    spread_tree: TreeNode
    config: Config
    memory: Memory
    allowed: int = 0
    reserved: int = 0
    free: int = 0
    balloons: list[Balloon] = field(default_factory=list)
    loads: dict[str, LoadClass] = field(default_factory=dict)

    @property
    def types(self) -> dict[str, BalloonType]:
        """The types by name; those of components are all there."""
        return {known.name: known for known in self.config.types}

    def of_type(self, wanted: BalloonType) -> list[Balloon]:
        return [balloon for balloon in self.balloons if balloon.type is wanted]

"""Which CPUs pods have, how often, and how exclusively (NodeAllocation.allocatedCPUs)."""

from typing import NamedTuple

from cpuplan.upstream.koordinator.annotations.pod import NUMA_NODE_LEVEL, PCPU_LEVEL


class Allocated(NamedTuple):
    """CPUs as bits: `levels[n]` are taken more than n times, the others by their last pod's policy.

    With a maxRefCount of 1, which nothing but an extension of the scheduler changes, there is one
    level.
    """

    levels: tuple[int, ...] = ()
    pcpu_level: int = 0
    numa_node_level: int = 0

    @property
    def cpus(self) -> int:
        return self.levels[0] if self.levels else 0

    def taken(self, times: int) -> int:
        """The CPUs that are taken at least `times` times."""
        return self.levels[times - 1] if 0 < times <= len(self.levels) else 0

    def plus(self, cpus: int, policy: str) -> "Allocated":
        """With a pod on `cpus`: its exclusive policy counts for them from now on."""
        levels, again = [], cpus
        for level in self.levels:
            levels.append(level | again)
            again &= level
        if again:
            levels.append(again)
        return Allocated(
            tuple(levels),
            _with(self.pcpu_level, cpus, is_in=policy == PCPU_LEVEL),
            _with(self.numa_node_level, cpus, is_in=policy == NUMA_NODE_LEVEL),
        )

    def minus(self, cpus: int) -> "Allocated":
        """Without a pod that was on `cpus`; the policy of shared ones stays as it is."""
        levels, left = [], cpus
        for level in reversed(self.levels):
            levels.append(level & ~left)
            left &= ~level
        kept = tuple(level for level in reversed(levels) if level)
        still = kept[0] if kept else 0
        return Allocated(kept, self.pcpu_level & still, self.numa_node_level & still)

    def by_times(self, cpus: int) -> list[int]:
        """`cpus` split by how often they are taken, the least often first."""
        bounds = (cpus, *(level & cpus for level in self.levels))
        above = (*bounds[1:], 0)
        return [low & ~high for low, high in zip(bounds, above, strict=True) if low & ~high]

    def times(self, cpus: int) -> int:
        """How often `cpus` are taken, all together."""
        return sum((level & cpus).bit_count() for level in self.levels)


def _with(cpus: int, changed: int, *, is_in: bool) -> int:
    return cpus | changed if is_in else cpus & ~changed

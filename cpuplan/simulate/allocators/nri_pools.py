"""The NRI topology-aware policy: pools after the machine."""

from cpuplan.simulate.allocators import base
from cpuplan.simulate.allocators.base import Left, Remainder, UnfitError
from cpuplan.simulate.allocators.nri import NriAllocator
from cpuplan.upstream.nri.pods import Container
from cpuplan.upstream.nri.topologyaware import topology_aware_policy
from cpuplan.upstream.nri.topologyaware.topology_aware_policy import Policy


class PoolsAllocator(NriAllocator):
    """Guaranteed containers that ask for whole CPUs have them alone; others share a pool's."""

    mechanism = "topology-aware"
    port = topology_aware_policy

    def _start(self) -> Policy:
        if self.facts.pools is None:
            raise UnfitError("the plan's mechanism is not topology-aware")
        self.policy = Policy(*self.facts.pools)
        return self.policy

    def is_exclusive(self, container: Container) -> bool:
        """A mixed container shares some of its CPUs."""
        grant = self.policy.state.grants.get(container.full_name)
        return grant is not None and bool(grant.exclusive) and not grant.portion

    @property
    def reserved_namespaces(self) -> tuple[str, ...]:
        return tuple(self.policy.state.config.reserved_namespaces)

    def remainder(self, *, ended: bool = False) -> Remainder:
        """What containers share, and how much of it one could have alone."""
        state = self.policy.state
        root = state.root
        if ended:
            return Remainder(root.free_sharable)
        free = root.free_sharable | root.free_isolated
        most = max(state.allocatable_shared(root) // 1000, 1 if root.free_isolated else 0)
        return Remainder(
            root.free_sharable, Left(free, base.largest_admitted(self, most, free), {})
        )

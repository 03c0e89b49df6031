"""The NRI balloons policy."""

from cpuplan.simulate.allocators import base
from cpuplan.simulate.allocators.base import Left, Remainder, UnfitError
from cpuplan.simulate.allocators.nri import NriAllocator
from cpuplan.upstream.nri.api import DEFAULT
from cpuplan.upstream.nri.balloons import balloons_policy
from cpuplan.upstream.nri.balloons.balloons_policy import Policy
from cpuplan.upstream.nri.balloons.instances import Balloon
from cpuplan.upstream.nri.pods import Container


class BalloonsAllocator(NriAllocator):
    """Containers come to balloons, which grow and shrink."""

    mechanism = "balloons"
    port = balloons_policy

    def _start(self) -> Policy:
        if self.facts.balloons is None:
            raise UnfitError("the plan's mechanism is not balloons")
        self.policy = Policy(*self.facts.balloons)
        return self.policy

    def is_exclusive(self, container: Container) -> bool:
        """Whether its balloon was made for it, and nobody else is in it."""
        balloon = self._balloon_of(container)
        return balloon is not None and not (
            balloon.type.min_balloons or balloon.shared_idle or len(balloon.containers) > 1
        )

    def _balloon_of(self, container: Container) -> Balloon | None:
        balloons = self.policy.state.balloons
        return next((balloon for balloon in balloons if container in balloon.containers), None)

    @property
    def reserved_namespaces(self) -> tuple[str, ...]:
        return tuple(self.policy.state.config.reserved_namespaces or ())

    def remainder(self, *, ended: bool = False) -> Remainder:
        """The CPUs of all other pods, and what is left for containers with CPUs of their own."""
        state = self.policy.state
        others = (balloon for balloon in state.balloons if balloon.type.name == DEFAULT)
        shared = next((balloon.cpus | balloon.shared_idle for balloon in others), 0)
        if ended:
            return Remainder(shared)
        size = base.largest_admitted(self, state.free.bit_count(), state.free)
        return Remainder(shared, Left(state.free, size, {}))

"""Which CPUs a pod gets that may have CPUs of its own (cpu_accumulator.go, takeCPUs).

Otherwise than in release 1.8.0, a pod never gets more CPUs than it asked for: there, an odd number
of CPUs over three or more sockets is rounded up to whole cores when the last socket is left.
"""

from typing import NamedTuple

from cpuplan.upstream.koordinator.annotations.pod import FULL_PCPUS, NUMA_NODE_LEVEL, PCPU_LEVEL
from cpuplan.upstream.koordinator.scheduler.cpus.ordering import (
    Choice,
    Order,
    Ordering,
    first_of,
    size_of,
)
from cpuplan.upstream.koordinator.scheduler.names import NOT_ENOUGH_CPUS
from cpuplan.upstream.kubelet.errors import KubeletError


class Wish(NamedTuple):
    """How a pod wants its CPUs."""

    bind_policy: str = ""
    exclusive_policy: str = ""


class CPUAccumulator:
    """What is still free, what was taken, and how many CPUs are missing."""

    def __init__(self, ordering: Ordering, available: int, count: int, wish: Wish) -> None:
        self.ordering, self.topology, self.wish = ordering, ordering.topology, wish
        self.free = available & self.topology.all
        self.needed = count
        self.result = 0

    def take(self, cpus: int) -> None:
        self.result |= cpus
        self.free &= ~cpus
        self.needed -= cpus.bit_count()

    def take_first(self, order: Order) -> bool:
        """Takes all missing CPUs from `order` if it has as many."""
        if size_of(order) < self.needed:
            return False
        self.take(first_of(order, self.needed))
        return True

    @property
    def is_satisfied(self) -> bool:
        return self.needed < 1

    def allowed(self, *, by_core: bool, by_node: bool) -> int:
        """The free CPUs without those that the pod's exclusive policy avoids.

        It avoids the cores or NUMA nodes of pods with the same policy, and of itself.
        """
        allocated, policy = self.ordering.allocated, self.wish.exclusive_policy
        if by_core and policy == PCPU_LEVEL:
            return self.free & ~self.topology.cores_of(allocated.pcpu_level | self.result)
        if by_node and policy == NUMA_NODE_LEVEL:
            return self.free & ~self.topology.nodes_of(allocated.numa_node_level | self.result)
        return self.free

    def take_full_cores(self) -> None:
        """Of one NUMA node, else of one socket, else of several sockets."""
        if self.needed <= self.topology.cpus_per_node:
            for free in (self.allowed(by_core=False, by_node=True), self.free):
                if any(map(self.take_first, self.ordering.full_cores_in_nodes(free))):
                    return
        if self.needed <= self.topology.cpus_per_socket:
            sockets = self.ordering.full_cores_in_sockets(self.free)
            if any(map(self.take_first, sockets)):
                return
        self.take_full_cores_of_sockets()

    def take_full_cores_of_sockets(self) -> None:
        """Whole sockets, the largest first, then whole cores, of the smallest sockets first.

        What is less than a core is left to the last step.
        """
        put_aside = []
        for cores in sorted(
            self.ordering.full_cores_in_sockets(self.free), key=size_of, reverse=True
        ):
            if size_of(cores) > self.needed:
                put_aside.append(cores)
                continue
            self.take(sum(cores))
            if self.is_satisfied:
                return
        whole = self.needed - self.needed % (self.topology.cpus_per_core or 1)
        for cores in sorted(put_aside, key=size_of):
            taken = first_of(cores, whole)
            self.take(taken)
            whole -= taken.bit_count()

    def take_cpus_of_one_group(self) -> None:
        """Of one NUMA node, else of one socket: a CPU per core without what is avoided, or any."""
        ordering = self.ordering
        if self.needed <= self.topology.cpus_per_node:
            allowed = self.allowed(by_core=True, by_node=True)
            for _, order in ordering.cpus_in_nodes(allowed, one_per_core=True):
                if self.take_first(order):
                    return
            for choice in ordering.cpus_in_nodes(self.free, one_per_core=False):
                if self.take_spread(choice):
                    return
        if self.needed <= self.topology.cpus_per_socket:
            # NUMANodeLevel does not count here.
            allowed = self.allowed(by_core=True, by_node=False)
            for _, order in ordering.cpus_in_sockets(allowed, one_per_core=True):
                if self.take_first(order):
                    return
            for choice in ordering.cpus_in_sockets(self.free, one_per_core=False):
                if self.take_spread(choice):
                    return

    def take_spread(self, choice: Choice) -> bool:
        """Takes all missing CPUs of a group if it has as many, from as many cores as possible."""
        return size_of(choice[1]) >= self.needed and self.take_first(self.ordering.spread(choice))

    def take_single_cpus(self) -> None:
        """Near those that the pod has already."""
        for free in (self.allowed(by_core=True, by_node=True), None):
            order = self.ordering.single_cpus(self.free if free is None else free, self.result)
            self.take(first_of(order, self.needed))
            if self.is_satisfied:
                return


def take_cpus(ordering: Ordering, available: int, count: int, wish: Wish) -> int:
    """Takes `count` CPUs out of `available`; KubeletError when there are not so many."""
    taken = CPUAccumulator(ordering, available, count, wish)
    if taken.is_satisfied:
        return 0
    if taken.needed > taken.free.bit_count():
        raise KubeletError(NOT_ENOUGH_CPUS)
    wants_cores = wish.bind_policy == FULL_PCPUS
    if wants_cores or ordering.topology.cpus_per_core == 1:
        taken.take_full_cores()
    if not wants_cores and not taken.is_satisfied:
        taken.take_cpus_of_one_group()
    if not taken.is_satisfied:
        taken.take_single_cpus()
    return taken.result


def take_preferred_cpus(
    ordering: Ordering, available: int, preferred: int, count: int, wish: Wish
) -> int:
    """First from `preferred`, as far as they go, then from the others (takePreferredCPUs)."""
    preferred &= available
    result = 0
    if preferred:
        most = min(count, preferred.bit_count())
        result = take_cpus(ordering, preferred, most, wish)
        available &= ~preferred
    missing = count - result.bit_count()
    if missing > 0:
        result |= take_cpus(ordering, available, missing, wish)
    return result

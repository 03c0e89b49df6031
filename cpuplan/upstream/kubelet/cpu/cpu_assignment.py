"""Takes CPUs from a free set, packed (cpumanager/cpu_assignment.go).

The entry point is takeByTopologyNUMAPacked.

Orders are always (free CPUs in the element, id), ascending: the fullest element that is not full
comes first.
"""

from collections.abc import Iterable

from cpuplan.upstream.kubelet.cpu.topology import CPUTopology, Element
from cpuplan.upstream.kubelet.errors import KubeletError


class CPUAccumulator:
    """What is still free, what was taken, and how many CPUs are missing.

    `take` adds CPUs to the result whether they are free or not: the averages of machines with
    offline CPUs or with unequal cores call elements free that are not, and CPUs of others, or fewer
    distinct ones, come out (kubelet bug).
    """

    def __init__(
        self,
        topology: CPUTopology,
        available: int,
        count: int,
        *,
        odd_uncore_remainders: bool = True,
    ) -> None:
        self.topology, self.odd_uncore_remainders = topology, odd_uncore_remainders
        self.free = available & topology.all
        self.needed = count
        self.result = 0

    def take(self, cpus: int) -> None:
        self.result |= cpus
        self.free &= ~self.result
        self.needed -= cpus.bit_count()

    @property
    def is_satisfied(self) -> bool:
        return self.needed < 1

    @property
    def is_failed(self) -> bool:
        return self.needed > self.free.bit_count()

    def sort(self, elements: Iterable[Element], within: int) -> list[Element]:
        """The elements with free CPUs in `within`, sorted by (free CPUs in the element, id)."""
        free = self.free
        within &= free
        keyed = sorted(
            [((cpus & free).bit_count(), name, cpus) for name, cpus in elements if cpus & within]
        )
        return [(name, cpus) for _, name, cpus in keyed]

    def sort_first(self) -> list[Element]:
        """NUMA nodes, or sockets where these are above NUMA nodes."""
        return self.sort(self.topology.hierarchy.first, self.free)

    def sort_second(self) -> list[Element]:
        """The elements below each sorted one of the first level.

        An element with several parents comes several times.
        """
        below = self.topology.hierarchy.second
        return [
            element for name, cpus in self.sort_first() for element in self.sort(below[name], cpus)
        ]

    def sort_available_numa_nodes(self) -> list[Element]:
        return self.sort_first() if self.topology.hierarchy.numa_first else self.sort_second()

    def sort_available_sockets(self) -> list[Element]:
        return self.sort_second() if self.topology.hierarchy.numa_first else self.sort_first()

    def sort_available_cores(self) -> list[Element]:
        below = self.topology.hierarchy.cores
        return [core for name, cpus in self.sort_second() for core in self.sort(below[name], cpus)]

    def sort_available_uncore_caches(self) -> list[Element]:
        below = self.topology.uncore_in_numa
        numa_nodes = self.sort_available_numa_nodes()
        return [cache for name, cpus in numa_nodes for cache in self.sort(below[name], cpus)]

    def take_full(self, elements: Iterable[Element]) -> None:
        """Whole elements, as long as one is not more than what is missing."""
        for _, cpus in elements:
            if self.needed >= cpus.bit_count():
                self.take(cpus)

    def take_full_numa_nodes(self) -> None:
        self.take_full(
            [node for node in self.sort_available_numa_nodes() if not node[1] & ~self.free]
        )

    def take_full_sockets(self) -> None:
        """A socket counts as free when as many CPUs are free in it as sockets have on average."""
        size, free = self.topology.cpus_per_socket, self.free
        self.take_full(
            [
                socket
                for socket in self.sort_available_sockets()
                if (socket[1] & free).bit_count() == size
            ]
        )

    def take_full_cores(self) -> None:
        """A core counts as free when as many of its CPUs are free as cores have on average."""
        size, free = self.topology.cpus_per_core, self.free
        self.take_full(
            [core for core in self.sort_available_cores() if (core[1] & free).bit_count() == size]
        )

    def take_first_levels(self) -> None:
        """Whole elements of the first level, then of the second."""
        steps = (self.take_full_numa_nodes, self.take_full_sockets)
        for step in steps if self.topology.hierarchy.numa_first else reversed(steps):
            step()
            if self.is_satisfied:
                return

    def take_full_uncore(self) -> None:
        self.take_full(
            [cache for cache in self.sort_available_uncore_caches() if not cache[1] & ~self.free]
        )

    def take_partial_uncore(self, cache: int) -> None:
        """Takes the first cores with free CPUs in `cache` if they have exactly the missing CPUs."""
        topology, free = self.topology, self.free
        wanted, rest = divmod(self.needed, topology.cpus_per_core)
        if rest and self.odd_uncore_remainders:
            wanted += 1
        within = cache & free
        candidate = 0
        for core in topology.cores.values():
            if wanted and core & within:
                candidate |= core & free
                wanted -= 1
        if self.needed % 2 and topology.cpus_per_core > 1 and candidate.bit_count() > self.needed:
            candidate ^= 1 << candidate.bit_length() - 1
        if candidate.bit_count() == self.needed:
            self.take(candidate)

    def take_uncore_cache(self) -> None:
        """prefer-align-cpus-by-uncorecache: whole caches, then part of one."""
        size = self.topology.cpus_per_uncore_cache
        for _, cache in self.sort_available_uncore_caches():
            if self.needed >= size:
                self.take_full_uncore()
            if self.is_satisfied:
                return
            self.take_partial_uncore(cache)
            if self.is_satisfied:
                return

    def take_remaining_cpus(self, *, spread: bool) -> None:
        """Single CPUs: by cores in their order, or (spread) by sockets."""
        for _, element in self.sort_available_sockets() if spread else self.sort_available_cores():
            cpus = element & self.free
            while cpus and not self.is_satisfied:
                lowest = cpus & -cpus
                self.take(lowest)
                cpus ^= lowest


def take_by_topology_numa_packed(
    topology: CPUTopology,
    available: int,
    count: int,
    *,
    spread: bool = False,
    align_by_uncore_cache: bool = False,
    odd_uncore_remainders: bool = True,
) -> int:
    """Takes `count` CPUs out of `available` (takeByTopologyNUMAPacked).

    `spread` is the sorting strategy of distribute-cpus-across-cores.

    Without `odd_uncore_remainders` only whole cores are aligned by uncore cache.

    KubeletError when there are not so many.
    """
    taken = CPUAccumulator(topology, available, count, odd_uncore_remainders=odd_uncore_remainders)
    if taken.is_satisfied:
        return 0
    if taken.is_failed:
        raise not_enough(count, available)
    taken.take_first_levels()
    if not taken.is_satisfied and align_by_uncore_cache:
        taken.take_uncore_cache()
    if not taken.is_satisfied and not spread:
        taken.take_full_cores()
    if not taken.is_satisfied:
        taken.take_remaining_cpus(spread=spread)
    if not taken.is_satisfied:
        raise KubeletError("failed to allocate cpus")
    return taken.result


def not_enough(count: int, available: int) -> KubeletError:
    """The refusal of both algorithms; `available` may hold CPUs that the topology lacks."""
    requested = f"requested={count}, available={available.bit_count()}"
    return KubeletError(f"not enough cpus available to satisfy request: {requested}")

"""In which order free CPUs are chosen (cpu_accumulator.go, freeCoresInNode to freeCPUs).

An order is a list of sets: from each its CPUs ascending, then from the next.
"""

from collections.abc import Iterable
from itertools import chain, zip_longest
from typing import NamedTuple

from cpuplan.upstream.koordinator.scheduler.cpus.allocated import Allocated
from cpuplan.upstream.koordinator.scheduler.cpus.topology import CPUTopology, Group
from cpuplan.upstream.koordinator.scheduler.names import MOST_ALLOCATED

Order = list[int]
#: An order of CPUs of one NUMA node or socket.
Choice = tuple[Group, Order]


def first_of(order: Iterable[int], count: int) -> int:
    """The first `count` CPUs."""
    taken = 0
    for cpus in order:
        size = cpus.bit_count()
        if size >= count:
            return taken | lowest_of(cpus, count)
        taken |= cpus
        count -= size
    return taken


def lowest_of(cpus: int, count: int) -> int:
    """The `count` lowest CPUs."""
    if cpus.bit_count() == count:
        return cpus
    rest = cpus
    for _ in range(count):
        rest &= rest - 1
    return cpus ^ rest


def size_of(order: Order) -> int:
    return sum(map(int.bit_count, order))


class Ordering(NamedTuple):
    """The machine, its strategy for NUMA nodes, and what pods have of it.

    CPUs are shared where maxRefCount is above 1.
    """

    topology: CPUTopology
    strategy: str = ""
    allocated: Allocated = Allocated()
    is_shared: bool = False

    @property
    def sign(self) -> int:
        """1: the fullest first. All but MostAllocated is LeastAllocated, DistributeEvenly too."""
        return 1 if self.strategy == MOST_ALLOCATED else -1

    def full_cores(self, group: Group, free: int) -> Order:
        """The cores of a group that are free as a whole, the least often taken first."""
        size = self.topology.cpus_per_core
        full = [cpus for core in group.cores if (cpus := core & free).bit_count() == size]
        return sorted(full, key=self.allocated.times) if self.is_shared else full

    def full_cores_in_nodes(self, free: int) -> list[Order]:
        """By CPUs on full cores, then by free CPUs of the socket."""
        keyed = []
        for node in self.topology.nodes:
            if node.cpus & free and (cores := self.full_cores(node, free)):
                size = len(cores) * self.topology.cpus_per_core
                keyed.append((self.sign * size, self._in_socket(cores[0], free), node.id, cores))
        return [cores for *_, cores in sorted(keyed)]

    def _in_socket(self, cpus: int, free: int) -> int:
        """The free CPUs of the socket of the lowest of `cpus`, as a key."""
        lowest = (cpus & -cpus).bit_length() - 1
        return self.sign * (self.topology.socket_cpus[lowest] & free).bit_count()

    def full_cores_in_sockets(self, free: int) -> list[Order]:
        """By CPUs on full cores."""
        keyed = [
            (self.sign * len(cores), socket.id, cores)
            for socket in self.topology.sockets
            if socket.cpus & free and (cores := self.full_cores(socket, free))
        ]
        return [cores for *_, cores in sorted(keyed)]

    def cpus_in_nodes(self, free: int, *, one_per_core: bool) -> list[Choice]:
        """By free CPUs of the NUMA node, then of its socket."""
        keyed = []
        for node in self.topology.nodes:
            if cpus := node.cpus & free:
                order = self._by_times(cpus)
                key = (self.sign * cpus.bit_count(), self._in_socket(order[0], free), node.id)
                order = self._one_per_core(node, order) if one_per_core else order
                keyed.append((key, (node, order)))
        return [choice for _, choice in sorted(keyed)]

    def cpus_in_sockets(self, free: int, *, one_per_core: bool) -> list[Choice]:
        """By the length of the list: with one CPU per core, by cores."""
        keyed = []
        for socket in self.topology.sockets:
            if cpus := socket.cpus & free:
                order = self._by_times(cpus)
                order = self._one_per_core(socket, order) if one_per_core else order
                keyed.append(((self.sign * size_of(order), socket.id), (socket, order)))
        return [choice for _, choice in sorted(keyed)]

    def _by_times(self, cpus: int) -> Order:
        return self.allocated.by_times(cpus) if self.is_shared else [cpus]

    def _one_per_core(self, group: Group, order: Order) -> Order:
        """The first CPU of each core."""
        left = group.cpus
        kept = []
        for cpus in order:
            chosen = 0
            for core in group.cores:
                if there := core & cpus & left:
                    chosen |= there & -there
                    left &= ~core
            kept.append(chosen)
        return [cpus for cpus in kept if cpus]

    def spread(self, choice: Choice) -> Order:
        """The list dealt out in rounds, a CPU of each core in a round; a short one stays."""
        group, order = choice
        if size_of(order) <= self.topology.cpus_per_core:
            return order
        rounds: Order = []
        while order:
            dealt = self._one_per_core(group, order)
            rounds += dealt
            taken = sum(dealt)
            order = [rest for cpus in order if (rest := cpus & ~taken)]
        return rounds

    def single_cpus(self, free: int, result: int) -> Order:
        """All free CPUs one by one, spread over the cores in their order (freeCPUs).

        Sockets that gave CPUs already come first; then full sockets and NUMA nodes as the strategy
        has it; cores of which others have a part before free ones.
        """
        by_node = self._keys_of_nodes(free, result)
        keyed = []
        for core in self.topology.cores:
            if cpus := core.cpus & free:
                times = self.allocated.times(cpus) if self.is_shared else 0
                key = (by_node[core.socket, core.node], cpus.bit_count(), core.socket)
                keyed.append((key, times, core.key, cpus))
        cores = [self._by_times(cpus) for *_, cpus in sorted(keyed)]
        if free.bit_count() <= self.topology.cpus_per_core:
            return list(chain.from_iterable(cores))
        rounds = zip_longest(*map(_singles, cores), fillvalue=0)
        return list(chain.from_iterable(rounds))

    def _keys_of_nodes(self, free: int, result: int) -> dict[tuple[int, int], tuple[int, int, int]]:
        keys = {}
        for socket in self.topology.sockets:
            given = -(socket.cpus & result).bit_count()
            in_socket = self.sign * (socket.cpus & free).bit_count()
            for node in self.topology.nodes:
                in_node = self.sign * (node.cpus & free).bit_count()
                keys[socket.id, node.id] = given, in_socket, in_node
        return keys


def _singles(order: Order) -> Order:
    """The CPUs one by one."""
    singles = []
    for cpus in order:
        left = cpus
        while left:
            lowest = left & -left
            singles.append(lowest)
            left ^= lowest
    return singles

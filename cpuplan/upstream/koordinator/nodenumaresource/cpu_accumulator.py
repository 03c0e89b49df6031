"""Which CPUs a pod gets that may have CPUs of its own (takeCPUs).

An order is a list of sets: from each its CPUs ascending, then from the next. Otherwise than in
release 1.8.0, a pod never gets more CPUs than it asked for: there, an odd number of CPUs over three
or more sockets is rounded up to whole cores when the last socket is left.

Upstream: koordinator-sh/koordinator pkg/scheduler/plugins/nodenumaresource/cpu_accumulator.go
  @ 989ca85c62abcca92b303aa12fd2ccff2ed30fed
"""

from collections.abc import Iterable
from itertools import chain, zip_longest
from typing import NamedTuple

from cpuplan.upstream.koordinator.extension.numa_aware import (
    FULL_PCPUS,
    NUMA_NODE_LEVEL,
    PCPU_LEVEL,
)
from cpuplan.upstream.koordinator.nodenumaresource.cpu_topology import CPUTopology, Group
from cpuplan.upstream.koordinator.nodenumaresource.scoring import MOST_ALLOCATED, NOT_ENOUGH_CPUS
from cpuplan.upstream.kubernetes.errors import KubeletError


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

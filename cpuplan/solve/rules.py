"""The rules of a layout: the intent's statements and the built-in ones, as constraints with their reasons.

`RULES` at the end is the list. A constraint is data: `model` hands it to the solver, and its `holds` tests a layout
without one, so that solved and locked layouts are judged by the same rules.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal, NamedTuple, TypeAlias

from cpuplan.cpuset import CpuSet, cpus_text, union
from cpuplan.diagnostics import Reason
from cpuplan.intent import POOLS, Pool
from cpuplan.plan import NodeClass
from cpuplan.topology import Topology

#: A layout: every pool of the intent, also the empty ones.
Layout: TypeAlias = Mapping[str, CpuSet]


class Scope(NamedTuple):
    """A part of the machine that CPUs are counted in; cores never lie across its border."""

    name: str
    cpus: CpuSet


class Amount(NamedTuple):
    """The pool has `least` to `most` CPUs of the scope; or that many cores, and no part of another."""

    pool: str
    scope: Scope
    unit: Literal["CPUs", "cores"]
    least: int
    most: int

    def holds(self, topology: Topology, layout: Layout) -> bool:
        held = layout[self.pool] & self.scope.cpus
        if self.unit == "CPUs":
            return self.least <= len(held) <= self.most
        cores = [siblings for siblings in topology.cores.values() if siblings & held]
        return self.least <= len(cores) <= self.most and all(siblings <= held for siblings in cores)


class Listed(NamedTuple):
    """The pool has exactly these CPUs."""

    pool: str
    cpus: CpuSet

    def holds(self, _topology: Topology, layout: Layout) -> bool:
        return layout[self.pool] == self.cpus


class WholeCores(NamedTuple):
    """The pool shares no core with another one."""

    pool: str

    def holds(self, topology: Topology, layout: Layout) -> bool:
        return not topology.split_cores(layout[self.pool])


class Covered(NamedTuple):
    """No CPU is left over."""

    pool: str = ""

    def holds(self, topology: Topology, layout: Layout) -> bool:
        return union(layout.values()) == topology.online


Constraint: TypeAlias = Amount | Listed | WholeCores | Covered


class Rule(NamedTuple):
    """One statement: what it demands (all of `constraints`), why, and its `field` below the intent's spec."""

    pool: str
    field: str
    reason: Reason
    constraints: tuple[Constraint, ...]


class Problem(NamedTuple):
    """What is solved: the CPUs of a machine among `pools`, so that all rules hold."""

    topology: Topology
    pools: tuple[str, ...]
    rules: tuple[Rule, ...]

    def having(self, rules: Iterable[Rule]) -> "Problem":
        """The same with other rules."""
        return self._replace(rules=tuple(rules))


def problem_of(node_class: NodeClass) -> Problem:
    """The rules of a class, in the order of RULES."""
    rules = tuple(rule for build in RULES for rule in build(node_class))
    return Problem(node_class.topology, tuple(pools_of(node_class)), rules)


def pools_of(node_class: NodeClass) -> dict[str, Pool]:
    """What is said of each pool, in the order of POOLS. `isolated` takes the rest if nobody else does."""
    pools = node_class.spec.pools
    said = {name: pool for name in POOLS if (pool := getattr(pools, name)) is not None}
    if "isolated" not in said and not any(pool.rest for pool in said.values()):
        said["isolated"] = Pool(rest=True)
    return {name: said[name] for name in POOLS if name in said}


def sizes(node_class: NodeClass) -> Iterator[Rule]:
    """Each pool has the size that its statement gives."""
    for name, pool in pools_of(node_class).items():
        yield size(node_class, name, pool)


def size(node_class: NodeClass, name: str, pool: Pool) -> Rule:
    """The rule of one pool's size; of one that takes the rest, a rule without constraints."""
    if pool.rest and getattr(node_class.spec.pools, name) is None:
        return Rule(name, f"pools.{name}", Reason(f"{name} takes the rest, since no pool is said to", "rule rest"), ())
    unit, text, constraints = _size(node_class.topology, name, pool)
    field = f"pools.{name}.{unit}"
    return Rule(name, field, node_class.reason(f"{name} {text}", field), constraints)


def _size(topology: Topology, name: str, pool: Pool) -> tuple[str, str, tuple[Constraint, ...]]:
    """(field, the statement in words, its constraints)."""
    if pool.cpus is not None:
        return (
            "cpus",
            f"takes {cpus_text(pool.cpus)}, which {'is' if len(pool.cpus) == 1 else 'are'} listed",
            (Listed(name, pool.cpus),),
        )
    where = {"machine": "", "socket": " of each socket", "numaNode": " of each NUMA node"}[pool.per]
    scopes = scopes_of(topology, pool)
    if pool.count is not None:
        amounts = tuple(Amount(name, scope, "CPUs", pool.count, pool.count) for scope in scopes)
        return "count", f"takes {counted(pool.count, 'CPU')}{where}", amounts
    if pool.cores is not None:
        amounts = tuple(Amount(name, scope, "cores", pool.cores, pool.cores) for scope in scopes)
        return "cores", f"takes {counted(pool.cores, 'whole core')}{where}", amounts
    if pool.percent is not None:
        amounts = tuple(_share(topology, name, scope, pool.percent) for scope in scopes)
        return "percent", f"takes {pool.percent}% of the CPUs{where}, rounded up to whole cores", amounts
    return "rest", "takes the rest", ()


def scopes_of(topology: Topology, pool: Pool) -> list[Scope]:
    """What `per` stands for: the machine, or each socket or NUMA node that has online CPUs."""
    if pool.per == "socket":
        return [Scope(f"socket {socket}", cpus) for socket, cpus in topology.sockets.items()]
    if pool.per == "numaNode":
        return [Scope(f"NUMA node {node}", cpus) for node, cpus in topology.numa_nodes.items()]
    return [Scope("the machine", topology.online)]


def _share(topology: Topology, name: str, scope: Scope, percent: int) -> Amount:
    """Percent of the scope's online CPUs, rounded up to the next number of CPUs that whole cores of it can have."""
    least = -(-percent * len(scope.cpus) // 100)
    sums = 1  # bit n is set when some of the cores have n CPUs together
    for siblings in topology.cores.values():
        if siblings <= scope.cpus:
            sums |= sums << len(siblings)
    above = sums >> least
    least += (above & -above).bit_length() - 1
    return Amount(name, scope, "CPUs", least, least)


def whole_cores(node_class: NodeClass) -> Iterator[Rule]:
    """Siblings are not split between pools, unless wholeCores is false for all of them.

    A pool that takes the rest and says nothing of cores takes the threads that the others leave.

    Two threads of a core share its caches and execution units, so a neighbour in another pool is heard
    (kubernetes/enhancements KEP-2625, full-pcpus-only). Nothing to say where each core has one thread.
    """
    if node_class.topology.threads_per_core == 1:
        return
    pools = pools_of(node_class)
    may_split = any(not pool.whole_cores for pool in pools.values())
    for name, pool in pools.items():
        written = "whole_cores" in pool.model_fields_set
        if pool.whole_cores and (written or not (pool.rest and may_split)):
            field = f"pools.{name}.wholeCores"
            text = f"{name} takes whole cores: siblings stay in one pool"
            reason = node_class.reason(text, field) if written else Reason(text, "rule whole-cores")
            yield Rule(name, field, reason, (WholeCores(name),))


def reserved_not_empty(node_class: NodeClass) -> Iterator[Rule]:
    """A reserved pool that takes the rest must get something under the static policy.

    Without a reserved CPU the kubelet does not start: the shared pool could be used up completely
    (pkg/kubelet/cm/cpumanager/cpu_manager.go, NewManager). Other sizes of nothing are found by `statements`.
    """
    if node_class.spec.kubelet.cpu_manager_policy == "static" and node_class.spec.pools.reserved.rest:
        reason = Reason("reserved is not empty: the kubelet's static policy needs a CPU", "rule reserved-not-empty")
        online = node_class.topology.online
        least = Amount("reserved", Scope("the machine", online), "CPUs", 1, len(online))
        yield Rule("reserved", "kubelet.cpuManagerPolicy", reason, (least,))


def every_cpu_has_a_pool(_node_class: NodeClass) -> Iterator[Rule]:
    """Each online CPU is in exactly one pool: at most one by the form of a layout, at least one by this rule."""
    yield Rule("", "pools", Reason("every online CPU is in a pool", "rule every-cpu"), (Covered(),))


def counted(number: int, noun: str) -> str:
    """`1 core`, `2 cores`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


#: All rules. In a conflict that can be told in two ways, those further up are the ones that are named.
RULES: tuple[Callable[[NodeClass], Iterator[Rule]], ...] = (
    sizes,
    whole_cores,
    reserved_not_empty,
    every_cpu_has_a_pool,
)

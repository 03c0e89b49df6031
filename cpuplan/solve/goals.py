"""The goals of a layout, most important first: aims as data, which `model` reaches one by one.

`measure` is the distance of a layout from an aim; smaller is better. What the aims leave open is
settled by the canonical choice: from the lowest core on, each goes to the first pool that can have
it (`model`, `core_classes`). What a limit left unproven of a layout is told in the words of its
goals.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.base.text import counted
from cpuplan.base.topology import Topology
from cpuplan.diagnostics import Diagnostic, Reason, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.language.model.pools import GoalName, Part, Pool
from cpuplan.plan import CANONICAL, Limited, NodeClass, NodePlan, Unproven
from cpuplan.solve import budget
from cpuplan.solve.constraints import Cores
from cpuplan.solve.layout import Layout, Scope, View, is_range, set_specs
from cpuplan.solve.rules.rule import Problem, scopes_of


class Moved(NamedTuple):
    """As few CPUs as possible are in other sets than in the committed layout."""

    committed: tuple[tuple[str, CpuSet], ...]

    def measure(self, view: View) -> int:
        old = View(view.topology, dict(self.committed)).slots
        return sum(set(slot) != set(old[cpu]) for cpu, slot in view.slots.items())


class SplitCores(NamedTuple):
    """As few cores as possible have threads in different sets."""

    cores: Cores = ()  # as in constraints

    def measure(self, view: View) -> int:
        cores = self.cores or view.topology.cores.values()
        used = (set(map(frozenset, view.slots_on(siblings))) for siblings in cores)
        return sum(len(slots) > 1 for slots in used)


class Parts(NamedTuple):
    """The set is on as few of the scopes as possible."""

    name: str
    scopes: tuple[Scope, ...]

    def measure(self, view: View) -> int:
        return sum(bool(view.cpus(self.name) & scope.cpus) for scope in self.scopes)


class Smallest(NamedTuple):
    """The scope with the fewest CPUs of the set has as many as possible."""

    name: str
    scopes: tuple[Scope, ...]

    def measure(self, view: View) -> int:
        return -min(len(view.cpus(self.name) & scope.cpus) for scope in self.scopes)


class Total(NamedTuple):
    """The set has as many CPUs as possible, or (sign 1) as few."""

    name: str
    sign: int = -1

    def measure(self, view: View) -> int:
        return self.sign * len(view.cpus(self.name))


Aim: TypeAlias = Moved | SplitCores | Parts | Smallest | Total


class Gap(NamedTuple):
    """An aim that is not proven reached as far as possible, and the least its measure can be.

    Without an aim it is the canonical choice among layouts that are equally good.
    """

    aim: Aim | None
    least: int | None  # None: nothing is known


def aims_of(node_class: NodeClass, committed: Layout | None = None) -> list[Aim]:
    """The aims of a class, in the order of its intent."""
    return common_aims([node_class], committed)


def common_aims(
    classes: Sequence[NodeClass], committed: Layout | None = None, divisions: Sequence[Cores] = ()
) -> list[Aim]:
    """The aims of a layout for several classes of one intent, goal by goal.

    `divisions` has the cores of each class where they differ.
    """
    aims: list[Aim] = []
    for goal in classes[0].spec.objective:
        for index, node_class in enumerate(classes):
            cores = divisions[index] if divisions else ()
            aims += _aims(goal, node_class, committed, cores)
    return list(dict.fromkeys([*aims, *_ranges(classes[0])]))


def _ranges(node_class: NodeClass) -> Iterator[Aim]:
    """A set whose size is a range takes as few CPUs as it must, in the order of the sets."""
    for name, spec in set_specs(node_class).items():
        if is_range(spec.pool) and name != "isolated":
            yield Total(name, 1)


def _aims(
    goal: GoalName, node_class: NodeClass, committed: Layout | None, cores: Cores
) -> Iterator[Aim]:
    topology = node_class.topology
    nodes = scopes_of(topology, "numaNode")
    match goal:
        case "fewest-moved":
            if committed:
                yield Moved(tuple(sorted(committed.items())))
        case "fewest-split-cores":
            if topology.threads_per_core > 1:
                yield SplitCores(cores)
        case "locality":
            for level, scopes in _levels(topology):
                yield from (Parts(name, scopes) for name in _packed(node_class, level))
        case "balance":
            if len(nodes) > 1:
                yield Smallest("isolated", nodes)
        case "most-isolated":
            yield Total("isolated")


def _levels(topology: Topology) -> Iterator[tuple[Part, tuple[Scope, ...]]]:
    """NUMA nodes and last-level caches, where there are several that differ."""
    nodes, caches = scopes_of(topology, "numaNode"), scopes_of(topology, "cache")
    if len(nodes) > 1:
        yield "numaNode", nodes
    if len(caches) > 1 and {scope.cpus for scope in caches} != {scope.cpus for scope in nodes}:
        yield "cache", caches


def _packed(node_class: NodeClass, level: Part) -> Iterator[str]:
    """The sets that are better in one place, in their order: all but isolated and the QoS sets.

    A list leaves no choice, and a size for each of several parts is not meant for one place. Where
    a statement says on how many parts of the level a set is, there is nothing to choose either.
    """
    for name, spec in set_specs(node_class).items():
        pool = spec.pool
        is_packed = name != "isolated" and not spec.is_qos
        if (
            is_packed
            and not _is_settled(pool, level)
            and pool.cpus is None
            and pool.per == "machine"
            and not pool.per_device
        ):
            yield name


def _is_settled(pool: Pool, level: Part) -> bool:
    """Whether a set is on as many parts of the level wherever it is."""
    if level == "cache" and pool.whole_caches is not None:
        return True
    return pool.within == level and bool(pool.count or pool.cores or pool.whole_caches)


def reasons(problem: Problem, name: str, layout: Layout) -> Iterator[Reason]:
    """The goals that explain the place of a set, as far as the layout shows them."""
    cpus, topology = layout[name], problem.topology
    own = [rule.field.rpartition(".")[2] for rule in problem.rules if rule.name == name]
    is_listed, is_placed = "cpus" in own, not {"within", "perDevice"}.isdisjoint(own)
    if not cpus or is_listed:
        return
    nodes = [scope for scope in scopes_of(topology, "numaNode") if cpus & scope.cpus]
    may_be_anywhere = name not in {"isolated", "offlined"} and not is_placed
    if may_be_anywhere and len(topology.numa_nodes) > 1 and len(nodes) == 1:
        text = f"{name} stays on one NUMA node, so that the others are whole"
        yield Reason(text, "goal locality")
    others = topology.online - cpus - layout.get("reserved", EMPTY)
    if name == "reserved" and topology.online.first in cpus:
        yield Reason("reserved takes the lowest cores that it can have", "goal canonical")
    elif name == "shared" and others and cpus.first < others.first:
        yield Reason("shared takes the lowest cores that reserved leaves", "goal canonical")
    elif name == "offlined" and topology.online.last in cpus:
        text = "offlined takes the highest cores, so that whole caches can sleep"
        yield Reason(text, "goal canonical")


def part_word(scopes: Sequence[Scope]) -> str:
    """What the scopes are: `NUMA node`, `cache`."""
    return scopes[0].name.rpartition(" ")[0]


def words(aim: Aim, old: int, new: int) -> str:
    """The meaning of a changed measure: `shared is on 1 NUMA node instead of 2`."""
    match aim:
        case Moved():
            return f"{new} CPUs move instead of {old}"
        case SplitCores():
            return f"cores with threads in different sets: {new} instead of {old}"
        case Parts(name=name, scopes=scopes):
            return f"{name} is on {counted(new, part_word(scopes))} instead of {old}"
        case Smallest(name=name):
            return f"the NUMA node with the fewest CPUs of {name} has {-new} instead of {-old}"
        case Total(name=name, sign=sign):
            return f"{name} has {sign * new} CPUs instead of {sign * old}"


def sets_of(aim: Aim) -> list[CpuSet]:
    """The sets of CPUs that the aim distinguishes from the others."""
    match aim:
        case Moved(committed=committed):
            return [cpus for _, cpus in committed]
        case Parts(scopes=scopes) | Smallest(scopes=scopes):
            return [scope.cpus for scope in scopes]
        case _:
            return []


#: More goals than these are not read.
_MOST_SHOWN = 3


def unproven(
    topology: Topology, layout: Layout, gaps: Sequence[Gap], seconds: float
) -> Limited | None:
    """What is not proven of a layout, with its own numbers; None if everything is.

    A search may end before it sees that its layout has reached a bound.
    """
    if not gaps:
        return None
    view = View(topology, layout)
    goals = [_unproven(gap, view) for gap in gaps]
    left = tuple(goal for goal in goals if goal.bound is None or goal.bound != goal.reached)
    return Limited(seconds, left or (Unproven(CANONICAL),))


def is_nearer(node_class: NodeClass, layout: Layout, other: Layout) -> bool:
    """Whether a layout comes nearer to the first goal in which the two differ."""
    view, other_view = View(node_class.topology, layout), View(node_class.topology, other)
    for aim in aims_of(node_class):
        measures = aim.measure(view), aim.measure(other_view)
        if measures[0] != measures[1]:
            return measures[0] < measures[1]
    return False


def _unproven(gap: Gap, view: View) -> Unproven:
    if gap.aim is None:
        return Unproven(CANONICAL)
    aim, measure = gap.aim, gap.aim.measure(view)
    bound = None if gap.least is None else min(gap.least, measure)
    match aim:
        case Moved():
            return Unproven("fewest-moved", "", "", measure, bound)
        case SplitCores():
            return Unproven("fewest-split-cores", "", "", measure, bound)
        case Parts(name=name, scopes=scopes):
            return Unproven("locality", name, part_word(scopes), measure, bound)
        case Smallest(name=name):
            return Unproven("balance", name, "", -measure, None if bound is None else -bound)
        case Total(name=name, sign=sign):
            goal = "most-isolated" if sign < 0 else "smallest-range"
            return Unproven(goal, name, "", sign * measure, None if bound is None else sign * bound)


def check_proof(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP322 for a layout that no search has proven best, solved now or locked before."""
    if plan.limited is None or plan.limited.is_best:
        return
    goals = plan.limited.goals
    facts = "; ".join(map(_words, goals[:_MOST_SHOWN]))
    if len(goals) > _MOST_SHOWN:
        facts += f"; and {len(goals) - _MOST_SHOWN} more in the lock"
    yield _of_limit("CP322", plan.node_class, locate, plan.limited.seconds, facts=facts)


def undecided(node_class: NodeClass, locate: Locate) -> Diagnostic:
    """CP404: the limit ended before there was a layout, or a proof that there is none."""
    return _of_limit("CP404", node_class, locate, budget.current().seconds)


def unexplained(node_class: NodeClass, locate: Locate) -> Diagnostic:
    """CP323: there is no layout, and the limit ended before it was found why."""
    return _of_limit("CP323", node_class, locate, budget.current().seconds)


def _of_limit(
    code: str, node_class: NodeClass, locate: Locate, seconds: float, facts: str = ""
) -> Diagnostic:
    return diagnose(
        code,
        locate(node_class.place("pools", of_key=True)),
        name=node_class.name,
        cluster=node_class.cluster,
        nodes=counted(len(node_class.nodes), "node"),
        limit=budget.Effort(seconds).words,
        facts=facts,
    )


def _words(unproven: Unproven) -> str:
    """`locality: shared is on 3 NUMA nodes, and perhaps 2 would do`."""
    goal, name, part, measure, bound = unproven
    more = "and nothing is known of fewer" if bound is None else f"and perhaps {bound} would do"
    most = "and nothing is known of more" if bound is None else f"and perhaps {bound} is possible"
    match goal:
        case "fewest-moved":
            return f"{goal}: {counted(measure, 'CPU')} would move, {more}"
        case "fewest-split-cores":
            return f"{goal}: {counted(measure, 'core')} with threads in different sets, {more}"
        case "locality":
            return f"{goal}: {name} is on {counted(measure, part)}, {more}"
        case "balance":
            return f"{goal}: the NUMA node with the fewest CPUs of {name} has {measure}, {most}"
        case "most-isolated":
            return f"{goal}: {name} has {counted(measure, 'CPU')}, {most}"
        case "smallest-range":
            return f"{goal}: {name} has {counted(measure, 'CPU')}, {more}"
        case _:
            return f"{goal}: which of the layouts that reach all goals equally well comes first"

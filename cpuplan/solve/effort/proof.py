"""What a limit left unproven of a layout, in the words of its goals."""

from collections.abc import Iterator, Sequence

from cpuplan.base.text import counted
from cpuplan.base.topology import Topology
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.plan import CANONICAL, Limited, NodeClass, NodePlan, Unproven
from cpuplan.solve import effort
from cpuplan.solve.goals import Gap, Moved, Parts, Smallest, SplitCores, Total, aims_of
from cpuplan.solve.layout import Layout, View

#: More goals than these are not read.
_MOST_SHOWN = 3


def limited(
    topology: Topology, layout: Layout, gaps: Sequence[Gap], seconds: float
) -> Limited | None:
    """What is not proven of a layout, with its own numbers; None if everything is.

    A search may end before it sees that its layout has reached a bound.
    """
    if not gaps:
        return None
    view = View(topology, layout)
    goals = [_unproven(gap, view) for gap in gaps]
    left = tuple(goal for goal in goals if goal.bound is None or goal.bound != goal.found)
    return Limited(seconds, left or (Unproven(CANONICAL),))


def is_nearer(node_class: NodeClass, layout: Layout, other: Layout) -> bool:
    """Whether a layout comes nearer to the first goal in which the two differ."""
    one, two = View(node_class.topology, layout), View(node_class.topology, other)
    for aim in aims_of(node_class):
        measures = aim.measure(one), aim.measure(two)
        if measures[0] != measures[1]:
            return measures[0] < measures[1]
    return False


def _unproven(gap: Gap, view: View) -> Unproven:
    if gap.aim is None:
        return Unproven(CANONICAL)
    aim, found = gap.aim, gap.aim.measure(view)
    bound = None if gap.least is None else min(gap.least, found)
    match aim:
        case Moved():
            return Unproven("fewest-moved", "", "", found, bound)
        case SplitCores():
            return Unproven("fewest-split-cores", "", "", found, bound)
        case Parts(name=name, scopes=scopes):
            part = scopes[0].name.rpartition(" ")[0]
            return Unproven("locality", name, part, found, bound)
        case Smallest(name=name):
            return Unproven("balance", name, "", -found, None if bound is None else -bound)
        case Total(name=name, sign=sign):
            goal = "most-isolated" if sign < 0 else "smallest-range"
            return Unproven(goal, name, "", sign * found, None if bound is None else sign * bound)


def check(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
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
    return _of_limit("CP404", node_class, locate, effort.current().seconds)


def unexplained(node_class: NodeClass, locate: Locate) -> Diagnostic:
    """CP323: there is no layout, and the limit ended before it was found why."""
    return _of_limit("CP323", node_class, locate, effort.current().seconds)


def _of_limit(
    code: str, node_class: NodeClass, locate: Locate, seconds: float, facts: str = ""
) -> Diagnostic:
    return diagnose(
        code,
        locate(node_class.place("pools", of_key=True)),
        name=node_class.name,
        cluster=node_class.cluster,
        nodes=counted(len(node_class.nodes), "node"),
        limit=effort.Effort(seconds).words,
        facts=facts,
    )


def _words(unproven: Unproven) -> str:
    """`locality: shared is on 3 NUMA nodes, and perhaps 2 would do`."""
    goal, name, part, found, bound = unproven
    more = "and nothing is known of fewer" if bound is None else f"and perhaps {bound} would do"
    most = "and nothing is known of more" if bound is None else f"and perhaps {bound} is possible"
    match goal:
        case "fewest-moved":
            return f"{goal}: {counted(found, 'CPU')} would move, {more}"
        case "fewest-split-cores":
            return f"{goal}: {counted(found, 'core')} with threads in different sets, {more}"
        case "locality":
            return f"{goal}: {name} is on {counted(found, part)}, {more}"
        case "balance":
            return f"{goal}: the NUMA node with the fewest CPUs of {name} has {found}, {most}"
        case "most-isolated":
            return f"{goal}: {name} has {counted(found, 'CPU')}, {most}"
        case "smallest-range":
            return f"{goal}: {name} has {counted(found, 'CPU')}, {more}"
        case _:
            return f"{goal}: which of the layouts that reach all goals equally well comes first"

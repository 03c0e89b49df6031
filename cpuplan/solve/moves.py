"""The CPUs that change their sets between two layouts of a class, and the reasons."""

from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet
from cpuplan.diagnostics import Reason
from cpuplan.plan import NodeClass
from cpuplan.solve import goals
from cpuplan.solve.layout import Layout, Slot, View, hosts_among
from cpuplan.solve.violations import violations

#: More reasons than these are not read.
_MOST_REASONS = 2


class Move(NamedTuple):
    """CPUs that leave the same sets for the same sets; for none if they are no longer online."""

    cpus: CpuSet
    before: tuple[str, ...]
    after: tuple[str, ...]
    because: tuple[Reason, ...]


def moves(node_class: NodeClass, before: Layout, after: Layout) -> list[Move]:
    """The moves to a layout of the class, by the lowest CPU.

    `before` may be a layout of another machine or intent.
    """
    if before == after:
        return []
    moved = groups(before, after)
    if not moved:
        return []
    broken = []
    for breach in violations(node_class, before):
        reason = breach.rule.reason if breach.rule else Reason(breach.text)
        broken.append((set(breach.names), reason))
    gains = [] if broken else _gains(node_class, before, after)
    result = []
    for (left, entered), cpus in moved.items():
        own = [reason for names, reason in broken if not names.isdisjoint((*left, *entered))]
        first = [reason for _, reason in broken[:1]]
        because = tuple(dict.fromkeys([*(own or first), *gains]))
        result.append(Move(cpus, short(left), short(entered), because[:_MOST_REASONS]))
    return result


def groups(before: Layout, after: Layout) -> dict[tuple[Slot, Slot], CpuSet]:
    """CPUs whose sets differ, by those that they leave and enter; the lowest CPU first.

    Names are in the order of the layouts.
    """
    old, new = _slots(before), _slots(after)
    by_slots: dict[tuple[Slot, Slot], list[int]] = {}
    for cpu in sorted(old.keys() | new.keys()):
        left, entered = old.get(cpu, ()), new.get(cpu, ())
        if set(left) != set(entered):
            by_slots.setdefault((left, entered), []).append(cpu)
    return {pair: CpuSet(cpus) for pair, cpus in by_slots.items()}


def _slots(layout: Layout) -> dict[int, Slot]:
    """The sets of each CPU of a layout, online or not."""
    sets: dict[int, list[str]] = {}
    for name, cpus in layout.items():
        for cpu in cpus:
            sets.setdefault(cpu, []).append(name)
    return {cpu: tuple(names) for cpu, names in sets.items()}


def short(slot: Slot) -> tuple[str, ...]:
    """The slot without the pool of a partition."""
    hosts = hosts_among(slot)
    return tuple(name for name in slot if name not in hosts)


def _gains(node_class: NodeClass, before: Layout, after: Layout) -> list[Reason]:
    """The first goal that one of two layouts is nearer to, without the goal of few moves."""
    old, new = View(node_class.topology, before), View(node_class.topology, after)
    for aim in goals.aims_of(node_class):
        distances = aim.measure(old), aim.measure(new)
        if distances[0] != distances[1]:
            return [Reason(goals.words(aim, *distances), "goal")]
    return [Reason("low cores go to the first pools, which no goal asks for", "goal")]

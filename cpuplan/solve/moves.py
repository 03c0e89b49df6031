"""Which CPUs change their sets between two layouts of a class, and why."""

from typing import NamedTuple

from cpuplan.cpuset import CpuSet
from cpuplan.diagnostics import Reason
from cpuplan.model.pools import PARTITION
from cpuplan.plan import NodeClass
from cpuplan.solve import goals
from cpuplan.solve.breaches import breaches
from cpuplan.solve.layout import Layout, Slot, View

#: More reasons than these are not read.
_MOST_REASONS = 2


class Move(NamedTuple):
    """CPUs that leave the same sets for the same sets; none after: they are not online any more."""

    cpus: CpuSet
    before: tuple[str, ...]
    after: tuple[str, ...]
    because: tuple[Reason, ...]


def moves(node_class: NodeClass, before: Layout, after: Layout) -> list[Move]:
    """By the lowest CPU. `after` is a layout of the class, `before` may be of another machine or
    intent.
    """
    old, new = _slots(before), _slots(after)
    groups: dict[tuple[Slot, Slot], list[int]] = {}
    for cpu in sorted(old.keys() | new.keys()):
        key = old.get(cpu, ()), new.get(cpu, ())
        if set(key[0]) != set(key[1]):
            groups.setdefault(key, []).append(cpu)
    if not groups:
        return []
    broken = [
        (breach.names, breach.rule.reason if breach.rule else Reason(breach.text))
        for breach in breaches(node_class, before)
    ]
    better = (
        [Reason(text, "goal") for text in _gains(node_class, before, after)] if not broken else []
    )
    found = []
    for (left, entered), cpus in groups.items():
        mine = [reason for names, reason in broken if {*left, *entered} & {*names}]
        because = tuple(dict.fromkeys([*(mine or (reason for _, reason in broken[:1])), *better]))[
            :_MOST_REASONS
        ]
        found.append(Move(CpuSet(cpus), _short(left), _short(entered), because))
    return found


def _slots(layout: Layout) -> dict[int, Slot]:
    found: dict[int, list[str]] = {}
    for name, cpus in layout.items():
        for cpu in cpus:
            found.setdefault(cpu, []).append(name)
    return {cpu: tuple(names) for cpu, names in found.items()}


def _short(slot: Slot) -> tuple[str, ...]:
    """A partition stands for its pool too."""
    inner = [name for name in slot if name.startswith(PARTITION)]
    return tuple(name for name in slot if not (inner and name == PARTITION[:-1]))


def _gains(node_class: NodeClass, before: Layout, after: Layout) -> list[str]:
    """The first goal that one of two layouts of the class comes nearer to, the older one not
    counting as committed.
    """
    aims = goals.aims_of(node_class)
    views = [View(node_class.topology, layout) for layout in (before, after)]
    for aim in aims:
        old, new = (aim.measure(view) for view in views)
        if old != new:
            return [goals.words(aim, old, new)]
    return ["low cores go to the first pools, which no goal asks for"]

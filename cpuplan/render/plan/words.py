"""Words of a plan: nodes, values, causes, moves."""

import json
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from cpuplan.base.cpuset import cpus_text
from cpuplan.base.name_ranges import fold_names
from cpuplan.base.printable import printable
from cpuplan.base.text import counted, first_of, joined
from cpuplan.change.impact.capacity import Capacity, NumaNode, Room
from cpuplan.change.impact.comparison import Change, Comparison
from cpuplan.change.impact.impact import Step
from cpuplan.change.impact.objects import How, ObjectChange
from cpuplan.change.impact.pools import Move
from cpuplan.change.impact.settings import Cause, SettingChange
from cpuplan.components.published import nrt
from cpuplan.render.plan.report import Group

#: More ranges of nodes, and more reasons of a step, are not named.
_MOST = 4
#: Longer values are shown around their first difference.
_WIDTH = 72
_BEFORE = 16
#: Longer reasons of a step end here.
_LONG = 120
_FOLLOW = {False: "follows", True: "follow"}
MARKS = {How.COMES: "+", How.CHANGES: "~", How.GOES: "-", How.RENAMED: ">"}


def nodes(names: Sequence[str], *, verbose: bool = False) -> str:
    """`worker-[0-2] and db`; of many ranges the first."""
    folded = fold_names(names)
    return joined(folded) if verbose else first_of(folded, _MOST)


def titles(group: Group) -> str:
    """The classes of a group; of many the first."""
    return first_of([title(change) for change in group.changes], _MOST)


def title(change: Change) -> str:
    """The class of now, else of before; of a renamed or left one both."""
    old, new = change.pair.before, change.pair.after
    name = "/".join(new or old or ())
    return f"{name} (was {'/'.join(old)})" if old and new and old != new else name


def shown(change: Change, *, verbose: bool = False) -> tuple[Sequence[SettingChange], str]:
    """The settings to tell, and a line on those that follow from them: what nodes publish."""
    own = [each for each in change.settings if each.component != nrt.NAME]
    rest = len(change.settings) - len(own)
    if verbose or not own or not rest:
        return change.settings, ""
    return own, f"{counted(rest, 'value')} of the NodeResourceTopology that {_FOLLOW[rest > 1]}"


def value(items: tuple[Any, ...]) -> str:
    """The values of a key as one text."""
    return printable(", ".join(map(_plain, items)))


def _plain(item: Any) -> str:
    if isinstance(item, str):
        return item
    if isinstance(item, list) and all(isinstance(each, str) for each in item):
        return ",".join(item)
    return json.dumps(item)


def values(change: SettingChange, *, verbose: bool = False) -> tuple[str, str]:
    """Both values; of mappings the entries that differ, long texts around their difference."""
    if verbose:
        return value(change.before), value(change.after)
    old, new = map(value, _differing(change.before, change.after))
    is_long = max(len(old), len(new)) > _WIDTH
    start = max(0, _common(old, new) - _BEFORE) if is_long else 0
    return _cut(old, start), _cut(new, start)


def _common(one: str, other: str) -> int:
    """How many letters two texts begin with in common."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _differing(before: tuple[Any, ...], after: tuple[Any, ...]) -> tuple[tuple[Any, ...], ...]:
    """Both values; of two mappings the entries that differ."""
    if [len(before), len(after)] != [1, 1]:
        return before, after
    old, new = before[0], after[0]
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return before, after
    keys = {key for key in (*old, *new) if old.get(key) != new.get(key)}
    left = [{key: side[key] for key in side if key in keys} for side in (old, new)]
    return (left[0],), (left[1],)


def _cut(text: str, start: int, width: int = _WIDTH) -> str:
    end = start + width
    return "..." * bool(start) + text[start:end] + "..." * (len(text) > end)


def cause(each: Cause) -> str:
    """`intents/a.yaml:12: shared takes 3 cores`; a statement that is gone by its name."""
    place = f"{each.place.path}:{each.place.line}" if each.place else each.origin
    return f"{place}: {each.text}" if each.text else place


def causes(of: Iterable[Cause]) -> str:
    """Several in one line."""
    return "; ".join(map(cause, of)) or "no statement of an intent"


def move(each: Move) -> str:
    """`CPUs 4,36: isolated -> shared`."""
    old, new = (joined(names) or "nothing" for names in (each.before, each.after))
    return f"{cpus_text(each.cpus)}: {old} -> {new}"


class StepLine(NamedTuple):
    """Steps that do the same by the same rule, with all their reasons."""

    step: Step
    because: tuple[str, ...]

    def why(self, *, verbose: bool = False) -> str:
        """The reasons; of many the first, and of long ones the beginning."""
        if verbose:
            return joined(self.because)
        return first_of([_cut(each, 0, _LONG) for each in self.because], _MOST)


def steps(change: Change) -> list[StepLine]:
    """The steps of a change in their order."""
    groups: dict[Step, list[str]] = {}
    for step in change.steps:
        groups.setdefault(step._replace(because="", origin=""), []).append(step.because)
    return [
        StepLine(step, tuple(dict.fromkeys(filter(None, because))))
        for step, because in groups.items()
    ]


def unsure(step: Step) -> str:
    """What to know of a rule that is not certain."""
    return "" if step.is_certain else "not known for sure, so the worse counts"


def object_name(change: ObjectChange) -> str:
    """`MachineConfig 50-du`, with the namespace of those that have one."""
    of = change.id
    return f"{of.kind} {of.namespace}/{of.name}" if of.namespace else f"{of.kind} {of.name}"


def capacity(sides: tuple[Capacity, Capacity]) -> list[tuple[str, str, str]]:
    """Rows of what a node gives: what, before, after; those alone that differ."""
    old, new = sides
    if old.unknown or new.unknown:
        return [("exclusive CPUs", _known(old), _known(new))]
    rows = [
        ("exclusive CPUs", str(old.exclusive), str(new.exclusive)),
        ("largest pod (CPUs)", str(old.largest), str(new.largest)),
    ]
    before, after = ({node.number: node for node in side.numa_nodes} for side in sides)
    numbers = sorted(before.keys() | after.keys())
    if bool(before) != bool(after) and old.exclusive and new.exclusive:
        # One of two mechanisms does not tell them apart.
        was, now = ("by NUMA node" if numa else "as a whole" for numa in (before, after))
        rows.append(("exclusive CPUs are known", was, now))
        numbers = []
    for number in numbers if len(numbers) > 1 else ():
        none = NumaNode(number, 0, None)
        rows += _of_node(before.get(number, none), after.get(number, none))
    return [row for row in rows if row[1] != row[2]]


def _of_node(old: NumaNode, new: NumaNode) -> Iterable[tuple[str, str, str]]:
    yield f"exclusive CPUs of NUMA node {new.number}", str(old.cpus), str(new.cpus)
    if (old.largest, new.largest) not in ((old.cpus, new.cpus), (None, None)):
        was, now = ("any" if size is None else str(size) for size in (old.largest, new.largest))
        yield f"largest pod on NUMA node {new.number} (CPUs)", was, now


def _known(side: Capacity) -> str:
    return f"unknown: {side.unknown}" if side.unknown else str(side.exclusive)


def room(each: Room) -> tuple[str, str, str]:
    """How many pods of a workload fit: what, before, after."""
    was, now = ("unknown" if number is None else str(number) for number in each[2:])
    return f"pods of workload {each.workload} ({each.wanted} wanted)", was, now


def came_from(change: Change, of: Comparison) -> str:
    """The clusters that new nodes have left."""
    cluster, names = change.pair.cluster, change.pair.nodes
    olds = (of.moved.get((cluster, name)) for name in names)
    return joined(sorted({old[0] for old in olds if old}))


def went(change: Change, of: Comparison) -> str:
    """Where nodes that are gone are now."""
    cluster, names = change.pair.cluster, change.pair.nodes
    to = sorted({new[0] for new, old in of.moved.items() if old[0] == cluster and old[1] in names})
    return (
        f"Now in cluster {joined(to)}"
        if to
        else "In no class now: nothing is compiled for them any more"
    )

"""Two sides of a project compared: what changes for the nodes of each class, and what it costs."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from typing import NamedTuple

from cpuplan.base.progress import follow
from cpuplan.change.impact import capacity, objects, pairs, pools, rules, settings
from cpuplan.change.impact.capacity import Capacity, Room
from cpuplan.change.impact.earlier import is_object
from cpuplan.change.impact.impact import Impact, Step, worst
from cpuplan.change.impact.nodefiles import FileChange, file_changes
from cpuplan.change.impact.objects import ObjectChange
from cpuplan.change.impact.pools import Move, PoolChange
from cpuplan.change.impact.rules import context
from cpuplan.change.impact.settings import Cause, Causes, SettingChange
from cpuplan.change.impact.sides import Pair, Side
from cpuplan.fleet.before import CLASSES, Key
from cpuplan.pipeline import Project
from cpuplan.plan import ConfiguredPlan, Plan
from cpuplan.plan.expected.state import FOLDER as STATES
from cpuplan.plan.expected.state import Expected

Rules = Callable[[Pair, Side, Side], Iterator[Step]]


class Change(NamedTuple):
    """What changes for the nodes of a pair; all is empty where nothing does."""

    pair: Pair
    steps: tuple[Step, ...] = ()
    moves: tuple[Move, ...] = ()
    pools: tuple[PoolChange, ...] = ()
    #: Of the moves.
    causes: tuple[Cause, ...] = ()
    settings: tuple[SettingChange, ...] = ()
    files: tuple[FileChange, ...] = ()
    #: Before and after; None where it is the same, or nodes come or go.
    capacity: tuple[Capacity, Capacity] | None = None
    rooms: tuple[Room, ...] = ()

    @property
    def impact(self) -> Impact:
        """What the nodes bear."""
        return worst(self.steps)

    @property
    def is_same(self) -> bool:
        """Whether nothing changes, the name of the class included."""
        return self.pair.before == self.pair.after and not any(self[1:])


class Fleet(NamedTuple):
    """Exclusive CPUs of all nodes; `unknown` is the number of nodes of which nobody knows."""

    before: int
    after: int
    unknown: int


class Comparison(NamedTuple):
    """All nodes, the objects of each cluster, and the files that neither nodes nor APIs get."""

    changes: tuple[Change, ...]
    objects: Mapping[str, tuple[ObjectChange, ...]]
    #: Below `out/`.
    others: tuple[FileChange, ...]
    #: Nodes that are in another cluster now, and where they were.
    moved: Mapping[pairs.Node, pairs.Node]
    fleet: Fleet
    #: How many files differ, those included that only have other reasons and digests.
    differing: int = 0

    @property
    def impact(self) -> Impact:
        """The worst of all nodes."""
        return max((change.impact for change in self.changes), default=Impact.NOTHING)

    @property
    def is_empty(self) -> bool:
        """Whether the trees are the same, byte by byte."""
        return not self.differing

    @property
    def is_silent(self) -> bool:
        """Whether nothing changes that nodes, APIs or programs read."""
        is_same = all(change.is_same for change in self.changes)
        return is_same and not (self.objects or self.others)


def compare(
    project: Project, plan: Plan, sides: tuple[Side, Side], judge: Rules | None = None
) -> Comparison:
    """What the plan changes. `judge` tells the steps of a pair, by default those of platforms."""
    differ = _Sides(*sides)
    by_key = {node.node_class.key: node for node in plan.nodes}
    of = _Pairs(differ, project, by_key, judge or _by_platform(project))
    paired = pairs.pairs(*sides)
    told = follow("changes", len(paired), paired, _name)
    return Comparison(
        tuple(map(of.change, told)),
        differ.objects(),
        differ.others(),
        pairs.moved(*sides),
        of.fleet(paired),
        len(differ.files),
    )


def _name(pair: Pair) -> str:
    return "/".join(pair.after or pair.before or (pair.cluster,))


def _by_platform(project: Project) -> Rules:
    """The rules of platforms, with what clusters have beside what was compiled."""
    return partial(rules.steps, context=context.of(project.classes))


class _Sides:
    """Both sides, and in which files they differ."""

    def __init__(self, before: Side, after: Side) -> None:
        self.before, self.after = before, after
        self.files = file_changes(before.files, after.files)
        self._states: dict[bytes, Expected | None] = {}

    @cached_property
    def clusters(self) -> frozenset[str]:
        """The clusters that have differing files."""
        return frozenset(filter(None, (_cluster_of(each.path) for each in self.files)))

    def objects(self) -> dict[str, tuple[ObjectChange, ...]]:
        """The objects that differ, by cluster. Only files that differ are read."""
        paths = [each.path for each in self.files]
        before, after = (
            Side({path: side.files[path] for path in paths if path in side.files})
            for side in (self.before, self.after)
        )
        found = {
            cluster: objects.changes(before.objects(cluster), after.objects(cluster))
            for cluster in sorted(self.clusters)
        }
        return {cluster: changes for cluster, changes in found.items() if changes}

    def others(self) -> tuple[FileChange, ...]:
        """Files for Argo CD, Flux and checkers, and what cpuplan itself remembers."""
        return tuple(each for each in self.files if not _is_told(each.path))

    def state(self, side: Side, key: Key | None) -> Expected | None:
        """The expected state of a class; equal files are read once."""
        if key is None:
            return None
        data = side.files.get(f"clusters/{key[0]}/{STATES}/{key[1]}.json", b"")
        if data not in self._states:
            self._states[data] = side.state(key)
        return self._states[data]


def _cluster_of(path: str) -> str:
    for start in (f"{CLASSES}/", "clusters/", "nodes/"):
        if path.startswith(start):
            return path.removeprefix(start).partition("/")[0]
    return ""


def _is_told(path: str) -> bool:
    """Whether the change of a file shows among objects, files of nodes, settings and pools."""
    is_plan = path.startswith(f"{CLASSES}/") or f"/{STATES}/" in path
    return is_plan or path.startswith("nodes/") or is_object(path)


class _Pairs:
    """Makes the changes of pairs; what classes have in common is made once."""

    def __init__(
        self,
        sides: _Sides,
        project: Project,
        plans: Mapping[Key, ConfiguredPlan],
        judge: Rules,
    ) -> None:
        self.sides, self.project, self.plans, self.judge = sides, project, plans, judge

    def change(self, pair: Pair) -> Change:
        """What changes for the nodes of a pair."""
        if pair.before == pair.after and pair.cluster not in self.sides.clusters:
            return Change(pair)
        before, after = self.sides.before, self.sides.after
        old = before.classes[pair.before] if pair.before else None
        new = after.classes[pair.after] if pair.after else None
        layouts = pools.layout(old), pools.layout(new)
        change = Change(pair, tuple(self.judge(pair, before, after)), pools=pools.changes(*layouts))
        if old is None or new is None:
            return change
        causes = Causes(old, new, self.project.locate)
        moves = pools.moves(*layouts)
        return self._with_capacity(
            change._replace(
                moves=moves,
                causes=causes.of_layout if moves else (),
                settings=settings.changes(old, new, causes),
                files=self._files(pair),
            )
        )

    def _files(self, pair: Pair) -> tuple[FileChange, ...]:
        before, after = self.sides.before, self.sides.after
        old = before.node_files(pair.before) if pair.before else {}
        new = after.node_files(pair.after) if pair.after else {}
        return file_changes(old, new)

    def _with_capacity(self, change: Change) -> Change:
        pair = change.pair
        old, new = self._states(pair)
        if _is_same_node(old, new):
            return change
        sides = capacity.capacity(old), capacity.capacity(new)
        plan = self.plans.get(pair.after) if pair.after else None
        rooms = tuple(capacity.rooms(plan, old, new)) if plan else ()
        return change._replace(capacity=sides if sides[0] != sides[1] else None, rooms=rooms)

    def _states(self, pair: Pair) -> tuple[Expected | None, Expected | None]:
        sides = self.sides
        return sides.state(sides.before, pair.before), sides.state(sides.after, pair.after)

    def fleet(self, paired: tuple[Pair, ...]) -> Fleet:
        """Exclusive CPUs of all nodes of both sides."""
        before = after = unknown = 0
        for pair in paired:
            states, number = self._states(pair), len(pair.nodes)
            old = _exclusive(states[0], pair.before)
            new = _exclusive(states[1], pair.after)
            if old is None or new is None:
                unknown += number
            else:
                before, after = before + old * number, after + new * number
        return Fleet(before, after, unknown)


def _exclusive(state: Expected | None, key: Key | None) -> int | None:
    """The exclusive CPUs of a node; of one that is not there, none."""
    if key is None:
        return 0
    return None if state is None else capacity.exclusive(state)


def _is_same_node(before: Expected | None, after: Expected | None) -> bool:
    """Whether a kubelet finds the same on both sides."""
    if before is None or after is None:
        return before is after
    return before is after or before.digest == after.digest

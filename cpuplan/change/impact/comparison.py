"""Two snapshots compared: what changes for the nodes of each class, its cost, and room for pods."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, lru_cache, partial
from typing import NamedTuple

from cpuplan.base.progress import follow
from cpuplan.change.impact import changes, rules, snapshot
from cpuplan.change.impact import changes as objects
from cpuplan.change.impact.changes import (
    Cause,
    Causes,
    FileChange,
    Move,
    ObjectChange,
    PoolChange,
    SettingChange,
    file_changes,
)
from cpuplan.change.impact.rules import inputs
from cpuplan.change.impact.snapshot import Pair, Snapshot, is_object
from cpuplan.facts.settings.costs import Impact, Step, worst
from cpuplan.fleet.previous import CLASSES, Key
from cpuplan.pipeline import Project
from cpuplan.plan import ConfiguredPlan, NodePlan, Plan
from cpuplan.plan.expected.state import FOLDER as STATES
from cpuplan.plan.expected.state import Expected
from cpuplan.simulate import workloads
from cpuplan.simulate.allocators.base import Allocator
from cpuplan.simulate.allocators.kubelet import KubeletAllocator
from cpuplan.simulate.allocators.registry import start_planned
from cpuplan.simulate.planned import given_out_by, planned_of_expected
from cpuplan.upstream.kubernetes.errors import HangError, KubeletError, PanicError
from cpuplan.upstream.kubernetes.pod import Pod

#: More pods of one workload are not tried.
_MOST_PODS = 200


class NumaNode(NamedTuple):
    """Exclusive CPUs of a NUMA node, and the largest pod with all of its CPUs there.

    None where the kubelet aligns nothing, so that no pod is sure to have them there.
    """

    number: int
    cpus: int
    largest: int | None


class Capacity(NamedTuple):
    """What an empty node gives: exclusive CPUs, and the largest request of one container.

    `unknown` says why there is no answer; nothing else counts then.
    """

    exclusive: int = 0
    largest: int = 0
    numa_nodes: tuple[NumaNode, ...] = ()
    unknown: str = ""


class Room(NamedTuple):
    """How many pods of a workload an empty node admits; None on a side without an answer."""

    workload: str
    wanted: int
    before: int | None
    after: int | None


@lru_cache(maxsize=1 << 12)
def exclusive(expected: Expected) -> int | None:
    """How many CPUs a node of the class can give exclusively; None where nobody knows."""
    allocator = _start(expected)
    if isinstance(allocator, str):
        return None
    if not isinstance(allocator, KubeletAllocator):
        left = allocator.remainder().left
        return left.cpus.bit_count() if left else 0
    policy = allocator.kubelet.cpus.policy
    return policy.allocatable.bit_count() if policy else 0


@lru_cache(maxsize=1 << 12)
def capacity(expected: Expected | None) -> Capacity:
    """The capacity of a node of a class; None stands for a class that an earlier release wrote."""
    allocator = _start(expected)
    if isinstance(allocator, str):
        return Capacity(unknown=allocator)
    left = allocator.remainder().left
    if left is None:
        return Capacity()
    nodes = (
        NumaNode(number, cpus.bit_count(), largest)
        for number, (cpus, largest) in sorted(left.by_numa_node.items())
    )
    return Capacity(left.cpus.bit_count(), left.largest, tuple(nodes))


def rooms_for_pods(
    plan: NodePlan, before: Expected | None, after: Expected | None
) -> Iterator[Room]:
    """How many pods of each workload of an intent fit on a node alone, where that changes."""
    pods = _first_pods(plan)
    old, new = (_start(side) for side in (before, after))
    for workload in plan.spec.workloads:
        pod = pods.get(f"{workload.name}-1")
        if pod:
            was, now = (_number(side, pod) for side in (old, new))
            if was != now:
                yield Room(workload.name, workload.pods, was, now)


def _first_pods(plan: NodePlan) -> Mapping[str, Pod]:
    return {pod.name: pod for pod in workloads.pods_of(plan)}


def _number(allocator: Allocator | str, pod: Pod) -> int | None:
    """How many pods of a kind are admitted, one after the other."""
    if isinstance(allocator, str):
        return None
    moment = allocator.take()
    number = 0
    while number < _MOST_PODS:
        again = pod._replace(uid=f"{pod.uid}-{number}", name=f"{pod.name}-{number}")
        if allocator.admit(again).refused:
            break
        number += 1
    allocator.restore(moment)
    return number


def _start(expected: Expected | None) -> Allocator | str:
    """What gives out the CPUs of an empty node, or why nobody knows what it does."""
    if expected is None:
        return "an earlier release of cpuplan compiled it"
    if other := given_out_by(expected):
        return f"{other} gives out the CPUs"
    try:
        return start_planned(planned_of_expected(expected))
    except (KubeletError, HangError, PanicError) as error:
        return f"the kubelet does not start: {error}"


Rules = Callable[[Pair, Snapshot, Snapshot], Iterator[Step]]


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
    moved: Mapping[snapshot.Node, snapshot.Node]
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
    project: Project, plan: Plan, sides: tuple[Snapshot, Snapshot], judge: Rules | None = None
) -> Comparison:
    """What the plan changes. `judge` tells the steps of a pair, by default those of platforms."""
    differ = _Sides(*sides)
    by_key = {node.node_class.key: node for node in plan.nodes}
    of = _Pairs(differ, project, by_key, judge or _by_platform(project))
    paired = snapshot.pairs(*sides)
    told = follow("changes", len(paired), paired, _name)
    return Comparison(
        tuple(map(of.change, told)),
        differ.objects(),
        differ.others(),
        snapshot.moved(*sides),
        of.fleet(paired),
        len(differ.files),
    )


def _name(pair: Pair) -> str:
    return "/".join(pair.after or pair.before or (pair.cluster,))


def _by_platform(project: Project) -> Rules:
    """The rules of platforms, with what clusters have beside what was compiled."""
    return partial(rules.steps, context=inputs.context_of(project.classes))


class _Sides:
    """Both sides, and in which files they differ."""

    def __init__(self, before: Snapshot, after: Snapshot) -> None:
        self.before, self.after = before, after
        self.files = file_changes(before.files, after.files)
        self._states: dict[bytes, Expected | None] = {}

    @cached_property
    def clusters(self) -> frozenset[str]:
        """The clusters that have differing files."""
        return frozenset(filter(None, (_cluster_of(change.path) for change in self.files)))

    def objects(self) -> dict[str, tuple[ObjectChange, ...]]:
        """The objects that differ, by cluster. Only files that differ are read."""
        paths = [change.path for change in self.files]
        before, after = self.before.part(paths), self.after.part(paths)
        changes_of = {
            cluster: objects.object_changes(before.objects(cluster), after.objects(cluster))
            for cluster in sorted(self.clusters)
        }
        return {cluster: changes for cluster, changes in changes_of.items() if changes}

    def others(self) -> tuple[FileChange, ...]:
        """Files for Argo CD, Flux and checkers, and what cpuplan itself remembers."""
        return tuple(change for change in self.files if not _is_told(change.path))

    def state(self, side: Snapshot, key: Key | None) -> Expected | None:
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
        layouts = changes.layout(old), changes.layout(new)
        change = Change(
            pair, tuple(self.judge(pair, before, after)), pools=changes.pool_changes(*layouts)
        )
        if old is None or new is None:
            return change
        causes = Causes(old, new, self.project.locate)
        moves = changes.moves(*layouts)
        return self._with_capacity(
            change._replace(
                moves=moves,
                causes=causes.of_layout if moves else (),
                settings=changes.setting_changes(old, new, causes),
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
        sides = capacity(old), capacity(new)
        plan = self.plans.get(pair.after) if pair.after else None
        rooms = tuple(rooms_for_pods(plan, old, new)) if plan else ()
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
    return None if state is None else exclusive(state)


def _is_same_node(before: Expected | None, after: Expected | None) -> bool:
    """Whether a kubelet finds the same on both sides."""
    if before is None or after is None:
        return before is after
    return before is after or before.digest == after.digest

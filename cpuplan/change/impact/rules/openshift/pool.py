"""What the nodes of a MachineConfigPool do: rendered before, rendered after, and compared."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from cpuplan.change.impact.impact import Impact, Step, worst
from cpuplan.change.impact.rules.context import Cluster
from cpuplan.change.impact.rules.differences import Changed, Half, listed
from cpuplan.change.impact.rules.openshift import actions, causes, objects
from cpuplan.change.impact.rules.openshift.objects import Objects
from cpuplan.change.impact.rules.table import RULES
from cpuplan.components.openshift import pool as pools
from cpuplan.components.openshift.machineconfig import WORKER
from cpuplan.plan.expected.state import Expected
from cpuplan.platforms import versions
from cpuplan.upstream.mco.apihelpers import policies
from cpuplan.upstream.mco.common import NEWEST, McoError, Release, RenderError, flag, mapping
from cpuplan.upstream.mco.helpers import Object, name_of
from cpuplan.upstream.mco.update import Change, Node, change

#: How many nodes change at a time.
_LIMIT = "maxUnavailable"


class Pools(NamedTuple):
    """Both sides of a cluster, and the pool that nodes are in on each."""

    before: Objects
    after: Objects
    old: str
    new: str
    node: Node
    changes: tuple[Changed, ...]
    state: Expected | None
    #: The nodes are in a class on both sides.
    is_planned: bool

    def changed(
        self, old: Sequence[Object], new: Sequence[Object], pool_after: Object | None = None
    ) -> tuple[Change, list[Step]]:
        """What it costs that these objects follow those, and the steps."""
        result = change(self.before.pools[self.old], old, new, pool_after, self.node)
        fields = causes.fields(
            self.before.kubelet_configs.get(self.old), self.after.kubelet_configs.get(self.new)
        )
        built = policies(self.node.configuration, self.node.release)
        why = list(causes.reasons(result, built, fields, self.changes, self.state))
        origin = ""
        if result.impact:
            origin = causes.origin_of_files(result.impact, self.changes, self.state)
        return result, list(actions.steps(result, why, origin))


def steps(
    before: Half, after: Half, changes: tuple[Changed, ...], cluster: str, context: Cluster
) -> Iterator[Step]:
    """What the machine config operator does to the nodes of a pair."""
    state = after.state
    release = _release(state or before.state)
    old = objects.of(before.side, cluster, release, context)
    new = objects.of(after.side, cluster, release, context)
    names = _pools(before, after, old, new)
    node = Node(release, context.configuration)
    is_planned = bool(before.key and after.key)
    both = Pools(old, new, *names, node, changes, state, is_planned)
    for problem in new.problems:
        yield RULES["mco-not-rendered"].step("KubeletConfig", problem=problem)
    yield from _cgroup_mode(before, after, cluster)
    try:
        yield from _of_pools(both)
    except (RenderError, McoError) as error:
        yield RULES["mco-not-rendered"].step(f"pool {both.new}", problem=str(error))


def _release(state: Expected | None) -> Release:
    return versions.from_text(state.release.version) if state else NEWEST


def _pools(before: Half, after: Half, old: Objects, new: Objects) -> tuple[str, str]:
    """The pool before and after: nodes of no class stay in theirs if it is there, or are workers.

    Nobody becomes a node of the control plane, so that those were in their pool before.
    """
    first, last = _pool(before, old), _pool(after, new)
    if after.key is None:
        return first, first if first in new.pools else WORKER
    if before.key is None and last in pools.BUILT_IN:
        return last, last
    return first, last


def _pool(half: Half, known: Objects) -> str:
    """The pool of the nodes; those of no class are workers."""
    name = str(half.plan.get("pool") or WORKER)
    return name if name in known.pools else WORKER


def _of_pools(both: Pools) -> Iterator[Step]:
    pool = both.after.pools[both.new]
    if both.old != both.new:
        made = list(_moved(both, pool))
    else:
        made = [*_in_place(both, pool), *_pool_object(both, pool)]
    is_paused = flag(mapping(pool, "spec"), "paused")
    if is_paused and worst(made) > Impact.NOTHING:
        because = listed(step.because for step in made)
        yield RULES["mco-pool-paused"].step(because, pool=both.new)
        return
    before = both.before.pools.get(both.new)
    if before and not is_paused and flag(mapping(before, "spec"), "paused"):
        yield RULES["mco-pool-resumed"].step("MachineConfigPool: paused", pool=both.new)
    yield from made


def _moved(both: Pools, pool: Object) -> Iterator[Step]:
    """Another pool. Until a node has its label it is in the old one, which may lose objects."""
    old, new = both.before.machine_configs, both.after.machine_configs
    if both.is_planned:
        gone = {name_of(each) for each in old} - {name_of(each) for each in new}
        kept = (*new, *(each for each in old if name_of(each) in gone))
        _, meanwhile = both.changed(old, kept)
        for step in meanwhile:
            if step.impact is Impact.REBOOT:
                yield RULES["mco-pool-left"].step(step.because, step.origin, pool=both.old)
    _, made = both.changed(old, new, pool)
    rule = RULES["mco-pool-move"]
    names = {"before": both.old, "after": both.new}
    if not made:
        yield rule.step_of(Impact.LIVE, "MachineConfigPool", does="no reboot", **names)
    for step in made:
        yield step._replace(does=rule.does.format(does=step.does, **names), rule=rule.id)


def _in_place(both: Pools, pool: Object) -> Iterator[Step]:
    """One change; where objects are removed two, since they stay until that is confirmed."""
    old, new = both.before.machine_configs, both.after.machine_configs
    selector = None if _same_selector(both, pool) else pool
    result, made = both.changed(old, new, selector)
    gone = _removed(result)
    if not gone:
        yield from made
        return
    kept = [each for each in old if name_of(each) in gone]
    first, with_both = both.changed(old, (*new, *kept), selector)
    come = _removed(first._replace(before=first.after, after=first.before))
    for step in with_both:
        is_rename = come and step.impact >= Impact.REBOOT
        yield _renamed(step, come, gone) if is_rename else step
    _, later = both.changed((*new, *kept), new, selector)
    for step in later:
        yield RULES["mco-pruned"].step_of(step.impact, step.because, name=listed(gone))


def _renamed(step: Step, come: Sequence[str], gone: Sequence[str]) -> Step:
    because = f"MachineConfig {listed(come)} beside {listed(gone)}: {step.because}"
    return RULES["mco-renamed"].step(because, step.origin)


def _removed(result: Change) -> tuple[str, ...]:
    """Objects that the pool was rendered from, and is no more."""
    if result.before is None or result.after is None:
        return ()
    return tuple(name for name in result.before.order if name not in result.after.order)


def _same_selector(both: Pools, pool: Object) -> bool:
    before = both.before.pools.get(both.new)
    return before is not None and _selector(before) == _selector(pool)


def _selector(pool: Object) -> Mapping[str, object]:
    return mapping(mapping(pool, "spec"), "machineConfigSelector")


def _pool_object(both: Pools, pool: Object) -> Iterator[Step]:
    """Fields of the pool that concern its nodes together."""
    before = both.before.pools.get(both.new)
    if before is None or both.new in pools.BUILT_IN:
        return
    if _field(before, "nodeSelector") != _field(pool, "nodeSelector"):
        yield RULES["mco-node-selector"].step(f"MachineConfigPool {both.new}: nodeSelector")
    if _field(before, _LIMIT) != _field(pool, _LIMIT):
        yield RULES["mco-pool-object"].step(f"MachineConfigPool {both.new}: {_LIMIT}")


def _field(pool: Object, key: str) -> object:
    return mapping(pool, "spec").get(key)


def _cgroup_mode(before: Half, after: Half, cluster: str) -> Iterator[Step]:
    """The Node object of the cluster, which the node tuning operator changes before 4.16."""
    old = objects.made(before.side, cluster, "Node")
    new = objects.made(after.side, cluster, "Node")
    if old != new:
        yield RULES["mco-cgroup-mode"].step("Node cluster (config.openshift.io): cgroupMode")

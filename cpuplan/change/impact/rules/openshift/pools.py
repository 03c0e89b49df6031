"""What the nodes of a MachineConfigPool do: rendered before, rendered after, and compared."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from cpuplan.change.impact.rule_table import RULES, SECOND_REBOOT
from cpuplan.change.impact.rules import nodes
from cpuplan.change.impact.rules.inputs import (
    Cluster,
    Half,
    listed,
    objects,
    origin_of,
    told,
    unequal,
)
from cpuplan.change.impact.rules.openshift import causes
from cpuplan.change.impact.rules.openshift.causes import Cause
from cpuplan.change.impact.setting_rules import Changed
from cpuplan.change.impact.snapshot import Snapshot
from cpuplan.components import nrt, runtimeclass
from cpuplan.components.openshift import performanceprofile, pool, tuned
from cpuplan.components.openshift import pool as pools
from cpuplan.components.openshift.machineconfig import ROLE, WORKER
from cpuplan.facts import versions
from cpuplan.facts.settings.costs import Impact, Step, worst
from cpuplan.facts.settings.openshift import POOL_SELECTOR
from cpuplan.plan.expected.state import Expected
from cpuplan.upstream.mco.apihelpers import (
    DRAIN,
    NONE,
    REBOOT,
    RESTART_CRIO,
    SPECIAL,
    Action,
    policies,
)
from cpuplan.upstream.mco.common import NEWEST, McoError, Release, RenderError, flag, mapping
from cpuplan.upstream.mco.helpers import Object, name_of
from cpuplan.upstream.mco.kubelet_config_controller import KubeletConfigs
from cpuplan.upstream.mco.update import Change, Node, Update, change

#: Actions that are not Restart, by what they do.
_DOES = {
    NONE: (Impact.LIVE, "nothing restarts: the files are written"),
    DRAIN: (Impact.DRAIN, "drain"),
    SPECIAL: (Impact.LIVE, "reload of crio.service"),
    RESTART_CRIO: (Impact.RESTART, "restart of crio.service"),
}


def action_steps(change: Change, causes: Sequence[Cause], origin: str = "") -> Iterator[Step]:
    """The steps of one change of a pool; none where its nodes get the same.

    `origin` is the statement behind its files and units.
    """
    impact = change.impact
    problem = change.refusal or (impact.refusal if impact else None)
    if problem:
        yield RULES["mco-irreconcilable"].step(_changed(change), problem=str(problem))
    elif impact and impact.update and impact.sections:
        yield from _of_update(change, impact.update, causes, origin)


def _of_update(
    change: Change, update: Update, causes: Sequence[Cause], origin: str
) -> Iterator[Step]:
    if update.error:
        yield RULES["mco-node-stops"].step(_changed(change), problem=str(update.error))
    if REBOOT in update.actions:
        first = next(iter(causes), None)
        rule = first.rule if first else RULES["mco-file"]
        because = "; ".join(cause.because for cause in causes) or _changed(change)
        first_origin = next((cause.origin for cause in causes if cause.origin), "")
        certain = any(cause.rule.is_certain for cause in causes) or rule.is_certain
        yield rule.step(because, first_origin)._replace(is_certain=certain)
        return
    actions = update.actions
    if update.drain and DRAIN not in actions:
        actions = (DRAIN, *actions)
    for action in dict.fromkeys(actions):
        worth, does = _does(action)
        yield RULES["mco-policy"].step_of(worth, _changed(change), origin, does=does)


def _does(action: Action) -> tuple[Impact, str]:
    if action in _DOES:
        return _DOES[action]
    if action.type == "DaemonReload":
        return Impact.LIVE, "systemctl daemon-reload"
    if action.type == "Restart":
        return Impact.RESTART, f"restart of {action.service}"
    return Impact.LIVE, f"reload of {action.service or 'crio.service'}"


def _changed(change: Change) -> str:
    """What differs, in words."""
    impact = change.impact
    if impact is None:
        return "the rendered MachineConfig"
    return listed((*impact.files, *impact.units)) or listed(impact.sections) or "Ignition config"


#: The fields of kubelet.conf that the operator writes itself are the same on both sides, and left
#: out of both.
_DEFAULTS: Mapping[str, dict[str, Any]] = {"worker": {}, "master": {}}


class Objects(NamedTuple):
    """What the pools of a cluster are rendered from, and what stops that."""

    machine_configs: tuple[Object, ...]
    pools: Mapping[str, Object]
    #: By the names of pools: the specs of KubeletConfigs.
    kubelet_configs: Mapping[str, Mapping[str, Any]]
    #: KubeletConfigs that the operator refuses.
    problems: tuple[str, ...] = ()


def of(side: Snapshot, cluster: str, release: Release, context: Cluster) -> Objects:
    """The objects of one side, with those of others."""
    known = _compiled(side, cluster, release)
    names = {name_of(config) for config in known.machine_configs}
    others = [config for config in context.machine_configs if name_of(config) not in names]
    return known._replace(machine_configs=(*known.machine_configs, *others))


@lru_cache(maxsize=8)
def _compiled(side: Snapshot, cluster: str, release: Release) -> Objects:
    """Those that are compiled, and what operators make of them: once for all pools."""
    compiled = [manifest.data for manifest in objects(side, cluster).values()]
    compiled += _made(side, cluster)
    by_name = {**_built_in(side, cluster), **_custom(compiled)}
    controller = KubeletConfigs(list(by_name.values()), _DEFAULTS, release)
    problems = tuple(_create(controller, _of_kind(compiled, "KubeletConfig")))
    controller.restart()
    generated = [config.as_object() for config in controller.machine_configs.values()]
    base = map(_of_operator, pools.BUILT_IN)
    every = (*base, *generated, *_of_kind(compiled, "MachineConfig"))
    return Objects(every, by_name, _specs(controller), problems)


def _specs(controller: KubeletConfigs) -> dict[str, Mapping[str, Any]]:
    """The KubeletConfig of each pool; the one with the highest number counts."""
    return {
        name_of(pool): source.spec
        for pool in controller.pools
        for source in controller.sources.values()
        if source.selects(pool)
    }


def _create(controller: KubeletConfigs, objects: Sequence[Object]) -> Iterator[str]:
    for item in objects:
        try:
            controller.create(item)
        except McoError as error:
            yield f"KubeletConfig {name_of(item)}: {error}"


def made(side: Snapshot, cluster: str, kind: str) -> list[Object]:
    """The objects of a kind that the node tuning operator makes."""
    return _of_kind(_made(side, cluster), kind)


@lru_cache(maxsize=8)
def _made(side: Snapshot, cluster: str) -> tuple[Object, ...]:
    return side.made(cluster)


def _of_kind(objects: Sequence[Object], kind: str) -> list[Object]:
    return [item for item in objects if item["kind"] == kind]


def _custom(compiled: Sequence[Object]) -> dict[str, Object]:
    return {name_of(pool): pool for pool in _of_kind(compiled, "MachineConfigPool")}


def _built_in(side: Snapshot, cluster: str) -> dict[str, Object]:
    """The pools that every cluster has, with the labels that the classes in them know."""
    labels = {name: dict(pools.built_in_labels(name)) for name in pools.BUILT_IN}
    for (of_cluster, _), plan in side.classes.items():
        if of_cluster == cluster and plan.get("pool") in labels:
            labels[plan["pool"]] |= _pool_labels(plan)
    return {name: _plain_pool(name, labels[name]) for name in pools.BUILT_IN}


def _pool_labels(plan: Mapping[str, Any]) -> dict[str, str]:
    """The labels of the pool of a class; of a class that somebody edited, those that are some."""
    for entry in plan["settings"]:
        if (entry["component"], entry["key"]) == (pools.NAME, pools.LABELS):
            known = entry["value"] if isinstance(entry["value"], dict) else {}
            return {key: value for key, value in known.items() if isinstance(value, str)}
    return {}


def _plain_pool(name: str, labels: Mapping[str, str]) -> Object:
    return {
        "kind": "MachineConfigPool",
        "metadata": {"name": name, "labels": labels},
        "spec": {POOL_SELECTOR.key: {"matchLabels": {ROLE: name}}},
    }


def _of_operator(role: str) -> Object:
    """One of the operator's own objects, without which a pool without others selects nothing."""
    return {
        "kind": "MachineConfig",
        "metadata": {"name": f"00-{role}", "labels": {ROLE: role}},
        "spec": {"config": {"ignition": {"version": "3.2.0"}}},
    }


#: How many nodes change at a time.
_LIMIT = "maxUnavailable"
_ARGUMENTS = RULES["mco-kernel-arguments"]


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
    #: Kernel arguments come from another controller than files, and later.
    is_in_two_parts: bool

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
        made = list(action_steps(result, why, origin))
        if made and self.is_in_two_parts and _is_of_both(why):
            others = "; ".join(cause.because for cause in why if cause.rule is not _ARGUMENTS)
            made.append(RULES[SECOND_REBOOT].step(others, pool=self.new))
        return result, made


def _is_of_both(why: Sequence[Cause]) -> bool:
    """Whether kernel arguments and something else each reboot the nodes."""
    rules = {cause.rule for cause in why}
    return _ARGUMENTS in rules and len(rules) > 1


def pool_steps(
    before: Half, after: Half, changes: tuple[Changed, ...], cluster: str, context: Cluster
) -> Iterator[Step]:
    """What the machine config operator does to the nodes of a pair."""
    state = after.state
    release = _release(state or before.state)
    old = of(before.side, cluster, release, context)
    new = of(after.side, cluster, release, context)
    names = _pools(before, after, old, new)
    node = Node(release, context.configuration)
    is_planned = bool(before.key and after.key)
    both = Pools(old, new, *names, node, changes, state, is_planned, _is_in_two_parts(after))
    for problem in new.problems:
        yield RULES["mco-not-rendered"].step("KubeletConfig", problem=problem)
    yield from _cgroup_mode(before, after, cluster)
    try:
        yield from _of_pools(both)
    except (RenderError, McoError) as error:
        yield RULES["mco-not-rendered"].step(f"pool {both.new}", problem=str(error))


def _is_in_two_parts(half: Half) -> bool:
    """Whether the node tuning operator writes two MachineConfigs of a profile at two moments."""
    if half.state is None or not _has_profile(half):
        return False
    return not versions.operator_has(half.state.release.version, "profile.one_reboot")


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
        gone = {name_of(config) for config in old} - {name_of(config) for config in new}
        kept = (*new, *(config for config in old if name_of(config) in gone))
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
        if step.rule == SECOND_REBOOT:
            yield step
            continue
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
    kept = [config for config in old if name_of(config) in gone]
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
    return mapping(mapping(pool, "spec"), POOL_SELECTOR.key)


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
    old = made(before.side, cluster, "Node")
    new = made(after.side, cluster, "Node")
    if old != new:
        yield RULES["mco-cgroup-mode"].step("Node cluster (config.openshift.io): cgroupMode")


#: Components whose settings no MachineConfig and no KubeletConfig has.
_APART = frozenset({runtimeclass.NAME, tuned.NAME, nrt.NAME, pool.NAME, performanceprofile.NAME})


def steps(
    before: Half, after: Half, changes: tuple[Changed, ...], cluster: str, context: Cluster
) -> Iterator[Step]:
    """What operators do to the nodes of a pair."""
    of_tuned = [change for change in changes if change.component == tuned.NAME]
    if _is_hosted(after if after.key else before):
        yield from _hosted(before, after, changes, of_tuned)
        return
    yield from nodes.of_settings(
        change for change in changes if change.component == runtimeclass.NAME
    )
    if of_tuned:
        yield RULES["nto-tuned"].step(told(of_tuned), origin_of(of_tuned))
    made = list(pool_steps(before, after, changes, cluster, context))
    yield from made
    yield from _of_profile(before, after, changes, [*made, *of_tuned])


def _is_hosted(half: Half) -> bool:
    """Whether nodes are in a NodePool: only pools of the machine config operator have labels."""
    return half.value(pool.NAME, pool.LABELS) is None


def _hosted(
    before: Half, after: Half, changes: tuple[Changed, ...], of_tuned: Sequence[Changed]
) -> Iterator[Step]:
    if of_tuned:
        yield RULES["hosted-tuned"].step(told(of_tuned), origin_of(of_tuned))
    rolled = [change for change in changes if change.component not in _APART]
    files = _files(before, after)
    if rolled or files:
        because = told(rolled) or ", ".join(files)
        yield RULES["hosted-node-pool"].step(because, origin_of(rolled))


def _files(before: Half, after: Half) -> tuple[str, ...]:
    old, new = before.state, after.state
    return unequal(old.files if old else {}, new.files if new else {})


def _of_profile(
    before: Half, after: Half, changes: tuple[Changed, ...], made: Sequence[object]
) -> Iterator[Step]:
    """What a PerformanceProfile costs beyond the objects that are made from it."""
    own = [change for change in changes if change.component == performanceprofile.NAME]
    if _has_profile(after) and _is_renamed(before, after):
        yield RULES["nto-renamed"].step(f"Intent {before.plan['intent']}")
    elif own and not made:
        yield RULES["nto-same"].step(told(own), origin_of(own))


def _has_profile(half: Half) -> bool:
    """Whether the nodes get a PerformanceProfile, of which the operator makes objects."""
    settings = half.plan.get("settings", ())
    return any(entry["component"] == performanceprofile.NAME for entry in settings)


def _is_renamed(before: Half, after: Half) -> bool:
    """Whether the nodes have a profile of another name in the same pool."""
    if not (before.key and after.key) or before.plan.get("pool") != after.plan.get("pool"):
        return False
    return bool(before.plan["intent"] != after.plan["intent"])

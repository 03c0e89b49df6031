"""What the `rollout` of an intent becomes for each platform, and what a Delivery adds to it."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from cpuplan.base import naming
from cpuplan.diagnostics import Diagnostic, Label, diagnose
from cpuplan.diagnostics.source import Locate, Position
from cpuplan.fleet.targets import application
from cpuplan.language.model.base import has_key
from cpuplan.language.model.operations import DeliverySpec
from cpuplan.language.model.rollout import Wave
from cpuplan.plan import ConfiguredPlan, NodeClass, NodePlan

#: Why the waves of nodes, or their number at a time, cannot be had; by what rolls out.
_POOL_WAVES = (
    "the machine config operator chooses the nodes of a pool itself",
    "write an intent with a pool of its own for the nodes of the wave, or name clusters only",
)
_BUDGET_WAVES = (
    "NodeWright chooses the nodes of an object itself; its compartments have no order",
    "write an intent of its own for the nodes of the wave, or use the delivery ansible",
)
_HOSTED = (
    "the NodePool of a hosted cluster is not compiled",
    "set it in the NodePool: spec.management.replace or inPlace, and spec.pausedUntil",
)
_NO_POOLS = (
    "{title} has no MachineConfigPools",
    "remove it; `paused: true` of the intent keeps its files in out/ as they are",
)
#: Deliveries that read how many nodes may change at a time.
_WITH_BUDGET = frozenset({"ansible", "nodeWright"})


def wave_of_cluster(node_class: NodeClass) -> Wave | None:
    """The first wave that takes the class's whole cluster."""
    for wave in node_class.spec.rollout.waves:
        if wave.is_of_clusters and (not wave.clusters or node_class.cluster in wave.clusters):
            return wave
    return None


def waves_of_clusters(plans: Iterable[NodePlan]) -> list[str]:
    """The names of all waves that take clusters, in their order, of all intents."""
    by_intent = {plan.node_class.intent: plan for plan in plans}
    names: dict[str, None] = {}
    for plan in by_intent.values():
        names |= dict.fromkeys(_names(plan))
    return list(names)


def _names(plan: NodePlan) -> list[str]:
    return [wave.name for wave in plan.spec.rollout.waves if wave.is_of_clusters]


def unavailable(node_class: NodeClass) -> int | str | None:
    """How many nodes of a class may change at a time; None where the intent does not say."""
    wave = wave_of_cluster(node_class)
    own = wave.max_unavailable if wave else None
    return own if own is not None else node_class.spec.rollout.max_unavailable


def of_pool(plan: NodePlan) -> dict[str, Any]:
    """Fields of the MachineConfigPool: those that the intent says, and no defaults.

    A pool that is paused no more has `paused: false` where the intent has it.
    """
    made: dict[str, Any] = {}
    rollout = plan.spec.rollout
    if (most := unavailable(plan.node_class)) is not None:
        made["maxUnavailable"] = most
    if has_key(rollout, "pausePools"):
        made["paused"] = rollout.pause_pools
    return made


def check(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP661 for what the platform cannot do, CP662 for what nothing does, and CP678."""
    if not plan.spec.rollout.model_fields_set:
        return
    target, platform = plan.node_class.target, plan.node_class.platform
    if platform.has_pools and not target.is_hosted:
        yield from _node_waves(plan, locate, *_POOL_WAVES)
        yield from _waits(plan, locate)
        return
    if platform.has_pools:
        yield from _without_pool(plan, locate)
        return
    problem, remedy = _NO_POOLS
    yield from _pause(plan, locate, problem.format(title=platform.title), remedy)
    yield from _of_deliveries(plan, locate)


def _of_deliveries(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    delivery = plan.node_class.target.delivery
    if "nodeWright" in delivery:
        yield from _node_waves(plan, locate, *_BUDGET_WAVES)
    elif "ansible" not in delivery:
        for field in _waves(plan):
            yield _nothing(plan, field, locate)
    if unavailable(plan.node_class) is not None and _WITH_BUDGET.isdisjoint(delivery):
        yield _nothing(plan, "maxUnavailable", locate)


def _without_pool(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """A hosted cluster, whose NodePools others write."""
    yield from _node_waves(plan, locate, *_HOSTED)
    yield from _pause(plan, locate, *_HOSTED)
    if unavailable(plan.node_class) is not None:
        yield _refused(plan, "maxUnavailable", locate, *_HOSTED)


def _pause(plan: NodePlan, locate: Locate, problem: str, remedy: str) -> Iterator[Diagnostic]:
    if plan.spec.rollout.pause_pools:
        yield _refused(plan, "pausePools", locate, problem, remedy)


def _waves(plan: NodePlan) -> Sequence[str]:
    """The fields of waves that order nodes of the class's cluster."""
    return [f"waves.{wave.number}" for wave in plan.node_class.waves]


def _node_waves(plan: NodePlan, locate: Locate, problem: str, remedy: str) -> Iterator[Diagnostic]:
    for field in _waves(plan):
        yield _refused(plan, field, locate, problem, remedy)


def _waits(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP678: a Job that waits for nodes of a pool that is paused."""
    verify = plan.spec.verify
    if plan.spec.rollout.pause_pools and verify and verify.wait_for:
        yield diagnose(
            "CP678", rollout_place(plan, "pausePools", locate), pool=plan.node_class.target.pool
        )


def rollout_place(plan: NodePlan, field: str, locate: Locate) -> Position | None:
    """The field of the rollout; the whole where another field has it."""
    of = plan.node_class.place
    return locate(of(f"rollout.{field}")) or locate(of("rollout"))


def _refused(plan: NodePlan, field: str, locate: Locate, problem: str, remedy: str) -> Diagnostic:
    return diagnose(
        "CP661", rollout_place(plan, field, locate), field=field, problem=problem, remedy=remedy
    )


def _nothing(plan: NodePlan, field: str, locate: Locate) -> Diagnostic:
    what = plan.node_class.platform.title
    return diagnose("CP662", rollout_place(plan, field, locate), field=field, what=what)


_NO_ARGO_CD = (
    "the project has no Delivery document for Argo CD",
    "write one (docs/gitops.md), or order clusters and times in the tool that syncs out/",
)
_BY_HAND = (
    "the files of nodes of {title} are installed by your own tools, which know of none",
    "keep to them in these tools",
)
#: Deliveries whose objects change nodes when they are synced.
_OF_OBJECTS = frozenset({"clusterApi", "nodeWright"})


def check_delivery(
    plans: Sequence[ConfiguredPlan], delivery: DeliverySpec | None, locate: Locate
) -> Iterator[Diagnostic]:
    """For all classes of a project; each intent once for each cluster."""
    has_argo_cd = delivery is not None and "argocd" in delivery.tools
    seen: set[tuple[str, str]] = set()
    for plan in plans:
        for field, problem, remedy in _unread(plan, has_argo_cd=has_argo_cd):
            if (plan.node_class.intent, field) not in seen:
                seen.add((plan.node_class.intent, field))
                place = rollout_place(plan, field, locate)
                yield diagnose("CP663", place, field=field, problem=problem, remedy=remedy)
    if not has_argo_cd:
        return
    for _, group in groupby(plans, key=lambda plan: plan.node_class.cluster):
        yield from _differences(list(group), locate)
    yield from _orders(plans, locate)


def _unread(plan: NodePlan, *, has_argo_cd: bool) -> Iterator[tuple[str, str, str]]:
    """Fields that nothing reads, with the problem and the remedy."""
    rollout, node_class = plan.spec.rollout, plan.node_class
    if not has_argo_cd:
        if rollout.windows:
            yield "windows", *_NO_ARGO_CD
        for index, wave in enumerate(rollout.waves):
            if wave.is_of_clusters:
                yield f"waves.{index}", *_NO_ARGO_CD
        return
    by_hand = not node_class.platform.has_pools
    if by_hand and rollout.windows and _OF_OBJECTS.isdisjoint(node_class.target.delivery):
        problem, remedy = _BY_HAND
        yield "windows", problem.format(title=node_class.platform.title), remedy


def _differences(plans: Sequence[NodePlan], locate: Locate) -> Iterator[Diagnostic]:
    """CP676 for intents of one cluster with other windows, or another wave of clusters."""
    by_intent = {plan.node_class.intent: plan for plan in plans}
    first, *others = by_intent.values()
    for plan in others:
        if plan.spec.rollout.windows != first.spec.rollout.windows:
            yield _different(plan, first, "windows", locate)
        waves = [wave_of_cluster(compared.node_class) for compared in (plan, first)]
        if waves[0] != waves[1] and len({wave and wave.name for wave in waves}) > 1:
            yield _different(plan, first, "waves", locate)


def _orders(plans: Sequence[NodePlan], locate: Locate) -> Iterator[Diagnostic]:
    """CP676 for intents that have the same waves of clusters in another order."""
    order = {name: index for index, name in enumerate(waves_of_clusters(plans))}
    by_intent = {plan.node_class.intent: plan for plan in plans}
    for plan in by_intent.values():
        mine = [order[name] for name in waves_of_clusters([plan])]
        if mine != sorted(mine):
            yield _different(plan, plans[0], "waves", locate)


def _different(plan: NodePlan, first: NodePlan, field: str, locate: Locate) -> Diagnostic:
    other = rollout_place(first, field, locate) or locate(first.node_class.place())
    own = rollout_place(plan, field, locate) or locate(plan.node_class.place())
    return diagnose(
        "CP676",
        own,
        labels=[Label(other, f"intent {first.node_class.intent}")] if other else [],
        field=field,
        mine=plan.node_class.intent,
        first=first.node_class.intent,
        cluster=plan.node_class.cluster,
    )


def check_names(
    plans: Sequence[NodePlan], delivery: DeliverySpec, place: Position
) -> Iterator[Diagnostic]:
    """CP677, at the document's tracking."""
    if delivery.tracking != "label" or "argocd" not in delivery.tools:
        return
    clusters = {plan.node_class.cluster: plan.node_class.target.is_hosted for plan in plans}
    for cluster, is_hosted in sorted(clusters.items()):
        name = f"cpuplan-{application(cluster) if is_hosted else cluster}"
        if len(name) > naming.LONGEST_LABEL:
            yield diagnose("CP677", place, name=name, size=len(name), cluster=cluster)

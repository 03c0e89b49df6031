"""What a project's rollouts and its Delivery document ask for together: CP663, CP676 and CP677."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from cpuplan.backends import rollouts
from cpuplan.base import naming
from cpuplan.diagnostics import Diagnostic, Label, diagnose
from cpuplan.diagnostics.source import Locate, Position
from cpuplan.fleet.hosting import application
from cpuplan.language.model.delivery import DeliverySpec
from cpuplan.plan import ConfiguredPlan, NodePlan

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


def check(
    plans: Sequence[ConfiguredPlan], delivery: DeliverySpec | None, locate: Locate
) -> Iterator[Diagnostic]:
    """For all classes of a project; each intent once for each cluster."""
    has_argo_cd = delivery is not None and "argocd" in delivery.tools
    seen: set[tuple[str, str]] = set()
    for plan in plans:
        for field, problem, remedy in _unread(plan, has_argo_cd=has_argo_cd):
            if (plan.node_class.intent, field) not in seen:
                seen.add((plan.node_class.intent, field))
                place = rollouts.place(plan, field, locate)
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
        waves = [rollouts.wave_of_cluster(each.node_class) for each in (plan, first)]
        if waves[0] != waves[1] and len({wave and wave.name for wave in waves}) > 1:
            yield _different(plan, first, "waves", locate)


def _orders(plans: Sequence[NodePlan], locate: Locate) -> Iterator[Diagnostic]:
    """CP676 for intents that have the same waves of clusters in another order."""
    order = {name: index for index, name in enumerate(rollouts.waves_of_clusters(plans))}
    by_intent = {plan.node_class.intent: plan for plan in plans}
    for plan in by_intent.values():
        mine = [order[name] for name in rollouts.waves_of_clusters([plan])]
        if mine != sorted(mine):
            yield _different(plan, plans[0], "waves", locate)


def _different(plan: NodePlan, first: NodePlan, field: str, locate: Locate) -> Diagnostic:
    other = rollouts.place(first, field, locate) or locate(first.node_class.place())
    own = rollouts.place(plan, field, locate) or locate(plan.node_class.place())
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

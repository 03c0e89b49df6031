"""What the `rollout` of an intent becomes for each platform, and where nothing can keep it."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate, Position
from cpuplan.language.model.base import has_key
from cpuplan.language.model.rollout import Wave
from cpuplan.plan import NodeClass, NodePlan

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
    found: dict[str, None] = {}
    for plan in by_intent.values():
        found |= dict.fromkeys(_names(plan))
    return list(found)


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
        yield diagnose("CP678", place(plan, "pausePools", locate), pool=plan.node_class.target.pool)


def place(plan: NodePlan, field: str, locate: Locate) -> Position | None:
    """The field of the rollout; the whole where another field has it."""
    of = plan.node_class.place
    return locate(of(f"rollout.{field}")) or locate(of("rollout"))


def _refused(plan: NodePlan, field: str, locate: Locate, problem: str, remedy: str) -> Diagnostic:
    return diagnose(
        "CP661", place(plan, field, locate), field=field, problem=problem, remedy=remedy
    )


def _nothing(plan: NodePlan, field: str, locate: Locate) -> Diagnostic:
    what = plan.node_class.platform.title
    return diagnose("CP662", place(plan, field, locate), field=field, what=what)

"""What intents of one cluster say about programs of which there is one."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from cpuplan.components.koordinator import colocation, scheduler
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.plan import ConfiguredPlan


class _Shared(NamedTuple):
    """What must be the same in all intents that say it: its words, its field, its value."""

    what: str
    field: Callable[[ConfiguredPlan], str]
    value: Callable[[ConfiguredPlan], object]


_SHARED = (
    _Shared(
        "releases of Koordinator",
        lambda plan: plan.node_class.target_field("koordinator"),
        lambda plan: plan.node_class.target.koordinator,
    ),
    _Shared(
        "arguments of koord-scheduler",
        lambda _: "koordinator.scheduler",
        lambda plan: scheduler.arguments(plan.settings.of(scheduler.NAME)),
    ),
)


def check(plans: Sequence[ConfiguredPlan], locate: Locate) -> Iterator[Diagnostic]:
    """CP637 where two intents of a cluster differ."""
    members = [plan for plan in plans if plan.node_class.target.has_koordinator]
    for shared in _SHARED:
        saying = [plan for plan in members if shared.value(plan)]
        for plan in saying[1:]:
            if shared.value(plan) != shared.value(saying[0]):
                yield _unlike(saying[0], plan, shared.what, locate, shared.field(plan))
                break
    yield from _same_profiles(members, locate)


def _same_profiles(plans: Sequence[ConfiguredPlan], locate: Locate) -> Iterator[Diagnostic]:
    """Profiles of two intents with one name: `a-b` of `c`, and `a` of `b-c`."""
    seen: dict[str, ConfiguredPlan] = {}
    for plan in plans:
        for workload in plan.settings.of(colocation.NAME):
            name = colocation.profile(plan, workload)
            other = seen.setdefault(name, plan)
            if other.node_class.intent != plan.node_class.intent:
                what = f"profiles of the name {name}"
                yield _unlike(other, plan, what, locate, "koordinator.workloads")


def _unlike(
    first: ConfiguredPlan, second: ConfiguredPlan, what: str, locate: Locate, field: str
) -> Diagnostic:
    node_class = second.node_class
    return diagnose(
        "CP637",
        locate(node_class.place(field)),
        cluster=node_class.cluster,
        first=first.node_class.intent,
        second=node_class.intent,
        what=what,
    )

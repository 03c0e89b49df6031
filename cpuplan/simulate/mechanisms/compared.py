"""The same pods under several mechanisms, on the same layout."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from cpuplan.diagnostics import CpuplanError, Diagnostic
from cpuplan.diagnostics.source import Locate
from cpuplan.plan import ConfiguredPlan
from cpuplan.simulate import fleet
from cpuplan.simulate.allocators.base import UnfitError
from cpuplan.simulate.fleet import Result, Starter
from cpuplan.simulate.manifests import Item
from cpuplan.simulate.mechanisms import adapted
from cpuplan.simulate.mechanisms.under import judged, under
from cpuplan.simulate.names import full_name

Chosen = Sequence[tuple[ConfiguredPlan, Sequence[str]]]


class Under(NamedTuple):
    """What a mechanism makes of the pods, and what it cannot keep of the intents."""

    mechanism: str
    #: None where the mechanism does not start on a node; `problems` say why.
    result: Result | None
    problems: tuple[Diagnostic, ...]
    #: Whether the nodes have it: nothing was changed for it.
    is_planned: bool
    #: Pods that have CPUs of their own under the static policy, and here none.
    losing: tuple[str, ...] = ()


#: The pods for these plans: those of files, or of the workloads of their intents.
Pods = Callable[[Sequence[ConfiguredPlan]], Sequence[Item]]


class _Wanted(NamedTuple):
    pods: Pods
    start: Starter
    locate: Locate
    adapt: bool
    #: What is said of each plan as it is.
    known: Sequence[frozenset[Diagnostic]]


def compare(
    chosen: Chosen,
    pods: Pods,
    mechanisms: Iterable[str],
    start: Starter,
    locate: Locate,
    *,
    adapt: bool = False,
) -> list[Under]:
    """All pods on the nodes of each class, under each mechanism in turn.

    With `adapt`, pods first get what a mechanism wants beside their shape: labels, claims.
    """
    # What is said of the plans as they are comes from something else than the mechanism.
    known = [frozenset(judged(plan, locate)) for plan, _ in chosen]
    wanted = _Wanted(pods, start, locate, adapt, known)
    return [_under(chosen, wanted, mechanism) for mechanism in mechanisms]


def _losing(items: Iterable[Item], result: Result | None) -> Iterator[str]:
    """Pods of a shape for CPUs of their own that run on shared ones somewhere."""
    by_shape = {full_name(item.pod) for item in items if adapted.has_own(item.pod)}
    for node in result.nodes if result else ():
        for outcome in node.outcome.outcomes:
            name = full_name(outcome.pod)
            shares = not any(container.is_exclusive for container in outcome.containers)
            if name in by_shape and shares and not outcome.refused:
                by_shape.discard(name)
                yield name


def _under(chosen: Chosen, wanted: _Wanted, mechanism: str) -> Under:
    others = [(under(plan, mechanism), names) for plan, names in chosen]
    plans = [plan for plan, _ in others]
    wrong: list[Diagnostic] = []
    for (plan, _), other, known in zip(chosen, plans, wanted.known, strict=True):
        found = judged(other, wanted.locate) if other is not plan else []
        wrong += (problem for problem in found if problem not in known)
    items = wanted.pods(plans)
    given = adapted.adapted(items, mechanism, plans[0]) if wanted.adapt and plans else items
    result, refused = _result(others, given, wanted.start)
    return Under(
        mechanism,
        result,
        tuple(dict.fromkeys([*wrong, *refused])),
        is_planned=all(plan is other for (plan, _), other in zip(chosen, plans, strict=True)),
        losing=tuple(_losing(items, result)),
    )


def _result(
    chosen: Chosen, items: Sequence[Item], start: Starter
) -> tuple[Result | None, Sequence[Diagnostic]]:
    """What becomes of the pods; without it, why a node does not start."""
    try:
        return _run(chosen, items, start), ()
    except CpuplanError as error:
        return None, error.diagnostics
    except UnfitError:
        return None, ()


def _run(chosen: Chosen, items: Sequence[Item], start: Starter) -> Result:
    """On a single node in order, on several as `simulate` gives pods to a fleet."""
    if fleet.is_single(chosen):
        return fleet.on_each(chosen, items, start)
    return fleet.spread(chosen, items, start)

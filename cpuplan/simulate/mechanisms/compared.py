"""The same pods under several mechanisms, on the same layout."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from cpuplan.diagnostics import CpuplanError, Diagnostic
from cpuplan.plan import ConfiguredPlan
from cpuplan.simulate import fleet
from cpuplan.simulate.allocators.base import UnfitError
from cpuplan.simulate.fleet import Result, Starter
from cpuplan.simulate.manifests import Item
from cpuplan.simulate.mechanisms import adapted
from cpuplan.simulate.mechanisms.under import problems, under
from cpuplan.simulate.names import full_name
from cpuplan.source import Locate

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


def compare(
    chosen: Chosen,
    items: Sequence[Item],
    mechanisms: Iterable[str],
    start: Starter,
    locate: Locate,
    *,
    adapt: bool = False,
) -> list[Under]:
    """All pods on the nodes of each class, under each mechanism in turn.

    With `adapt`, pods first get what a mechanism wants beside their shape: labels, claims.
    """
    compared = []
    for mechanism in mechanisms:
        given = adapted.adapted(items, mechanism) if adapt else items
        under = _under(chosen, given, mechanism, start, locate)
        compared.append(under._replace(losing=tuple(_losing(items, under.result))))
    return compared


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


def _under(
    chosen: Chosen, items: Sequence[Item], mechanism: str, start: Starter, locate: Locate
) -> Under:
    others = [(under(plan, mechanism), names) for plan, names in chosen]
    pairs = list(zip(chosen, others, strict=True))
    wrong = [
        problem
        for (plan, _), (other, _) in pairs
        if other is not plan
        for problem in problems(plan, other, locate)
    ]
    is_planned = all(other is plan for (plan, _), (other, _) in pairs)
    try:
        result: Result | None = _run(others, items, start)
    except (CpuplanError, UnfitError) as error:
        result = None
        if isinstance(error, CpuplanError):
            wrong += [problem for problem in error.diagnostics if problem not in wrong]
    return Under(mechanism, result, tuple(dict.fromkeys(wrong)), is_planned)


def _run(chosen: Chosen, items: Sequence[Item], start: Starter) -> Result:
    """On a single node in order, on several as `simulate` gives pods to a fleet."""
    if sum(len(names) for _, names in chosen) == 1:
        return fleet.on_each(chosen, items, start)
    return fleet.spread(chosen, items, start)

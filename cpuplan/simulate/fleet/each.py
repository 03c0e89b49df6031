"""All pods on every node: what is asked of each class of nodes by itself, whoever answers it."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from cpuplan.base.progress import follow
from cpuplan.diagnostics import CpuplanError
from cpuplan.plan import ConfiguredPlan
from cpuplan.simulate import admission, orders
from cpuplan.simulate.admission import NodeOutcome, UnknownPodError
from cpuplan.simulate.allocators.base import UnfitError
from cpuplan.simulate.fleet.results import Chosen, Result, Simulated
from cpuplan.simulate.fleet.starting import Starter
from cpuplan.simulate.manifests import Item
from cpuplan.solve import effort
from cpuplan.upstream.kubernetes.pod import Pod
from cpuplan.workers import HERE, Workers
from cpuplan.workers.calls import results_of

Answer = TypeVar("Answer")
#: What may be wrong with a class, or with what is asked of its nodes.
_ERRORS = (CpuplanError, UnfitError, UnknownPodError)


def on_each(
    plans: Chosen,
    items: Iterable[Item],
    start: Starter,
    ending: Collection[str] = (),
    workers: Workers = HERE,
) -> Result:
    """All pods, in order, on every node.

    The nodes of a class are equal, so one of them stands for all.
    """
    chosen = list(plans)
    arrival = _Arrival([item.pod for item in items], start, ending)
    found = _per_class("pods", arrival, [plan for plan, _ in chosen], NodeOutcome, workers)
    pairs = zip(chosen, found, strict=True)
    return Result(tuple(Simulated(plan, tuple(names), of) for (plan, names), of in pairs))


@dataclass(frozen=True)
class _Arrival:
    """All pods, in order, on a node that starts; then some of them end."""

    pods: Sequence[Pod]
    start: Starter
    ending: Collection[str]

    def __call__(self, plan: ConfiguredPlan) -> NodeOutcome:
        with effort.simulated(self.start.seconds):
            return admission.run(self.start(plan), self.pods, self.ending)


def any_order_on_each(
    plans: Sequence[ConfiguredPlan],
    items: Iterable[Item],
    start: Starter,
    workers: Workers = HERE,
) -> list[orders.Answer]:
    """Whether all pods are admitted in every order of arrival, on a node of each class."""
    question = _Orders([item.pod for item in items], start)
    return list(_per_class("orders of arrival", question, plans, orders.Answer, workers))


@dataclass(frozen=True)
class _Orders:
    """All orders of some pods on a node that starts."""

    pods: Sequence[Pod]
    start: Starter

    def __call__(self, plan: ConfiguredPlan) -> orders.Answer:
        with effort.simulated(self.start.seconds):
            return orders.any_order(self.start(plan), self.pods)


def _per_class(
    what: str,
    function: Callable[[ConfiguredPlan], Answer],
    plans: Sequence[ConfiguredPlan],
    kind: type[Answer],
    workers: Workers = HERE,
) -> Iterator[Answer]:
    """What a function, which can be sent, makes of each class; `what` is told as progress.

    The first error in the order of the classes is raised, whoever meets one first.
    """
    made = zip(plans, results_of(function, plans, workers, _ERRORS, kind), strict=True)
    for _, answer in follow(what, len(plans), made, lambda pair: pair[0].node_class.full_name):
        yield answer

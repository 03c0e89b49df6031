"""Is a set of pods admitted in every order of arrival? Answered by an exhaustive search."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from math import comb, log10
from typing import Any, NamedTuple

from cpuplan.simulate import admission, apiserver
from cpuplan.simulate.allocators.base import Allocator, Refusal
from cpuplan.solve import effort
from cpuplan.solve.effort import UndecidedError
from cpuplan.upstream.kubernetes.pod import Pod

#: Larger numbers of orders are not written out.
_ABOUT = 10**15


class Answer(NamedTuple):
    """Every order works (`is_proven`); an order whose last pod is refused; or not decided.

    `works` of `orders` are known to work, where pods that differ only in their names are alike:
    as text, since they are more than a number has room for.
    Without a proof or a failure, the limit of work (`limit`, in words) was reached.
    """

    is_proven: bool
    tried: int  # admissions
    moments: int  # distinct ones
    failing: tuple[Pod, ...] = ()
    refused: Refusal | None = None
    works: str = ""
    orders: str = ""
    limit: str = ""


class _Kind(NamedTuple):
    """Pods that differ only in their names."""

    what: Hashable
    pods: list[Pod]


def any_order(allocator: Allocator, pods: Iterable[Pod]) -> Answer:
    """Try every order of `pods`. The state of the allocator is restored afterwards.

    Equal pods are interchangeable, and so are moments with the same future.
    It ends with what is left of the limit of work.
    """
    kinds: dict[Hashable, _Kind] = {}
    for given in pods:
        pod = apiserver.store(given, allocator.gates)
        what = admission.kind_of(pod, allocator)
        kinds.setdefault(what, _Kind(what, [])).pods.append(pod)
    start = allocator.take()
    try:
        return _Search(allocator, list(kinds.values())).run(start)
    finally:
        allocator.restore(start)


class _Search:
    """Depth first: an order that fails is found before all are known."""

    def __init__(self, allocator: Allocator, kinds: Sequence[_Kind]) -> None:
        self.allocator, self.kinds = allocator, kinds
        self.tried = 0
        #: The distinct moments, by number; the start has 0.
        self.seen: dict[Hashable, int] = {}
        #: By the number of pods that have come: moments, and those that one more pod leads to.
        self.steps: list[list[tuple[int, int]]] = [[] for _ in self._all()]

    def run(self, start: Any) -> Answer:
        # a moment, its number, and how it came about
        stack: list[tuple[Any, int, tuple[int, ...]]] = [(start, 0, ())]
        try:
            while stack:
                moment, number, order = stack.pop()
                for kind in self._waiting(order):
                    reached = self._try(moment, number, order, kind)
                    if isinstance(reached, Refusal):
                        failing = self._pods((*order, kind))
                        return self._answer(failing=failing, refused=reached)
                    if reached:
                        stack.append((*reached, (*order, kind)))
        except UndecidedError:
            return self._answer(limit=effort.current().words)
        return self._answer(is_proven=True)

    def _answer(self, *, is_proven: bool = False, **more: Any) -> Answer:
        counts = [len(kind.pods) for kind in self.kinds]
        works, orders = _words(self._works()), _words(_orders(counts))
        answer = Answer(is_proven, self.tried, len(self.seen), orders=orders, works=works)
        return answer._replace(**more)

    def _works(self) -> int:
        """How many orders lead through tried steps to a moment at which all pods have come."""
        ways = Counter({0: 1})
        for steps in self.steps:
            after: Counter[int] = Counter()
            for before, reached in steps:
                after[reached] += ways[before]
            ways = after
        return sum(ways.values())

    def _all(self) -> list[Pod]:
        return [pod for kind in self.kinds for pod in kind.pods]

    def _waiting(self, order: tuple[int, ...]) -> list[int]:
        """The kinds of which pods are still to come."""
        counts = Counter(order)
        return [at for at, kind in enumerate(self.kinds) if counts[at] < len(kind.pods)]

    def _try(self, moment: Any, number: int, order: tuple[int, ...], kind: int) -> Any:
        """The moment after one more pod of a kind and its number, or its Refusal.

        None if it was there already.
        """
        self.allocator.restore(moment)
        pod = self.kinds[kind].pods[order.count(kind)]
        refused = self.allocator.admit(pod).refused
        self.tried += 1
        if refused:
            return refused
        counts = tuple(sorted(Counter((*order, kind)).items()))
        key = (counts, self.allocator.key())
        is_new = key not in self.seen
        reached = self.seen.setdefault(key, len(self.seen) + 1)
        self.steps[len(order)].append((number, reached))
        return (self.allocator.take(), reached) if is_new else None

    def _pods(self, order: tuple[int, ...]) -> tuple[Pod, ...]:
        """The pods of an order of kinds."""
        used: Counter[int] = Counter()
        pods = []
        for kind in order:
            pods.append(self.kinds[kind].pods[used[kind]])
            used[kind] += 1
        return tuple(pods)


def _orders(counts: Sequence[int]) -> int:
    """In how many orders so many pods of each kind can come."""
    orders, pods = 1, 0
    for count in counts:
        pods += count
        orders *= comb(pods, count)
    return orders


def _words(number: int) -> str:
    """`1,234`, `about 10^30`."""
    return f"{number:,}" if number < _ABOUT else f"about 10^{log10(number):.0f}"

"""Is a set of pods admitted in every order of arrival? Answered by an exhaustive search."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

from cpuplan.kubelet.pods.pod import Pod
from cpuplan.simulate import admission, apiserver
from cpuplan.simulate.allocators.base import Allocator, Refusal

#: Admissions after which the search gives up: some ten seconds.
LIMIT = 20_000


class Answer(NamedTuple):
    """Every order works (`is_proven`); an order whose last pod is refused; or not decided."""

    is_proven: bool
    tried: int  # admissions
    moments: int  # distinct ones
    failing: tuple[Pod, ...] = ()
    refused: Refusal | None = None


class _Kind(NamedTuple):
    """Pods that differ only in their names."""

    what: Hashable
    pods: list[Pod]


def any_order(allocator: Allocator, pods: Iterable[Pod], limit: int = LIMIT) -> Answer:
    """Try every order of `pods`. The state of the allocator is restored afterwards.

    Equal pods are interchangeable, and so are moments with the same future.
    """
    kinds: dict[Hashable, _Kind] = {}
    for given in pods:
        pod = apiserver.store(given, allocator.gates)
        what = admission.kind_of(pod, allocator)
        kinds.setdefault(what, _Kind(what, [])).pods.append(pod)
    start = allocator.take()
    try:
        return _Search(allocator, list(kinds.values()), limit).run(start)
    finally:
        allocator.restore(start)


class _Search:
    """Depth first: an order that fails is found before all are known."""

    def __init__(self, allocator: Allocator, kinds: Sequence[_Kind], limit: int) -> None:
        self.allocator, self.kinds, self.limit = allocator, kinds, limit
        self.tried = 0
        self.seen: set[Hashable] = set()

    def run(self, start: Any) -> Answer:
        # a moment, and how it came about
        stack: list[tuple[Any, tuple[int, ...]]] = [(start, ())]
        while stack:
            moment, order = stack.pop()
            for kind in self._waiting(order):
                if self.tried == self.limit:
                    return Answer(False, self.tried, len(self.seen))
                reached = self._try(moment, order, kind)
                if isinstance(reached, Refusal):
                    failing = self._pods((*order, kind))
                    return Answer(False, self.tried, len(self.seen), failing, reached)
                if reached:
                    stack.append((reached, (*order, kind)))
        return Answer(True, self.tried, len(self.seen))

    def _waiting(self, order: tuple[int, ...]) -> list[int]:
        """The kinds of which pods are still to come."""
        counts = Counter(order)
        return [at for at, kind in enumerate(self.kinds) if counts[at] < len(kind.pods)]

    def _try(self, moment: Any, order: tuple[int, ...], kind: int) -> Any:
        """The moment after one more pod of a kind, or its Refusal; None if it was there already."""
        self.tried += 1
        self.allocator.restore(moment)
        pod = self.kinds[kind].pods[order.count(kind)]
        if refused := self.allocator.admit(pod).refused:
            return refused
        counts = tuple(sorted(Counter((*order, kind)).items()))
        key = (counts, self.allocator.key())
        if key in self.seen:
            return None
        self.seen.add(key)
        return self.allocator.take()

    def _pods(self, order: tuple[int, ...]) -> tuple[Pod, ...]:
        """The pods of an order of kinds."""
        used: Counter[int] = Counter()
        pods = []
        for kind in order:
            pods.append(self.kinds[kind].pods[used[kind]])
            used[kind] += 1
        return tuple(pods)

"""Is a set of pods admitted in every order of arrival? Answered by going through all that can
happen.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from cpuplan.kubelet import snapshot
from cpuplan.kubelet.node import Kubelet
from cpuplan.kubelet.pods.pod import Pod
from cpuplan.simulate import admission
from cpuplan.simulate.admission import Refusal

#: Admissions after which the search gives up: some ten seconds.
LIMIT = 20_000


class Answer(NamedTuple):
    """`is_proven`: every order works; an order whose last pod is refused; or neither, when the
    search gave up.
    """

    is_proven: bool
    tried: int  # admissions
    moments: int  # distinct ones
    failing: tuple[Pod, ...] = ()
    refused: Refusal | None = None


class _Kind(NamedTuple):
    """Pods that are the same but for their names."""

    what: Hashable
    pods: list[Pod]


def any_order(kubelet: Kubelet, pods: Iterable[Pod], limit: int = LIMIT) -> Answer:
    """Try every order of `pods`. Equal pods are interchangeable, and so are moments with the same
    future.
    """
    kinds: dict[Hashable, _Kind] = {}
    for given in pods:
        pod = admission.prepared(kubelet, given)
        what = repr(pod._replace(uid="", name="", namespace="", annotations={}))
        kinds.setdefault(what, _Kind(what, [])).pods.append(pod)
    return _Search(kubelet, list(kinds.values()), limit).run()


class _Search:
    """Depth first: an order that fails is found before all are known."""

    def __init__(self, kubelet: Kubelet, kinds: Sequence[_Kind], limit: int) -> None:
        self.kubelet, self.kinds, self.limit = kubelet, kinds, limit
        self.tried = 0
        self.seen: set[Hashable] = set()

    def run(self) -> Answer:
        start = snapshot.take(self.kubelet)
        # a moment, and how it came about
        stack: list[tuple[snapshot.Snapshot, tuple[int, ...]]] = [(start, ())]
        try:
            while stack:
                moment, order = stack.pop()
                counts = Counter(order)
                for kind in range(len(self.kinds)):
                    if counts[kind] == len(self.kinds[kind].pods):
                        continue
                    if self.tried == self.limit:
                        return Answer(False, self.tried, len(self.seen))
                    reached = self._try(moment, order, kind)
                    if isinstance(reached, Refusal):
                        failing = self._pods((*order, kind))
                        return Answer(False, self.tried, len(self.seen), failing, reached)
                    if reached:
                        stack.append((reached, (*order, kind)))
            return Answer(True, self.tried, len(self.seen))
        finally:
            snapshot.restore(self.kubelet, start)

    def _try(
        self, moment: snapshot.Snapshot, order: tuple[int, ...], kind: int
    ) -> snapshot.Snapshot | Refusal | None:
        """The moment after one more pod of a kind; None if it was there already."""
        self.tried += 1
        snapshot.restore(self.kubelet, moment)
        pod = self.kinds[kind].pods[order.count(kind)]
        if refused := admission.admit(self.kubelet, pod):
            return refused
        counts = tuple(sorted(Counter((*order, kind)).items()))
        key = (counts, snapshot.key(self.kubelet))
        if key in self.seen:
            return None
        self.seen.add(key)
        return snapshot.take(self.kubelet)

    def _pods(self, order: tuple[int, ...]) -> tuple[Pod, ...]:
        """The pods of an order of kinds."""
        used: Counter[int] = Counter()
        found = []
        for kind in order:
            found.append(self.kinds[kind].pods[used[kind]])
            used[kind] += 1
        return tuple(found)

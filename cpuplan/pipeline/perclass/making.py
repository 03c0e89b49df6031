"""How what belongs to classes is made: by whom, and what is taken from earlier runs."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from cpuplan.backends import parts
from cpuplan.backends.parts import Parts, Wanted
from cpuplan.base.progress import follow
from cpuplan.diagnostics import CpuplanError
from cpuplan.fleet import lock
from cpuplan.pipeline.perclass import unlocated
from cpuplan.pipeline.perclass.batch import Batch
from cpuplan.pipeline.perclass.cache import Cache
from cpuplan.pipeline.perclass.unit import Made, Unit
from cpuplan.plan import NodeClass
from cpuplan.solve import layouts
from cpuplan.workers import HERE, Workers, results

Done = TypeVar("Done")


class Making(NamedTuple):
    """The workers, and the cache of earlier results, if any. No result depends on them."""

    workers: Workers = HERE
    cache: Cache | None = None

    def attempt(self, work: Callable[["Making"], Done]) -> Done:
        """Do what follows from these results; once more without them where that is impossible.

        Of what was kept, or came from the workers of an executor, each value is one that can be,
        but together they may be of no plan that cpuplan makes.
        """
        try:
            return work(self)
        except CpuplanError:
            raise
        except Exception:
            is_of_others = self.workers.executor is not None
            if not (is_of_others or (self.cache and self.cache.is_used)):
                raise
        return work(PLAIN)

    def of(self, batch: Batch) -> Iterator[tuple[Unit, Made]]:
        """Each unit with what is made of it, in their order."""
        pairs = zip(batch.units, self._made(batch), strict=True)
        return iter(follow("layouts", len(batch), pairs, lambda pair: pair[0].names[0]))

    def _made(self, batch: Batch) -> Iterator[Made]:
        if self.cache:
            return self.cache.results(batch, self.workers)
        return (result.made for result in results(batch, self.workers))

    def parts(self, wanted: Sequence[Wanted]) -> Iterable[Parts]:
        """The parts of each class of `wanted`, of which `of` made the plans, in their order."""
        return self.cache.parts(wanted) if self.cache else parts.every(wanted)


#: In this process, from nothing.
PLAIN = Making()


def batch_of(
    classes: Sequence[NodeClass],
    known: lock.Starts,
    documents: Iterable[unlocated.Name],
    *,
    checked: bool,
    seconds: float | None,
) -> Batch:
    """The classes by layout, with the layouts that they start from; see `Batch`."""
    units = [
        Unit(tuple(members), tuple(tuple(known.of(member)) for member in members))
        for members in layouts.classes_by_layout(classes)
    ]
    kin: dict[str, list[NodeClass]] = {}
    for node_class in classes:
        kin.setdefault(node_class.intent, []).append(node_class)
    return Batch(units, kin, frozenset(documents), checked=checked, seconds=seconds)

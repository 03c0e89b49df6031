"""Who does which part of some work, and its results in their order."""

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from cpuplan.base.codec import CodecError
from cpuplan.diagnostics import CpuplanError, diagnose
from cpuplan.workers.work import Work

if TYPE_CHECKING:  # few commands divide anything
    from concurrent.futures import Executor

Result = TypeVar("Result")

#: Pieces of work from which on other processes are started at once.
_MANY = 1000
#: Seconds of work from which on others get what is left of fewer pieces. Starting them takes a
#: quarter of a second of work, and cores that share caches slow each other.
#: Work, and not time: on a busy machine every second that it takes to start others is missed, too.
_PATIENCE = 2.0
#: Parts for each worker, so that none waits long for the last one; and the most pieces in one.
_PARTS = 4
_MOST = 50


class Workers(NamedTuple):
    """Who does the work: `jobs` processes of this machine, or the workers of an executor."""

    jobs: int = 1
    executor: "Executor | None" = None


#: This process does it all.
HERE = Workers()


def results(work: Work[Result], workers: Workers = HERE) -> Iterator[Result]:
    """The results of all pieces, in their order, whoever did them.

    Raises CpuplanError where workers end, or cannot be reached (CP622 to CP624).
    """
    if workers.executor is None and (workers.jobs < 2 or len(work) < 2):
        # One by one: what is ready can be kept and told of before the rest is.
        for index in range(len(work)):
            yield from work.part(slice(index, index + 1)).results()
        return
    begun = 0
    if workers.executor is None and len(work) < _MANY:
        for result in _begin(work):
            yield result
            begun += 1
    slices = list(_slices(begun, len(work), workers.jobs))
    if slices:
        for chosen, data in zip(slices, _packed(work, slices, workers), strict=True):
            yield from _unpacked(work.part(chosen), data, workers)


def _packed(work: Work[Any], slices: Sequence[slice], workers: Workers) -> Iterator[bytes]:
    from cpuplan.workers import executors  # takes time, and most commands divide nothing

    if workers.executor is None:
        return executors.in_processes(work, slices, workers.jobs)
    return executors.in_executor(work, slices, workers.executor)


def _unpacked(part: Work[Result], data: bytes, workers: Workers) -> Sequence[Result]:
    """The results of a part. Raises CP623 where others sent what is no answer to it."""
    try:
        made = part.unpacked(data)
        if len(made) != len(part):
            raise CodecError(f"{len(made)} results of {len(part)}")
    except CodecError as error:
        if workers.executor is None:
            raise  # of our own processes: a bug
        what = "the workers sent what is no result of their part of the work"
        raise CpuplanError([diagnose("CP623", what=what, problem=error)]) from error
    return made


def _slices(start: int, end: int, jobs: int) -> Iterator[slice]:
    size = max(1, min(_MOST, (end - start) // (max(jobs, 2) * _PARTS)))
    return (slice(first, min(first + size, end)) for first in range(start, end, size))


def _begin(work: Work[Result]) -> Iterator[Result]:
    """Do pieces of it here, as long as what is left is less work than starting others is worth."""
    work.prepare()
    spent: list[float] = []
    while len(spent) < len(work) and _left(spent, len(work)) <= _PATIENCE:
        before = time.process_time()
        yield from work.part(slice(len(spent), len(spent) + 1)).results()
        spent.append(time.process_time() - before)


def _left(spent: Sequence[float], number: int) -> float:
    """The seconds of work that are left of a number of pieces, as those before suggest.

    The first one loads what all of them need, and counts by itself only.
    """
    if len(spent) < 2:
        return sum(spent)
    _, *others = spent
    return sum(others) / len(others) * (number - len(spent))

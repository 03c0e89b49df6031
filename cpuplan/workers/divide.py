"""Who does which part of some work, and its results in their order."""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from typing import Any, NamedTuple, TypeVar

from cpuplan.workers.work import Work

Result = TypeVar("Result")

#: Pieces of work from which on other processes are started at once.
_MANY = 32
#: Seconds of work after which others get what is left of fewer pieces: a few hard ones take longer.
#: Work, and not time: on a busy machine every second that it takes to start others is missed, too.
_PATIENCE = 2.0
#: Parts for each worker, so that none waits long for the last one; and the most pieces in one.
_PARTS = 4
_MOST = 50


class Workers(NamedTuple):
    """Who does the work: `jobs` processes of this machine, or the workers of an executor."""

    jobs: int = 1
    executor: Executor | None = None


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
    slices = _slices(len(work), workers.jobs)
    if workers.executor is None and len(work) < _MANY:
        yield from _begin(work, slices)
    left = list(slices)
    if left:
        for chosen, data in zip(left, _packed(work, left, workers), strict=True):
            yield from work.part(chosen).unpacked(data)


def _packed(work: Work[Any], slices: Sequence[slice], workers: Workers) -> Iterator[bytes]:
    if workers.executor is None:
        from cpuplan.workers import processes

        return processes.each(work, slices, workers.jobs)
    from cpuplan.workers import remote

    return remote.each(work, slices, workers.executor)


def _slices(number: int, jobs: int) -> Iterator[slice]:
    size = max(1, min(_MOST, number // (max(jobs, 2) * _PARTS)))
    return (slice(start, min(start + size, number)) for start in range(0, number, size))


def _begin(work: Work[Result], slices: Iterator[slice]) -> Iterator[Result]:
    """Do parts of it here, as long as that is no longer than starting others would be."""
    end = time.process_time() + _PATIENCE
    while time.process_time() < end and (chosen := next(slices, None)):
        yield from work.part(chosen).results()

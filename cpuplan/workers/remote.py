"""Workers of an executor, perhaps on other machines: each part is sent with all that it needs."""

import pickle
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from typing import Any

from cpuplan.diagnostics import CpuplanError, diagnose
from cpuplan.program import edition
from cpuplan.workers.work import Work


def each(work: Work[Any], slices: Sequence[slice], executor: Executor) -> Iterator[bytes]:
    """The packed results of each part of `work`, in their order.

    Raises CP623 where a part cannot be done, and CP624 for workers with another cpuplan.
    """
    own = edition()
    futures: list[Future[bytes | str]] = []
    try:
        sent = (pickle.dumps(work.part(chosen)) for chosen in slices)
        futures += (executor.submit(do, own, data) for data in sent)
        for future in futures:
            data = future.result()
            if isinstance(data, str):
                raise CpuplanError([diagnose("CP624", own=own, other=data)])
            yield data
    except BrokenExecutor as error:
        raise CpuplanError([diagnose("CP623", problem=str(error))]) from error
    finally:
        for future in futures:
            future.cancel()


def do(asked: str, data: bytes) -> bytes | str:
    """Do a part, on a worker; the worker's edition of cpuplan where another one was `asked` for.

    The part is read afterwards: what it is made of may differ between editions.
    """
    own = edition()
    if own != asked:
        return own
    part: Work[Any] = pickle.loads(data)  # noqa: S301 - whoever may send work may run anything here
    return part.packed()

"""Workers of an executor, perhaps on other machines: each part is sent with all that it needs."""

import pickle
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from typing import Any

from cpuplan.base.program import edition
from cpuplan.diagnostics import CpuplanError, diagnose
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
            yield _received(future, own)
    finally:
        for future in futures:
            future.cancel()


def _received(future: "Future[bytes | str]", own: str) -> bytes:
    try:
        data = future.result()
    except ModuleNotFoundError as error:
        other = f"no cpuplan, or not all of it ({error})"
        raise CpuplanError([diagnose("CP624", own=own, other=other)]) from error
    except Exception as error:
        if _is_unread(error) and _MISSING in error.args[0]:
            other = "no cpuplan, or not all of it"
            raise CpuplanError([diagnose("CP624", own=own, other=other)]) from error
        if not (_is_unread(error) or _is_lost(error)):
            raise  # a bug, wherever it happened
        problem = _UNREAD if _is_unread(error) else str(error) or type(error).__name__
        what = "the workers did not finish a part of the work"
        raise CpuplanError([diagnose("CP623", what=what, problem=problem)]) from error
    if isinstance(data, str):
        raise CpuplanError([diagnose("CP624", own=own, other=f"cpuplan {data[:_MOST]}")])
    if not isinstance(data, bytes):
        what = "the workers sent what is no result of their part of the work"
        raise CpuplanError([diagnose("CP623", what=what, problem=type(data).__name__)])
    return data


#: Of the words in which a worker names its edition.
_MOST = 200
#: In the bytes of an error that nobody reads here.
_MISSING = b"ModuleNotFoundError"
_UNREAD = "they ended, or failed with an error that is in their logs"


def _is_unread(error: BaseException) -> bool:
    """Whether it is an error that came as bytes, which Dask has not read (see `dask`)."""
    return type(error) is Exception and bool(error.args) and isinstance(error.args[0], bytes)


def _is_lost(error: BaseException) -> bool:
    """Whether who did the work ended, or cannot be reached any more."""
    of_engine = type(error).__module__.partition(".")[0] == "distributed"
    return of_engine or isinstance(error, BrokenExecutor | CancelledError | OSError)


def do(asked: str, data: bytes) -> bytes | str:
    """Do a part, on a worker; the worker's edition of cpuplan where another one was `asked` for.

    The part is read afterwards: what it is made of may differ between editions.
    """
    own = edition()
    if own != asked:
        return own
    part: Work[Any] = pickle.loads(data)  # noqa: S301 - whoever may send work may run anything here
    return part.packed()

"""Executors: processes of this machine, and workers that are perhaps on other machines."""

import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    as_completed,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import wait
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from typing import Any

from cpuplan.base.program import edition
from cpuplan.diagnostics import CpuplanError, diagnose
from cpuplan.workers.work import Work

#: When a process ends before its work, what is left is done by new ones; as often as this.
_TRIES = 2
#: What Python asks before it looks for modules in the working folder.
_SAFE_PATH = "PYTHONSAFEPATH"


def in_processes(work: Work[Any], slices: Sequence[slice], jobs: int) -> Iterator[bytes]:
    """The packed results of each part of `work`, in their order.

    Raises CP622 where processes end again and again.
    """
    left = dict(enumerate(slices))
    waiting: dict[int, bytes] = {}
    told = 0
    for _ in range(_TRIES):
        for index, data in _finished(work, left, jobs):
            waiting[index] = data
            while told in waiting:
                yield waiting.pop(told)
                told += 1
        left = {index: left[index] for index in left if index >= told and index not in waiting}
        if not left:
            return
    raise CpuplanError([diagnose("CP622", number=len(left), of=len(slices))])


def _finished(work: Work[Any], left: dict[int, slice], jobs: int) -> Iterator[tuple[int, bytes]]:
    """Parts as they are done; not all where a process ends."""
    with _pool(min(jobs, len(left)), work) as pool:
        futures: dict[Future[bytes], int] = {}
        try:
            with _uninterrupted(), _without_working_folder():
                futures = {pool.submit(_do, chosen): index for index, chosen in left.items()}
        except BrokenProcessPool:
            return
        for future in as_completed(futures):
            if not isinstance(future.exception(), BrokenProcessPool):
                yield futures[future], future.result()


@contextmanager
def _pool(number: int, work: Work[Any]) -> Iterator[ProcessPoolExecutor]:
    """Processes that know `work`. Whatever goes wrong here ends them at once."""
    others = multiprocessing.active_children()
    with _without_working_folder():  # its locks start a process
        pool = ProcessPoolExecutor(number, _context(work), initializer=_start, initargs=(work,))
    try:
        yield pool
    except BaseException:
        _kill(child for child in multiprocessing.active_children() if child not in others)
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def _kill(children: Iterable[BaseProcess]) -> None:
    for child in children:
        child.kill()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Processes that start here never see Ctrl-C: who started them ends them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _without_working_folder() -> Iterator[None]:
    """Processes that start here import nothing from the folder that they stand in.

    It may be a repository of others. Python would look for `multiprocessing` there first.
    """
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SAFE_PATH]
        else:
            os.environ[_SAFE_PATH] = before


def _context(work: Work[Any]) -> BaseContext:
    """A copy of this process, which has all modules and the work; a new one if it has threads.

    A thread, such as one of the solver, could hold a lock that nobody releases in the copy.
    """
    if _is_alone():
        work.prepare()  # once, and not in each copy
    return multiprocessing.get_context("fork" if _is_alone() else "spawn")


def _is_alone() -> bool:
    return threading.active_count() == 1 and _threads() == 1


def _threads() -> int:
    """The threads of this process, as the kernel counts them."""
    if not sys.platform.startswith("linux"):
        return 2  # elsewhere copies are not safe anyway
    return len(os.listdir("/proc/self/task"))


#: In a process that was started for it.
_work: Work[Any] | None = None


def _start(work: Work[Any]) -> None:
    global _work  # noqa: PLW0603 - what an initializer of a pool is for
    _work = work
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent:
        wait([parent.sentinel])
        os._exit(1)


def _do(chosen: slice) -> bytes:
    assert _work is not None  # noqa: S101 - `_start` comes first
    return _work.part(chosen).packed()


def in_executor(work: Work[Any], slices: Sequence[slice], executor: Executor) -> Iterator[bytes]:
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

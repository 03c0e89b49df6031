"""Guests that are prepared one after the other, and run two at a time, each in its own QEMU."""

from abc import abstractmethod
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

T = TypeVar("T")
#: QEMU emulates all CPUs of a guest in one thread, and takes 2 GB.
_AT_A_TIME = 2


class Guests(Generic[T]):
    """What guests showed, by name."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(_AT_A_TIME)
        self._started: dict[str, Future[T]] = {}

    @abstractmethod
    def prepared(self, name: str) -> Callable[[], T]:
        """Lay down the files of a guest; what then boots it."""

    def start(self, names: Iterable[str]) -> None:
        """Prepare guests here, since deliveries print; they boot meanwhile."""
        for name in names:
            self._started[name] = self._start(name)

    def seen(self, name: str) -> T:
        """What a guest showed, once it is off."""
        if name not in self._started:
            self.start([name])
        return self._started[name].result()

    def _start(self, name: str) -> Future[T]:
        """What failed is told by each test of the guest."""
        try:
            return self._executor.submit(self.prepared(name))
        except Exception as error:
            failed: Future[T] = Future()
            failed.set_exception(error)
            return failed

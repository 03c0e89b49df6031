"""A function of each of some values: work whose pieces need nothing but the value."""

import copyreg
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

from cpuplan.workers.divide import HERE, Workers, results

Given = TypeVar("Given")
Result = TypeVar("Result")


def _reduced(proxy: Mapping[Any, Any]) -> tuple[Any, ...]:
    return _proxy, (dict(proxy),)


def _proxy(mapping: dict[Any, Any]) -> Mapping[Any, Any]:
    return MappingProxyType(mapping)


# The empty mapping of many values is one, and Python does not know how to send it.
copyreg.pickle(MappingProxyType, _reduced)


class _Failed(NamedTuple):
    error: Exception


@dataclass(frozen=True)
class _Calls(Generic[Given, Result]):
    """The function and the values, which can all be sent, and the errors that are answers."""

    function: Callable[[Given], Result]
    given: Sequence[Given]
    errors: tuple[type[Exception], ...]

    def __len__(self) -> int:
        return len(self.given)

    def prepare(self) -> None:
        """Nothing: whoever has the function has what it needs."""

    def part(self, chosen: slice) -> "_Calls[Given, Result]":
        return replace(self, given=self.given[chosen])

    def results(self) -> list[Result | _Failed]:
        return list(map(self._result, self.given))

    def packed(self) -> bytes:
        return pickle.dumps(self.results(), protocol=5)

    def unpacked(self, data: bytes) -> list[Result | _Failed]:
        found: list[Result | _Failed] = pickle.loads(data)  # noqa: S301 - of our workers
        return found

    def _result(self, given: Given) -> Result | _Failed:
        try:
            return self.function(given)
        except self.errors as error:
            return _Failed(error)


def results_of(
    function: Callable[[Given], Result],
    given: Sequence[Given],
    workers: Workers = HERE,
    errors: tuple[type[Exception], ...] = (),
) -> Iterator[Result]:
    """The results of a function of each value, in their order, whoever makes them.

    Of the `errors` that it raises the first one in this order is raised here, whoever was first.
    """
    for result in results(_Calls(function, given, errors), workers):
        if isinstance(result, _Failed):
            raise result.error
        yield result

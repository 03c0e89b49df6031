"""A function of each of some values: work whose pieces need nothing but the value."""

import copyreg
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

from cpuplan.base.codec import Codec, CodecError, frame, unframe
from cpuplan.diagnostics import CpuplanError, Diagnostic
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


class _Error(NamedTuple):
    """An error as it is sent: which of the known ones, and what it was made of."""

    number: int
    words: tuple[str | int, ...]
    diagnostics: tuple[Diagnostic, ...]


#: What is before a result, and before an error.
_RESULT, _ERROR = b"=", b"!"
_ERRORS: Codec[_Error] = Codec(_Error, any_text=True)


@dataclass(frozen=True)
class _Calls(Generic[Given, Result]):
    """The function and the values, which can all be sent, and the errors that are answers.

    `kind` is the type of the results: they come back as data.
    """

    function: Callable[[Given], Result]
    given: Sequence[Given]
    errors: tuple[type[Exception], ...]
    kind: Any

    def __len__(self) -> int:
        return len(self.given)

    def prepare(self) -> None:
        """Nothing: whoever has the function has what it needs."""

    def part(self, chosen: slice) -> "_Calls[Given, Result]":
        return replace(self, given=self.given[chosen])

    def results(self) -> list[Result | _Failed]:
        return list(map(self._result, self.given))

    def packed(self) -> bytes:
        codec = self._codec()
        return frame(self._packed(result, codec) for result in self.results())

    def unpacked(self, data: bytes) -> list[Result | _Failed]:
        codec = self._codec()
        return [self._unpacked(piece, codec) for piece in unframe(data)]

    def _codec(self) -> Codec[Result]:
        return Codec(self.kind, any_text=True)

    def _packed(self, result: Result | _Failed, codec: Codec[Result]) -> bytes:
        if not isinstance(result, _Failed):
            return _RESULT + codec.encode(result)
        error = result.error
        number = [isinstance(error, kind) for kind in self.errors].index(True)
        if isinstance(error, CpuplanError):
            return _ERROR + _ERRORS.encode(_Error(number, (), error.diagnostics))
        return _ERROR + _ERRORS.encode(_Error(number, error.args, ()))

    def _unpacked(self, piece: bytes, codec: Codec[Result]) -> Result | _Failed:
        mark, data = piece[:1], piece[1:]
        if mark == _RESULT:
            return codec.decode(data)
        if mark != _ERROR:
            raise CodecError(f"{mark!r} is neither a result nor an error")
        error = _ERRORS.decode(data)
        if not 0 <= error.number < len(self.errors):
            raise CodecError(f"no error {error.number}")
        kind = self.errors[error.number]
        of_kind = (error.diagnostics,) if issubclass(kind, CpuplanError) else error.words
        return _Failed(kind(*of_kind))

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
    kind: Any = Any,
) -> Iterator[Result]:
    """The results of a function of each value, in their order, whoever makes them.

    `kind` is their type, as `codec` reads it; by default, they are data as JSON has it.
    Of the `errors` that it raises the first one in this order is raised here, whoever was first.
    """
    for result in results(_Calls(function, given, errors, kind), workers):
        if isinstance(result, _Failed):
            raise result.error
        yield result

"""What was made of units as bytes, to be sent or kept: values only, and classes by their keys.

Reading calls nothing but the constructors of these values: bytes that were damaged or forged may be
refused, but run no code.
"""

import io
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, TypeVar

from cpuplan import cpuset, diagnostics, plan, setting, source
from cpuplan.backends import base, parts
from cpuplan.backends.parts import Parts
from cpuplan.fleet.before import Key
from cpuplan.perclass import unit
from cpuplan.perclass.unit import Made
from cpuplan.plan import NodeClass

_VALUES: tuple[Any, ...] = (
    base.Object,
    cpuset.of_bits,
    diagnostics.Diagnostic,
    diagnostics.Label,
    diagnostics.Reason,
    diagnostics.Severity,
    diagnostics.Waiver,
    parts.Parts,
    plan.ConfiguredPlan,
    plan.Limited,
    plan.Pool,
    plan.Unproven,
    setting.Cost,
    setting.Effect,
    setting.Evidence,
    setting.Form,
    setting.Setting,
    setting.Settings,
    source.Position,
    unit.Made,
)
_BY_NAME = {(value.__module__, value.__qualname__): value for value in _VALUES}


class UnpackError(ValueError):
    """Bytes that are not what `pack` made."""


def pack(value: Made | Parts) -> bytes:
    """The bytes of what was made, without its classes of nodes."""
    file = io.BytesIO()
    pickler = pickle.Pickler(file, protocol=5)
    pickler.dispatch_table = _BY_KEY
    pickler.dump(value)
    return file.getvalue()


def unpack(data: bytes, classes: Mapping[Key, NodeClass]) -> Made:
    """What `pack` was given, for classes that are known here. Raises UnpackError."""
    return _read(data, classes, Made)


def unpack_parts(data: bytes) -> Parts:
    """The same of files, which name no classes."""
    return _read(data, {}, Parts)


_Kind = TypeVar("_Kind", Made, Parts)


def _read(data: bytes, classes: Mapping[Key, NodeClass], kind: type[_Kind]) -> _Kind:
    try:
        value = _Unpickler(io.BytesIO(data), classes).load()
    except Exception as error:  # unpickling what is damaged may raise whatever
        raise UnpackError from error
    if not isinstance(value, kind):
        raise UnpackError(type(value).__name__)
    return value


def known_class(cluster: str, name: str) -> NodeClass:
    """The class with this key, among those that are known to who reads."""
    raise UnpackError(f"{cluster}/{name}")  # only `_Unpickler` can say


def _by_key(node_class: NodeClass) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return known_class, node_class.key


#: Bytes of the length of a piece.
_LENGTH = 4
#: A `persistent_id` would be asked about each of the values.
_BY_KEY: dict[type, Any] = {NodeClass: _by_key}


def frame(pieces: Iterable[bytes]) -> bytes:
    """Several pieces of bytes as one, each after its length."""
    return b"".join(chain.from_iterable((len(each).to_bytes(_LENGTH), each) for each in pieces))


def unframe(data: bytes) -> Iterator[bytes]:
    """The pieces of `frame`. Raises UnpackError for other bytes."""
    start = 0
    while start < len(data):
        begin = start + _LENGTH
        start = begin + int.from_bytes(data[start:begin])
        if start > len(data):
            raise UnpackError(f"{start} of {len(data)} bytes")
        yield data[begin:start]


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, classes: Mapping[Key, NodeClass]) -> None:
        super().__init__(file)
        self._classes = classes

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == (__name__, known_class.__name__):
            return self._known
        value = _BY_NAME.get((module, name))
        if value is None:
            raise UnpackError(f"{module}.{name}")
        return value

    def _known(self, cluster: str, name: str) -> NodeClass:
        return self._classes[cluster, name]

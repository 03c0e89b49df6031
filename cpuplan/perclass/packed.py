"""What was made of units as bytes, to be sent or kept: values only, and classes by their keys.

Reading calls nothing but the constructors of these values: bytes that were damaged or forged may be
refused, but run no code.
"""

import io
import pickle
from collections.abc import Iterable, Mapping
from typing import Any

from cpuplan import cpuset, diagnostics, plan, setting, source
from cpuplan.fleet.before import Key
from cpuplan.perclass import unit
from cpuplan.perclass.unit import Made
from cpuplan.plan import NodeClass

_VALUES: tuple[Any, ...] = (
    cpuset.of_bits,
    diagnostics.Diagnostic,
    diagnostics.Label,
    diagnostics.Reason,
    diagnostics.Severity,
    diagnostics.Waiver,
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


def pack(made: Iterable[Made]) -> bytes:
    """The bytes of what was made, without its classes of nodes."""
    file = io.BytesIO()
    _Pickler(file, protocol=5).dump(list(made))
    return file.getvalue()


def unpack(data: bytes, classes: Mapping[Key, NodeClass]) -> list[Made]:
    """What `pack` was given, for classes that are known here. Raises UnpackError."""
    try:
        made: list[Made] = _Unpickler(io.BytesIO(data), classes).load()
    except Exception as error:  # unpickling what is damaged may raise whatever
        raise UnpackError from error
    return made


class _Pickler(pickle.Pickler):
    def persistent_id(self, obj: Any) -> Key | None:
        return obj.key if isinstance(obj, NodeClass) else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, classes: Mapping[Key, NodeClass]) -> None:
        super().__init__(file)
        self._classes = classes

    def persistent_load(self, pid: Any) -> NodeClass:
        return self._classes[pid]

    def find_class(self, module: str, name: str) -> Any:
        value = _BY_NAME.get((module, name))
        if value is None:
            raise UnpackError(f"{module}.{name}")
        return value

"""A setting: one fact that a component of the node must be told. The second waist of the
compiler.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple, TypeAlias, Union

from cpuplan.cpuset import CpuSet
from cpuplan.diagnostics import Reason

#: What a setting says. A CpuSet is compared as a set and printed as the component reads it. True
#: for a kernel argument without a value.
Value: TypeAlias = Union[bool, int, float, str, CpuSet, "tuple[Value, ...]", "dict[str, Value]"]


class Setting(NamedTuple):
    """(component, key, value, reasons). Emitting, explaining and checking all read this and nothing
    else.
    """

    component: str
    key: str
    value: Value
    reasons: tuple[Reason, ...]


class Settings:
    """All settings of one class, in the order of its components. They are made once, after the
    class is solved.
    """

    def __init__(self, settings: Iterable[Setting]) -> None:
        self._by_component: dict[str, list[Setting]] = {}
        for setting in settings:
            self._by_component.setdefault(setting.component, []).append(setting)

    def __iter__(self) -> Iterator[Setting]:
        return chain.from_iterable(self._by_component.values())

    def of(self, component: str) -> Sequence[Setting]:
        """The settings of one component, in their order."""
        return self._by_component.get(component, ())

    def values(self, component: str) -> dict[str, Value]:
        """The values of one component's settings, by key."""
        return {setting.key: setting.value for setting in self.of(component)}


def names_cpu(value: Value, cpu: int) -> bool:
    """Whether a value is, or holds, a CPU set with `cpu` in it."""
    return any(cpu in cpus for cpus in cpu_sets(value))


def cpu_sets(value: Value) -> Iterator[CpuSet]:
    """The CPU sets that a value is, or holds."""
    if isinstance(value, CpuSet):
        yield value
    elif isinstance(value, dict | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            yield from cpu_sets(item)

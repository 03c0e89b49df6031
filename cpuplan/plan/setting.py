"""A setting: one value that a program on the node reads. The second waist of the compiler."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeAlias, Union

from cpuplan.base.cpuset import CpuSet, CpuSetError
from cpuplan.diagnostics import Reason
from cpuplan.facts.settings.costs import Cost
from cpuplan.facts.settings.row import Form, Row

#: What a setting says. A CpuSet is compared as a set and printed as the component reads it. True
#: for a kernel argument without a value.
Value: TypeAlias = Union[bool, int, float, str, CpuSet, "tuple[Value, ...]", "dict[str, Value]"]


class Evidence(NamedTuple):
    """A file of a running node that shows the value in force by itself."""

    #: Below the node's root, without a leading slash.
    path: str
    form: Form
    #: What the file must say.
    value: Value
    #: The release of Linux that brought the file, as `6.11`; "" where it is older than all.
    since: str = ""


class Effect(NamedTuple):
    """Where the value in force shows, and what a change of it costs the node."""

    #: A path below the node's root, or a command; empty where nothing shows the value.
    shown_by: str
    change_costs: Cost
    #: What `check` compares without knowing the component.
    evidence: tuple[Evidence, ...] = ()


class Setting(NamedTuple):
    """(component, key, value, reasons): all that emitting, explaining and checking read."""

    component: str
    key: str
    value: Value
    reasons: tuple[Reason, ...]
    #: That of the component unless the setting has its own; None where it is not known.
    effect: Effect | None = None


class Settings:
    """All settings of one class, in the order of its components; made once for each plan."""

    def __init__(self, settings: Iterable[Setting]) -> None:
        self._by_component: dict[str, list[Setting]] = {}
        self._texts: dict[str, str] = {}
        for setting in settings:
            self._by_component.setdefault(setting.component, []).append(setting)

    def __iter__(self) -> Iterator[Setting]:
        return chain.from_iterable(self._by_component.values())

    def of(self, component: str) -> Sequence[Setting]:
        """The settings of one component, in their order."""
        return self._by_component.get(component, ())

    def find(self, row: Row, **names: str) -> Setting | None:
        """The setting of a row; None without one. `names` fill in the key."""
        key = row.of(**names)
        return next((setting for setting in self.of(row.component) if setting.key == key), None)

    def value(self, row: Row, **names: str) -> Value | None:
        """The value of a row's setting; None without one."""
        setting = self.find(row, **names)
        return setting.value if setting else None

    def text(self, component: str, render: Callable[[Sequence[Setting]], str]) -> str:
        """What `render` of a component makes of its settings, once for all who read or check it."""
        if component not in self._texts:
            self._texts[component] = render(self.of(component))
        return self._texts[component]

    def values(self, component: str) -> dict[str, Value]:
        """The values of one component's settings, by key."""
        return {setting.key: setting.value for setting in self.of(component)}


def plain(value: Value) -> Any:
    """A value as YAML and JSON have it: CPU sets as the lists that Linux reads."""
    if isinstance(value, CpuSet):
        return str(value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return list(map(plain, value)) if isinstance(value, tuple) else value


def from_plain(data: Any) -> Value:
    """The value of data that was read; of null, no entry of a map."""
    if isinstance(data, list):
        return tuple(map(from_plain, data))
    if isinstance(data, dict):
        return {str(key): from_plain(item) for key, item in data.items() if item is not None}
    return data if isinstance(data, bool | int | float | str) else str(data)


def mask_text(value: Value) -> str:
    """CPUs as a mask; what is no set as it is."""
    return value.mask() if isinstance(value, CpuSet) else str(value)


def cpus_or_text(text: str) -> Value:
    """The CPUs of a list; what is none as it is."""
    try:
        return CpuSet.parse(text)
    except CpuSetError:
        return text


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

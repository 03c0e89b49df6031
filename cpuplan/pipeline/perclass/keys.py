"""Digests of all that the result of a unit depends on, by which it is kept and found again.

Every attribute of a class counts, also one that is added later. Lines do not: no result that is
kept has any. A value of a kind that is not known here has no digest, and its unit is not kept.
"""

from collections.abc import Mapping
from enum import Enum
from hashlib import sha256
from typing import Any

from cpuplan.backends.parts import Wanted
from cpuplan.base.cpuset import CpuSet
from cpuplan.base.program import program_digest
from cpuplan.base.topology import Topology
from cpuplan.fleet.lock import Locked
from cpuplan.language.model.base import Model
from cpuplan.pipeline.perclass.unit import Unit
from cpuplan.plan import Limited


class UnknownError(TypeError):
    """A value that no digest is made of."""


class Digests:
    """Digests of values; those that many classes share are made once."""

    def __init__(self) -> None:
        self._made: dict[int, str] = {}
        # An id is that of one value only while the value is there.
        self._alive: list[object] = []

    def facts(self, unit: Unit, beside: object) -> str:
        """All that a unit's result depends on, but the layouts that it starts from."""
        members = [self.text(vars(member)) for member in unit.members]
        return _sha(f"{program_digest()} {self.text(beside)} {members}")

    def text(self, value: Any) -> str:
        """A text that only equal values have."""
        if value is None or isinstance(value, bool | int | float | str):
            return repr(value)
        if isinstance(value, Enum):
            return f"{type(value).__name__}.{value.name}"
        if isinstance(value, CpuSet):
            return f"cpus {value.bits:x}"
        if isinstance(value, Mapping):
            items = (f"{self.text(key)}:{self.text(item)}" for key, item in value.items())
            return f"{{{','.join(items)}}}"
        if isinstance(value, tuple) and all(type(item) is str for item in value):
            return repr(value)  # names of nodes, thousands of them
        if isinstance(value, tuple | list):
            return f"{type(value).__name__}({','.join(map(self.text, value))})"
        if isinstance(value, Model | Topology):
            return self._once(value)
        raise UnknownError(type(value).__name__)

    def _once(self, value: Model | Topology) -> str:
        found = self._made.get(id(value))
        if found is None:
            text = self._topology(value) if isinstance(value, Topology) else _model(value)
            found = self._made[id(value)] = _sha(text)
            self._alive.append(value)
        return found

    def _topology(self, value: Topology) -> str:
        return self.text((value.cpus, value.offline, value.numa_facts, value.kubelet))


def _model(value: Model) -> str:
    """Its values, and which of them are written: some rules ask that."""
    return f"{value!r} {value.model_dump_json(exclude_unset=True)}"


def kept(facts: str, layout: Mapping[str, CpuSet], limited: Limited | None) -> str:
    """The key of a result that has this layout, which was found to satisfy every rule.

    What was not proven of it is part of the result.
    """
    return _sha(f"{facts} has {_pools(layout)} {limited}")


def solved(facts: str, unit: Unit) -> str:
    """The key of the result of a unit with all layouts that it may start from."""
    starts = [
        [(start.key, start.is_own, *map(_locked, (start.locked, *start.locked.others)))]
        for group in unit.starts
        for start in group
    ]
    return _sha(f"{facts} from {starts}")


def parts(result: str, wanted: Wanted) -> str:
    """The key of the files of a class, whose settings are those of the `result` with this key.

    "" where facts have no digest.
    """
    try:
        facts = Digests().text(wanted.facts)
    except UnknownError:
        return ""
    return _sha(f"{result} {wanted.plan.node_class.key} {facts}")


def _locked(locked: Locked) -> tuple[object, ...]:
    return (locked.solved_from, _pools(locked.pools), *locked.content[2:])


def _pools(layout: Mapping[str, CpuSet]) -> list[tuple[str, str]]:
    return sorted((name, f"{cpus.bits:x}") for name, cpus in layout.items() if cpus)


def _sha(text: str) -> str:
    return sha256(text.encode()).hexdigest()

"""Settings that differ between two compiled classes, and the statements that changed them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.diagnostics import Reason
from cpuplan.diagnostics.source import Locate, Position

#: Statements that decide about CPUs; what they change shows in settings whose own reasons stay.
_LAYOUT = re.compile(r"(Intent/[^:]+:spec\.(pools|qos|workloads|rules|objective)\b|rule |goal)")

#: The values of one key, in their order, and their reasons.
_Entry = tuple[tuple[Any, ...], tuple[Reason, ...]]


class Cause(NamedTuple):
    """Why something changed: a sentence and its statement, and its line if it is written now."""

    text: str
    origin: str
    place: Position | None


class SettingChange(NamedTuple):
    """A setting, its values on both sides (none where there is no such setting), and causes."""

    component: str
    key: str
    before: tuple[Any, ...]
    after: tuple[Any, ...]
    causes: tuple[Cause, ...]


class Causes:
    """Finds what changed a setting of a class: statements whose words are others than before."""

    def __init__(self, before: Mapping[str, Any], after: Mapping[str, Any], locate: Locate) -> None:
        self._locate, self._names = locate, _Names(before, after)
        old, new = _of_pools(before), _of_pools(after)
        self._of_layout = self._changed(old, new)

    @property
    def of_layout(self) -> tuple[Cause, ...]:
        """The statements that changed the layout."""
        return self._located(self._of_layout)

    def of(self, before: Sequence[Reason], after: Sequence[Reason]) -> tuple[Cause, ...]:
        """The causes of a change, from the reasons of a value on both sides."""
        changed = self._changed(before, after)
        if not changed and any(_LAYOUT.match(reason.origin) for reason in (*after, *before)):
            changed = self._of_layout
        return self._located(changed or self._names.reasons or after or before)

    def _changed(self, before: Sequence[Reason], after: Sequence[Reason]) -> tuple[Reason, ...]:
        """New reasons, else those that are gone."""
        renamed = [self._names.of_now(reason) for reason in before]
        gone = [old for old, new in zip(before, renamed, strict=True) if new not in after]
        new = (reason for reason in after if reason not in renamed)
        return tuple(dict.fromkeys(new)) or tuple(dict.fromkeys(gone))

    def _located(self, reasons: Sequence[Reason]) -> tuple[Cause, ...]:
        """Those that are written somewhere, and all if none is."""
        made = [Cause(*reason, self._locate(reason.origin)) for reason in reasons]
        written = [cause for cause in made if cause.place or ":" in cause.origin]
        return tuple(dict.fromkeys(written or made))


class _Names:
    """The intent and the hardware of a class, if they have other names now."""

    def __init__(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
        kinds = {"Intent": "intent", "Hardware": "hardware"}
        self._pairs = [
            (f"{kind}/{before[key]}:", f"{kind}/{after[key]}:")
            for kind, key in kinds.items()
            if before[key] != after[key]
        ]
        self.reasons = tuple(
            Reason(f"{new[:-1]} was {old[:-1]}", f"{new}metadata.name") for old, new in self._pairs
        )

    def of_now(self, reason: Reason) -> Reason:
        """A reason of before with the names of now."""
        for old, new in self._pairs:
            if reason.origin.startswith(old):
                return reason._replace(origin=new + reason.origin.removeprefix(old))
        return reason


def changes(
    before: Mapping[str, Any], after: Mapping[str, Any], causes: Causes
) -> tuple[SettingChange, ...]:
    """The settings of two classes that differ, in the order of their components."""
    old, new = _entries(before), _entries(after)
    found = []
    for key in dict.fromkeys([*new, *old]):
        was, reasons_before = old.get(key, ((), ()))
        now, reasons_after = new.get(key, ((), ()))
        if was != now:
            because = causes.of(reasons_before, reasons_after)
            found.append(SettingChange(*key, was, now, because))
    return tuple(found)


def _entries(plan: Mapping[str, Any]) -> dict[tuple[str, str], _Entry]:
    """The values and reasons by component and key; boot arguments may have a key several times."""
    found: dict[tuple[str, str], _Entry] = {}
    for entry in plan["settings"]:
        key = str(entry["component"]), str(entry["key"])
        values, reasons = found.get(key, ((), ()))
        found[key] = (*values, entry["value"]), (*reasons, *_reasons(entry))
    return found


def _reasons(entry: Mapping[str, Any]) -> tuple[Reason, ...]:
    return tuple(Reason(str(each["text"]), str(each["origin"])) for each in entry["because"])


def _of_pools(plan: Mapping[str, Any]) -> tuple[Reason, ...]:
    """The reasons of all pools and sets of a class."""
    pools = {**plan["pools"], **plan.get("sets", {})}
    return tuple(reason for entry in pools.values() for reason in _reasons(entry))

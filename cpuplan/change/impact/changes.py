"""What differs between two snapshots: settings with their causes, pools, objects and files."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.change.impact.snapshot import Object, ObjectId
from cpuplan.diagnostics import Reason
from cpuplan.diagnostics.source import Locate, Position
from cpuplan.solve.moves import groups, short

#: Keys that name an item of a list, so that a field's path does not depend on its place.
_NAMES = ("path", "name", "key")
#: Kinds that are their names: one that goes and one that comes are two, however alike.
_NEVER_RENAMED = frozenset({"Namespace", "Node"})


class How(Enum):
    """What becomes of an object or a file."""

    COMES = "comes"
    CHANGES = "changes"
    GOES = "goes"
    RENAMED = "renamed"


class ObjectChange(NamedTuple):
    """An object, what becomes of it, and its changed fields; of a renamed one its name before."""

    id: ObjectId
    how: How
    fields: tuple[str, ...] = ()
    was: str = ""


def object_changes(
    before: Mapping[ObjectId, Object], after: Mapping[ObjectId, Object]
) -> tuple[ObjectChange, ...]:
    """What becomes of the objects of a cluster, by kind and name."""
    gone = [before[identity] for identity in sorted(before.keys() - after.keys())]
    come = [after[identity] for identity in sorted(after.keys() - before.keys())]
    renamed = dict(_renamed(gone, come))
    changes = [ObjectChange(new, How.RENAMED, was=old.name) for new, old in renamed.items()]
    changes += [ObjectChange(value.id, How.COMES) for value in come if value.id not in renamed]
    left = set(renamed.values())
    changes += [ObjectChange(value.id, How.GOES) for value in gone if value.id not in left]
    for identity in sorted(before.keys() & after.keys()):
        fields = tuple(differing(before[identity].data, after[identity].data))
        if fields:
            changes.append(ObjectChange(identity, How.CHANGES, fields))
    return tuple(sorted(changes, key=lambda change: (change.id.kind, *change.id)))


def _renamed(gone: Iterable[Object], come: Iterable[Object]) -> Iterator[tuple[ObjectId, ObjectId]]:
    """New objects and the gone ones that say the same but for their names."""
    left = list(gone)
    for new in come:
        same = next((old for old in left if _is_same(old, new)), None)
        if same:
            left.remove(same)
            yield new.id, same.id


def _is_same(old: Object, new: Object) -> bool:
    is_of_kind = old.id._replace(name="") == new.id._replace(name="")
    if not is_of_kind or new.id.kind in _NEVER_RENAMED:
        return False
    text, wanted = _text(old.data), _text(new.data)
    return any(_replaced(text, *names) == wanted for names in _names(old.id.name, new.id.name))


def _text(data: Mapping[str, Any]) -> str:
    return json.dumps(data, sort_keys=True)


def _replaced(text: str, old: str, new: str) -> str:
    """The text with another name, where that is a word of its own."""
    return re.sub(rf"(?<![A-Za-z0-9]){re.escape(old)}(?![A-Za-z0-9])", new, text)


def _names(old: str, new: str) -> Iterator[tuple[str, str]]:
    """Both names, and the words in which they differ: of `50-du` and `50-ran` `du` and `ran`."""
    yield old, new
    first, second = old.split("-"), new.split("-")
    while first and second and first[0] == second[0]:
        del first[0], second[0]
    while first and second and first[-1] == second[-1]:
        del first[-1], second[-1]
    if first and second:
        yield "-".join(first), "-".join(second)


def differing(before: Any, after: Any, at: str = "") -> Iterator[str]:
    """The paths of fields that differ: `spec.config.storage.files[/etc/crio/...].contents`."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            yield from differing(before.get(key), after.get(key), f"{at}.{key}" if at else key)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _of_lists(before, after, at)
    elif before != after:
        yield at


def _of_lists(before: list[Any], after: list[Any], at: str) -> Iterator[str]:
    old, new = _by_name(before), _by_name(after)
    if old is None or new is None:
        if before != after:
            yield at
        return
    for name in dict.fromkeys([*new, *old]):
        yield from differing(old.get(name), new.get(name), f"{at}[{name}]")
    if not old.keys() ^ new.keys() and list(old) != list(new):
        yield at


def _by_name(items: list[Any]) -> dict[str, Any] | None:
    """The items by what they are called; None where an item has no name, or two have one."""
    named = {}
    for item in items:
        name = _name_of(item)
        if name is None or name in named:
            return None
        named[name] = item
    return named


def _name_of(item: Any) -> str | None:
    if not isinstance(item, dict):
        return None
    return next((item[key] for key in _NAMES if isinstance(item.get(key), str)), None)


class Move(NamedTuple):
    """CPUs that leave the same sets for the same sets; none where a side does not have the CPU."""

    cpus: CpuSet
    before: tuple[str, ...]
    after: tuple[str, ...]


class PoolChange(NamedTuple):
    """A pool, partition or QoS set, and its CPUs on both sides."""

    name: str
    before: CpuSet
    after: CpuSet


def layout(plan: Mapping[str, Any] | None) -> dict[str, CpuSet]:
    """The CPUs of each pool and set of a class, as `backends.planfile` wrote it."""
    if plan is None:
        return {}
    named = {**plan["pools"], **plan.get("sets", {})}
    return {name: CpuSet.parse(entry["cpus"]) for name, entry in named.items()}


def pool_changes(
    before: Mapping[str, CpuSet], after: Mapping[str, CpuSet]
) -> tuple[PoolChange, ...]:
    """Sets with other CPUs than before, those that come and go included."""
    names = dict.fromkeys([*after, *before])
    changes = (PoolChange(name, before.get(name, EMPTY), after.get(name, EMPTY)) for name in names)
    return tuple(change for change in changes if change.before != change.after)


def moves(before: Mapping[str, CpuSet], after: Mapping[str, CpuSet]) -> tuple[Move, ...]:
    """Each CPU whose sets are others, in groups, by the lowest CPU."""
    moved = groups(dict(sorted(before.items())), dict(sorted(after.items())))
    return tuple(Move(cpus, short(left), short(entered)) for (left, entered), cpus in moved.items())


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


def setting_changes(
    before: Mapping[str, Any], after: Mapping[str, Any], causes: Causes
) -> tuple[SettingChange, ...]:
    """The settings of two classes that differ, in the order of their components."""
    old, new = _entries(before), _entries(after)
    changes = []
    for key in dict.fromkeys([*new, *old]):
        was, reasons_before = old.get(key, ((), ()))
        now, reasons_after = new.get(key, ((), ()))
        if was != now:
            because = causes.of(reasons_before, reasons_after)
            changes.append(SettingChange(*key, was, now, because))
    return tuple(changes)


def _entries(plan: Mapping[str, Any]) -> dict[tuple[str, str], _Entry]:
    """The values and reasons by component and key; boot arguments may have a key several times."""
    entries: dict[tuple[str, str], _Entry] = {}
    for entry in plan["settings"]:
        key = str(entry["component"]), str(entry["key"])
        values, reasons = entries.get(key, ((), ()))
        entries[key] = (*values, entry["value"]), (*reasons, *_reasons(entry))
    return entries


def _reasons(entry: Mapping[str, Any]) -> tuple[Reason, ...]:
    return tuple(Reason(str(reason["text"]), str(reason["origin"])) for reason in entry["because"])


def _of_pools(plan: Mapping[str, Any]) -> tuple[Reason, ...]:
    """The reasons of all pools and sets of a class."""
    pools = {**plan["pools"], **plan.get("sets", {})}
    return tuple(reason for entry in pools.values() for reason in _reasons(entry))


class FileChange(NamedTuple):
    """A file and what becomes of it."""

    path: str
    how: How


def file_changes(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> tuple[FileChange, ...]:
    """The files in which two trees differ, by path."""
    changes = []
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if old != new:
            how = How.CHANGES
            if old is None or new is None:
                how = How.COMES if old is None else How.GOES
            changes.append(FileChange(path, how))
    return tuple(changes)

"""What was imported, put into a document that is there: the machine's facts change, all else stays
as it is.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

from cpuplan.cpuset import EMPTY, CpuSet, CpuSetError, union
from cpuplan.emit import Flow
from cpuplan.importers.differences import same_memory
from cpuplan.quantity import to_bytes

#: The keys above a value; an item of a list has those of the list.
Path: TypeAlias = tuple[str, ...]
#: Whether a key that is there, and that the import does not have, goes.
Dropped: TypeAlias = Callable[[Path, Collection[str]], bool]

_CPU_LISTS = frozenset({"cpus", "threads", "offline", "clusters", "unlabelled", "unreadCaches"})
#: What tells the items of a list of mappings apart, best first.
_IDENTITIES = (("address",), ("id",), ("name",), ("level", "type"), ("type",))
#: Set by software, so that machines of one kind may differ in it.
SOFTWARE = frozenset({"hugePages", "driver", "name"})
#: Of two keys that say the same thing, only one may be there.
_ALTERNATIVES = {"regular": "topology", "topology": "regular", "per": "cpus", "cpus": "per"}
#: Keys below `topology` and `devices` whose absence says something, when the kernel's own files
#: were read.
_TOLD_BY_ABSENCE = {
    ("topology",): frozenset({"offline", "dies", "clusters", "kubelet"}),
    ("topology", "cores"): frozenset({"ids", "type"}),
    ("topology", "numaNodes"): frozenset({"hugePages", "cpus"}),
    ("topology", "caches"): frozenset({"ids"}),
    ("devices",): frozenset({"numaNode", "functions"}),
}


def plain(value: Any) -> Any:
    """Data without Flow and tuples."""
    if isinstance(value, Flow):
        value = value.data
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def merge_hardware(old: dict[str, Any], new: dict[str, Any], *, complete: bool) -> dict[str, Any]:
    """The spec of a Hardware document with the facts of an import; `complete` if it was of the
    kernel's own files.

    A key that the import lacks stays, as its format may not tell it, unless its absence is a fact
    or it speaks of CPUs that are no longer there. An import that tells less than the document
    (`tells_less`) only adds what is not in it.
    """
    return (
        _filled(old, new)
        if not complete and tells_less(old, new)
        else _merged(old, new, complete=complete)
    )


def tells_less(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Whether an import of the same CPUs has no word of what the document knows: it may be less
    exact in the rest too.

    `lscpu` merges cores of unlike kinds, say, and knows neither core ids nor, often, the
    architecture.
    """
    data = plain(new)
    before, layout = old.get("topology") or {}, data.get("topology") or {}
    return _in_cores(before) == _in_cores(layout) and not _told(old) <= _told(data)


def _told(spec: Mapping[str, Any]) -> set[str]:
    layout = spec.get("topology") or {}
    parts = (
        ("numaNodes", "memory"),
        ("numaNodes", "distances"),
        ("cores", "ids"),
        ("cores", "type"),
    )
    found = {key for part, key in parts if any(key in entry for entry in layout.get(part, ()))}
    return (
        found
        | spec.keys() & {"devices", "hugePageSizes"}
        | layout.keys() & {"dies", "clusters", "kubelet"}
    )


def _filled(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The document with keys that it lacks, of the machine and of its topology."""
    layout, added = old.get("topology"), new.get("topology")
    filled: dict[str, Any] = _merge_mappings(
        old, {key: old.get(key, value) for key, value in new.items()}, _kept, ()
    )
    if isinstance(layout, dict) and isinstance(added, dict):
        values = {key: layout.get(key, value) for key, value in added.items()}
        filled["topology"] = _merge_mappings(layout, values, _kept, ())
    return filled


def _kept(_path: Path, _given: Collection[str]) -> bool:
    return False


def _merged(old: dict[str, Any], new: dict[str, Any], *, complete: bool) -> dict[str, Any]:
    layout = plain(new.get("topology") or {})
    before = old.get("topology") or {}
    other_cpus = _present(before) != _present(layout)

    def dropped(path: Path, given: Collection[str]) -> bool:
        *above, key = path
        if _ALTERNATIVES.get(key) in given or (complete and _told_by_absence(tuple(above), key)):
            return True
        if path == ("topology", "offline"):
            return bool(_cpus(before, "offline") & _in_cores(layout))
        return other_cpus and bool(layout) and above[:1] == ["topology"] and "devices" not in above

    merged: dict[str, Any] = merge(old, new, dropped)
    return merged


def _told_by_absence(above: Path, key: str) -> bool:
    return key in _TOLD_BY_ABSENCE.get(above, ()) or above[-1:] == ("hugePages",)


def same_facts(old: dict[str, Any], new: dict[str, Any], *, complete: bool) -> bool:
    """Whether an import says nothing that a document does not, but for what software sets."""
    bare_old, bare_new = (
        _without(plain(spec), SOFTWARE | {"hugePageSizes"}) for spec in (old, new)
    )
    return bool(plain(_merged(bare_old, bare_new, complete=complete)) == bare_old)


def _without(value: Any, keys: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return {key: _without(item, keys) for key, item in value.items() if key not in keys}
    return [_without(item, keys) for item in value] if isinstance(value, list) else value


def merge(old: Any, new: Any, dropped: Dropped, path: Path = ()) -> Any:
    """`new` in the form of `old`: what says the same stays as it is written, in its order."""
    data = new.data if isinstance(new, Flow) else new
    if isinstance(old, dict) and isinstance(data, dict):
        return _merge_mappings(old, data, dropped, path)
    if isinstance(old, list) and isinstance(data, list | tuple):
        return _merge_lists(old, list(data), dropped, path)
    return old if _same(path[-1] if path else "", old, data) else new


def _merge_mappings(
    old: dict[str, Any], new: dict[str, Any], dropped: Dropped, path: Path
) -> dict[str, Any]:
    kept = {
        key: merge(value, new[key], dropped, (*path, key)) if key in new else value
        for key, value in old.items()
        if key in new or not dropped((*path, key), new)
    }
    names = _with_new(list(kept), list(new), {key: key for key in kept if key in new})
    return {name: kept[name] if name in kept else new[name] for name in names}


def _merge_lists(old: list[Any], new: list[Any], dropped: Dropped, path: Path) -> list[Any]:
    if not all(isinstance(plain(item), dict) for item in (*old, *new)):
        pairs = zip(old, new, strict=False)
        return [merge(a, b, dropped, path) for a, b in pairs] + new[len(old) :]
    places = {place: at for place, at in enumerate(_places(old, new)) if at is not None}
    kept = sorted(places.values())
    merged = {at: merge(old[at], new[place], dropped, path) for place, at in places.items()}
    order = _with_new(
        kept,
        [("new", place) for place in range(len(new))],
        {at: ("new", p) for p, at in places.items()},
    )
    return [merged[item] if isinstance(item, int) else new[item[1]] for item in order]


def _with_new(kept: list[Any], new: Sequence[Any], twins: Mapping[Any, Any]) -> list[Any]:
    """`kept` with the names of `new` that none of them stands for (`twins`), each behind its
    neighbour in `new`.
    """
    of_new = {twin: name for name, twin in twins.items()}
    order = list(kept)
    at = 0
    for name in new:
        if name in of_new:
            at = order.index(of_new[name]) + 1
        else:
            order.insert(at, name)
            at += 1
    return order


def align(old: Sequence[Any], new: Sequence[Any]) -> list[int | None]:
    """For each item of `new` the place in `old` of the item that it is, in ascending order; None
    for a new one.

    A group of nodes is known by its name, which changes with its nodes: one between the same
    neighbours is the same.
    """
    last = -1
    found: list[int | None] = []
    for at in _places(old, new):
        found.append(at if at is not None and at > last else None)
        last = last if found[-1] is None else found[-1]
    named = all(
        isinstance(item, dict) and next(iter(_identity(item)), ("",))[0] == "name" for item in old
    )
    return _with_renamed(found, len(old)) if named else found


def _with_renamed(found: list[int | None], count: int) -> list[int | None]:
    """Places for new items too, in order, as long as there are unused ones before the next used
    one.
    """
    free = 0
    for index, at in enumerate(found):
        if at is not None:
            free = at + 1
            continue
        following = next((later for later in found[index:] if later is not None), count)
        if free < following:
            found[index] = free
            free += 1
    return found


def _places(old: Sequence[Any], new: Sequence[Any]) -> list[int | None]:
    """Items are the same by what identifies them, and by their number among those that have the
    same identity.
    """
    places = {identity: at for at, identity in enumerate(_numbered(old))}
    return [places.get(identity) for identity in _numbered(new)]


def _numbered(items: Sequence[Any]) -> list[tuple[object, int]]:
    seen: dict[object, int] = {}
    found: list[tuple[object, int]] = []
    for item in items:
        identity = _identity(plain(item))
        seen[identity] = seen.get(identity, -1) + 1
        found.append((identity, seen[identity]))
    return found


def _identity(item: Any) -> tuple[tuple[str, str], ...]:
    keys = (
        next((keys for keys in _IDENTITIES if keys[0] in item), ())
        if isinstance(item, dict)
        else ()
    )
    return tuple((key, str(item.get(key))) for key in keys)


def _same(key: str, old: Any, new: Any) -> bool:
    """Whether two scalars say the same; memory may differ by what the kernel keeps to itself."""
    if old == new:
        return type(old) is type(new) or not isinstance(old, bool)
    if not isinstance(old, str | int) or not isinstance(new, str | int) or isinstance(old, bool):
        return False
    try:
        if key in _CPU_LISTS:
            return CpuSet.parse_kernel(str(old)) == CpuSet.parse_kernel(str(new))
        sizes = to_bytes(str(old)), to_bytes(str(new))
    except (CpuSetError, ValueError):
        return str(old) == str(new)
    return same_memory(*sizes) if key == "memory" else sizes[0] == sizes[1]


def _present(layout: Mapping[str, Any]) -> CpuSet:
    return _in_cores(layout) | _cpus(layout, "offline")


def _in_cores(layout: Mapping[str, Any]) -> CpuSet:
    return union(
        CpuSet.parse_kernel(str(text))
        for cores in layout.get("cores", ())
        for text in cores["threads"]
    )


def _cpus(layout: Mapping[str, Any], key: str) -> CpuSet:
    return CpuSet.parse_kernel(str(layout[key])) if layout.get(key) is not None else EMPTY

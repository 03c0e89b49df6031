"""New data in the form of old data: values change, and their order and spelling stay."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

from cpuplan.base.cpuset import CpuSet, CpuSetError
from cpuplan.base.emit import Flow
from cpuplan.base.quantity import to_bytes
from cpuplan.importers.documents.differences import same_memory

#: The keys above a value; an item of a list has those of the list.
Path: TypeAlias = tuple[str, ...]
#: Whether an existing key is dropped, given the new keys beside it.
IsDropped: TypeAlias = Callable[[Path, Collection[str]], bool]

_CPU_LISTS = frozenset({"cpus", "threads", "offline", "clusters", "unlabelled", "unreadCaches"})
#: Keys that distinguish the items of a list of mappings, best first.
_IDENTITIES = (("address",), ("id",), ("name",), ("level", "type"), ("type",))


def plain(value: Any) -> Any:
    """Data without Flow and tuples."""
    if isinstance(value, Flow):
        value = value.data
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def merge(old: Any, new: Any, is_dropped: IsDropped, path: Path = ()) -> Any:
    """`new` in the form of `old`: equal values keep their spelling and order."""
    data = new.data if isinstance(new, Flow) else new
    if isinstance(old, dict) and isinstance(data, dict):
        return merge_mappings(old, data, is_dropped, path)
    if isinstance(old, list) and isinstance(data, list | tuple):
        return _merge_lists(old, list(data), is_dropped, path)
    return old if _same(path[-1] if path else "", old, data) else new


def merge_mappings(
    old: dict[str, Any], new: dict[str, Any], is_dropped: IsDropped, path: Path
) -> dict[str, Any]:
    """The mapping `old` with the values of `new`; a key that `new` lacks stays unless dropped."""
    kept = {}
    for key, value in old.items():
        if key in new:
            kept[key] = merge(value, new[key], is_dropped, (*path, key))
        elif not is_dropped((*path, key), new):
            kept[key] = value
    names = _with_new(list(kept), list(new), {key: key for key in kept if key in new})
    return {name: kept[name] if name in kept else new[name] for name in names}


def _merge_lists(old: list[Any], new: list[Any], is_dropped: IsDropped, path: Path) -> list[Any]:
    if not all(isinstance(plain(item), dict) for item in (*old, *new)):
        pairs = zip(old, new, strict=False)
        return [merge(a, b, is_dropped, path) for a, b in pairs] + new[len(old) :]
    places = enumerate(_places(old, new))
    twins = {("old", at): ("new", place) for place, at in places if at is not None}
    order = _with_new(sorted(twins), [("new", place) for place in range(len(new))], twins)
    merged = []
    for side, at in order:
        if side == "new":
            merged.append(new[at])
        else:
            _, place = twins[side, at]
            merged.append(merge(old[at], new[place], is_dropped, path))
    return merged


def _with_new(kept: list[Any], new: Sequence[Any], twins: Mapping[Any, Any]) -> list[Any]:
    """`kept` with the names of `new` that have no twin, each behind its neighbour."""
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
    """The place in `old` of each item of `new`, in ascending order; None for a new item.

    A group of nodes is known by its name, which changes with its nodes: one between the same
    neighbours is the same.
    """
    last = -1
    places: list[int | None] = []
    for at in _places(old, new):
        if at is not None and at > last:
            places.append(at)
            last = at
        else:
            places.append(None)
    return _with_renamed(places, len(old)) if all(map(_is_named, old)) else places


def _is_named(item: Any) -> bool:
    identity = _identity(item)
    return bool(identity) and identity[0][0] == "name"


def _with_renamed(places: list[int | None], count: int) -> list[int | None]:
    """Places for new items too, in order, as long as one is unused before the next used one."""
    free = 0
    for index, at in enumerate(places):
        if at is not None:
            free = at + 1
            continue
        following = next((later for later in places[index:] if later is not None), count)
        if free < following:
            places[index] = free
            free += 1
    return places


def _places(old: Sequence[Any], new: Sequence[Any]) -> list[int | None]:
    """Items are the same by their identity, and by their number among those that share it."""
    places = {identity: at for at, identity in enumerate(_numbered(old))}
    return [places.get(identity) for identity in _numbered(new)]


def _numbered(items: Sequence[Any]) -> list[tuple[object, int]]:
    counts: dict[object, int] = {}
    numbered: list[tuple[object, int]] = []
    for item in items:
        identity = _identity(plain(item))
        counts[identity] = counts.get(identity, -1) + 1
        numbered.append((identity, counts[identity]))
    return numbered


def _identity(item: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(item, dict):
        return ()
    keys = next((keys for keys in _IDENTITIES if keys[0] in item), ())
    return tuple((key, str(item.get(key))) for key in keys)


def _same(key: str, old: Any, new: Any) -> bool:
    """Whether two scalars are equal; memory may differ by what the kernel reserves for itself."""
    if old == new:
        return type(old) is type(new) or not isinstance(old, bool)
    if not isinstance(old, str | int) or not isinstance(new, str | int) or isinstance(old, bool):
        return False
    try:
        if key in _CPU_LISTS:
            return CpuSet.parse_kernel(str(old)) == CpuSet.parse_kernel(str(new))
        size, other = to_bytes(str(old)), to_bytes(str(new))
    except (CpuSetError, ValueError):
        return str(old) == str(new)
    return same_memory(size, other) if key == "memory" else size == other

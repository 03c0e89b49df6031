"""The facts of a Hardware document and of an import, merged, and put into the text of its file."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import yaml

from cpuplan.base.cpuset import EMPTY, CpuSet, CpuSetError, union
from cpuplan.base.emit import Flow, to_yaml
from cpuplan.base.text import quantity_bytes
from cpuplan.base.yaml_values import LOADER
from cpuplan.importers.documents.kinds import same_memory

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
        size, other = quantity_bytes(str(old)), quantity_bytes(str(new))
    except (CpuSetError, ValueError):
        return str(old) == str(new)
    return same_memory(size, other) if key == "memory" else size == other


class _UnusualError(Exception):
    """The layout of the lines cannot be edited piece by piece: the value is written again."""


class _Entry(NamedTuple):
    """An entry of a mapping or list: from its key, dash or value to the end of its value."""

    start: int
    end: int
    value: Any  # the node


def splice(text: str, number: int, old: Any, wanted: Any) -> str:
    """`text` with its document `number` changed from `old` to `wanted`.

    Documents count from 0 without empty ones. Items that a list of `wanted` keeps are in the order
    of `old`; new values may be Flow.
    """
    if plain(wanted) == old:
        return text
    if not text.endswith("\n"):
        text += "\n"
    editor = _Editor(text)
    nodes = [node for node in yaml.compose_all(text, LOADER) if isinstance(node, yaml.MappingNode)]
    editor.change(nodes[number], old, wanted, in_flow=False)
    return editor.result()


class _Editor:
    """Collects edits of a text: stretches that are replaced, and texts that are inserted."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._replaced: list[tuple[int, int, str]] = []
        self._inserted: dict[int, str] = {}

    def result(self) -> str:
        """The text with all edits; inserted text is before the text that was at its place."""
        text = self._text
        edits = [*self._replaced, *((at, at, new) for at, new in self._inserted.items())]
        for start, end, new in sorted(edits, reverse=True):
            text = text[:start] + new + text[end:]
        return text

    def change(self, node: Any, old: Any, wanted: Any, *, in_flow: bool) -> None:
        """Change the value at `node`; raises _UnusualError if it must be written again."""
        data = wanted.data if isinstance(wanted, Flow) else wanted
        if plain(data) == old:
            return
        if isinstance(old, dict) and isinstance(data, dict) and old and data:
            self._change_mapping(node, old, data)
        elif isinstance(old, list) and isinstance(data, list | tuple) and old and data:
            self._change_list(node, old, list(data))
        elif _is_one_line(node, old, data):
            start, end = node.start_mark.index, node.end_mark.index
            self._replaced.append((start, end, _inline(data, in_flow=in_flow)))
        else:
            raise _UnusualError

    def _change_mapping(self, node: Any, old: dict[str, Any], wanted: dict[str, Any]) -> None:
        names = [key.value for key, _ in node.value]
        entries = []
        for key, value in node.value:
            end = max(_end(self._text, value), key.end_mark.index + 1)
            entries.append(_Entry(key.start_mark.index, end, value))
        if node.flow_style:
            texts = [f"{_in_flow(name)}: {_in_flow(value)}" for name, value in wanted.items()]
        else:
            column = node.start_mark.column
            texts = [_block({name: value}, column) for name, value in wanted.items()]
        kept = [names.index(name) if name in names else None for name in wanted]
        pairs = [(old.get(name), value) for name, value in wanted.items()]
        self._change_entries(entries, kept, pairs, texts, in_flow=bool(node.flow_style))

    def _change_list(self, node: Any, old: list[Any], wanted: list[Any]) -> None:
        entries = []
        for item in node.value:
            start = item.start_mark.index if node.flow_style else self._dash(node, item)
            entries.append(_Entry(start, _end(self._text, item), item))
        if node.flow_style:
            texts = [_in_flow(value) for value in wanted]
        else:
            texts = [_block([value], node.start_mark.column) for value in wanted]
        kept = align(old, wanted)
        before = [None if at is None else old[at] for at in kept]
        pairs = list(zip(before, wanted, strict=True))
        self._change_entries(entries, kept, pairs, texts, in_flow=bool(node.flow_style))

    def _dash(self, node: Any, item: Any) -> int:
        """Where the dash of a list's item stands."""
        at = len(self._text[: item.start_mark.index].rstrip()) - 1
        if self._text[at] != "-" or at - self._line(at) != node.start_mark.column:
            raise _UnusualError  # a comment between dash and value
        return at

    def _change_entries(
        self,
        entries: Sequence[_Entry],
        kept: Sequence[int | None],
        pairs: Sequence[tuple[Any, Any]],
        texts: Sequence[str],
        *,
        in_flow: bool,
    ) -> None:
        """Change, remove and insert entries; `kept` has the entry of each wanted value, if any.

        `pairs` are old and new data of the wanted values, `texts` their form as new entries.
        """
        for at, (old, new), text in zip(kept, pairs, texts, strict=True):
            if at is None:
                continue
            before = (list(self._replaced), dict(self._inserted))
            try:
                self.change(entries[at].value, old, new, in_flow=in_flow)
            except _UnusualError:
                self._replaced, self._inserted = before
                self._replaced.append(self._written_again(entries[at], text))
        present = {at for at in kept if at is not None}
        if not present:
            raise _UnusualError
        for first, last in _runs(at for at in range(len(entries)) if at not in present):
            self._replaced.append((*self._removed(entries, first, last, in_flow=in_flow), ""))
        previous: int | None = None
        for at, text in zip(kept, texts, strict=True):
            if at is not None:
                previous = at
            else:
                self._insert(entries, previous, min(present), text, in_flow=in_flow)

    def _written_again(self, entry: _Entry, text: str) -> tuple[int, int, str]:
        """An entry that becomes `text`; what follows on its line, a comment, stays behind it.

        Blank lines at the end belong to a value whose block keeps them (`|+`), and a comment would
        become part of any block.
        """
        rest = self._text[entry.end : self._text.index("\n", entry.end)]
        own = text.lstrip(" ")
        if not (rest.strip() and _ends_in_block(text)):
            own = own.removesuffix("\n")
        return entry.start, entry.end, own

    def _removed(
        self, entries: Sequence[_Entry], first: int, last: int, *, in_flow: bool
    ) -> tuple[int, int]:
        """The stretch that is removed with a run of entries: a comma too, or whole lines."""
        if in_flow and first:
            return entries[first - 1].end, entries[last].end
        if in_flow or not self._on_own_line(entries[first]):
            return entries[first].start, entries[last + 1].start
        return self._line(entries[first].start), self._next_line(entries[last].end)

    def _insert(
        self,
        entries: Sequence[_Entry],
        previous: int | None,
        first: int,
        text: str,
        *,
        in_flow: bool,
    ) -> None:
        """Put a new entry behind the one that it follows, else before the first."""
        if in_flow:
            at = entries[first].start if previous is None else entries[previous].end
            text = f"{text}, " if previous is None else f", {text}"
        elif previous is None and self._on_own_line(entries[0]):
            at = self._line(entries[0].start)
        else:
            at = self._next_line(entries[first if previous is None else previous].end)
        self._inserted[at] = self._inserted.get(at, "") + text

    def _on_own_line(self, entry: _Entry) -> bool:
        """Whether only blanks are before it; the first key of a list's item is behind a dash."""
        return not self._text[self._line(entry.start) : entry.start].strip()

    def _line(self, at: int) -> int:
        return self._text.rfind("\n", 0, at) + 1

    def _next_line(self, at: int) -> int:
        return self._text.index("\n", at) + 1


def _runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs


def _end(text: str, node: Any) -> int:
    """Where the text of a value ends; the end mark of a block is behind comments after it."""
    if node.id == "scalar":
        end: int = node.end_mark.index
        return len(text[:end].rstrip()) if node.style in ("|", ">") else end
    if node.flow_style or not node.value:
        return int(node.end_mark.index)
    last = node.value[-1]
    if not isinstance(last, tuple):
        return _end(text, last)
    key, value = last
    return max(_end(text, value), int(key.end_mark.index) + 1)


def _ends_in_block(text: str) -> bool:
    """Whether the last value of a text stands in a block of lines (`|`)."""
    node: Any = yaml.compose(text, LOADER)
    while not isinstance(node, yaml.ScalarNode) and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    return isinstance(node, yaml.ScalarNode) and node.style in ("|", ">")


def _is_one_line(node: Any, old: Any, new: Any) -> bool:
    """Whether a scalar, and not one in a block, becomes another scalar."""
    if isinstance(old, dict | list) or isinstance(new, dict | list | tuple):
        return False
    return node.style not in ("|", ">")


def _inline(value: Any, *, in_flow: bool) -> str:
    """A value on one line; between brackets, more must be quoted."""
    data = plain(value)
    if in_flow or isinstance(data, dict | list) or (isinstance(data, str) and "\n" in data):
        return _in_flow(data)
    return to_yaml([data]).strip().removeprefix("- ")


def _in_flow(value: Any) -> str:
    """A value between brackets."""
    return to_yaml(Flow([plain(value)])).strip()[1:-1]


def _block(value: Any, column: int) -> str:
    """An entry as separate lines."""
    lines = to_yaml(value).split("\n")[:-1]
    return "".join(f"{' ' * column}{line}\n" if line else "\n" for line in lines)


#: Set by software, so that machines of one kind may differ in it.
_SOFTWARE = frozenset({"hugePages", "driver", "name"})
#: Of two keys that say the same thing, only one may be there.
_ALTERNATIVES = {"regular": "topology", "topology": "regular", "per": "cpus", "cpus": "per"}
#: Keys whose absence is a fact, when the kernel's own files were read.
_MEANT_BY_ABSENCE = {
    ("topology",): frozenset({"offline", "dies", "clusters", "kubelet"}),
    ("topology", "cores"): frozenset({"ids", "type"}),
    ("topology", "numaNodes"): frozenset({"hugePages", "cpus"}),
    ("topology", "caches"): frozenset({"ids"}),
    ("devices",): frozenset({"numaNode", "functions"}),
}


def merge_hardware(old: dict[str, Any], new: dict[str, Any], *, complete: bool) -> dict[str, Any]:
    """The spec of a document with the facts of an import, `complete` if of the kernel's own files.

    A key that the import lacks stays, as its format may not have it, unless its absence is a fact
    or it refers to CPUs that are no longer there. An import that contains less than the document
    (`tells_less`) only adds what is not in it.
    """
    if not complete and tells_less(old, new):
        return _filled(old, new)
    return _merged(old, new, complete=complete)


def tells_less(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Whether an import of the same CPUs lacks facts of the document.

    Its other facts may be less exact, too: `lscpu` merges cores of different kinds, and knows
    neither core ids nor, often, the architecture.
    """
    data = plain(new)
    before, layout = old.get("topology") or {}, data.get("topology") or {}
    return _in_cores(before) == _in_cores(layout) and not _known_facts(old) <= _known_facts(data)


def _known_facts(spec: Mapping[str, Any]) -> set[str]:
    layout = spec.get("topology") or {}
    parts = (
        ("numaNodes", "memory"),
        ("numaNodes", "distances"),
        ("cores", "ids"),
        ("cores", "type"),
    )
    facts = {key for part, key in parts if _has_key(layout.get(part, ()), key)}
    facts |= spec.keys() & {"devices", "hugePageSizes"}
    return facts | layout.keys() & {"dies", "clusters", "kubelet"}


def _has_key(entries: Iterable[Mapping[str, Any]], key: str) -> bool:
    return any(key in entry for entry in entries)


def _filled(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The document with the keys of the machine and of its topology that it lacks."""
    layout, added = old.get("topology"), new.get("topology")
    filled = _with_missing(old, new)
    if isinstance(layout, dict) and isinstance(added, dict):
        filled["topology"] = _with_missing(layout, added)
    return filled


def _with_missing(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    values = {key: old.get(key, value) for key, value in new.items()}
    return merge_mappings(old, values, lambda _path, _given: False, ())


def _merged(old: dict[str, Any], new: dict[str, Any], *, complete: bool) -> dict[str, Any]:
    layout = plain(new.get("topology") or {})
    before = old.get("topology") or {}
    other_cpus = _present(before) != _present(layout)

    def is_dropped(path: Path, given: Collection[str]) -> bool:
        *above, key = path
        if _ALTERNATIVES.get(key) in given or (complete and _is_meant(tuple(above), key)):
            return True
        if path == ("topology", "offline"):
            return bool(_cpus(before, "offline") & _in_cores(layout))
        return other_cpus and bool(layout) and above[:1] == ["topology"] and "devices" not in above

    merged: dict[str, Any] = merge(old, new, is_dropped)
    return merged


def _is_meant(above: Path, key: str) -> bool:
    """Whether the absence of a key is a fact."""
    return key in _MEANT_BY_ABSENCE.get(above, ()) or above[-1:] == ("hugePages",)


def same_facts(old: dict[str, Any], new: dict[str, Any], *, complete: bool) -> bool:
    """Whether an import says nothing that a document does not, except what software sets."""
    ignored = _SOFTWARE | {"hugePageSizes"}
    bare_old, bare_new = _without(plain(old), ignored), _without(plain(new), ignored)
    return bool(plain(_merged(bare_old, bare_new, complete=complete)) == bare_old)


def says_no_more(document: dict[str, Any], spec: dict[str, Any]) -> bool:
    """Whether a document has no fact that `spec` lacks, except what software sets."""
    bare, other = (_without(plain(value), _SOFTWARE) for value in (document, spec))
    return bool(plain(_merged(other, bare, complete=False)) == other)


def agreed_software(
    document: dict[str, Any], spec: dict[str, Any], *, silence: bool
) -> dict[str, Any]:
    """The document without what software sets otherwise on a machine of `spec`.

    With `silence`, what `spec` lacks is otherwise too.
    """
    changed = dict(document)
    devices = _agreed(document.get("devices"), spec.get("devices"), "address", silence=silence)
    if devices is not None:
        changed["devices"] = devices
    layout, other = document.get("topology") or {}, spec.get("topology") or {}
    nodes = _agreed(layout.get("numaNodes"), other.get("numaNodes"), "id", silence=silence)
    if nodes is not None:
        changed["topology"] = {**layout, "numaNodes": nodes}
    return changed


def _agreed(old: Any, new: Any, identity: str, *, silence: bool) -> list[dict[str, Any]] | None:
    """The entries without what differs; None where nothing does."""
    others = {entry[identity]: entry for entry in plain(new or [])}
    before = plain(old or [])
    entries = []
    for entry in before:
        other = others.get(entry[identity], {})
        kept = {
            key: value
            for key, value in entry.items()
            if key not in _SOFTWARE or other.get(key, None if silence else value) == value
        }
        entries.append(kept)
    return None if entries == before else entries


def _without(value: Any, keys: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return {key: _without(item, keys) for key, item in value.items() if key not in keys}
    return [_without(item, keys) for item in value] if isinstance(value, list) else value


def _present(layout: Mapping[str, Any]) -> CpuSet:
    return _in_cores(layout) | _cpus(layout, "offline")


def _in_cores(layout: Mapping[str, Any]) -> CpuSet:
    texts = [text for cores in layout.get("cores", ()) for text in cores["threads"]]
    return union(CpuSet.parse_kernel(str(text)) for text in texts)


def _cpus(layout: Mapping[str, Any], key: str) -> CpuSet:
    return CpuSet.parse_kernel(str(layout[key])) if layout.get(key) is not None else EMPTY

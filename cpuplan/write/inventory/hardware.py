"""Merge the facts of an import into an existing Hardware document, and compare the two."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from cpuplan.base.cpuset import EMPTY, CpuSet, union
from cpuplan.write.inventory.merge import Path, merge, merge_mappings, plain

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

"""Hardware documents and imported machines: which belong together, and their facts merged."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from cpuplan.base.cpuset import EMPTY, CpuSet, union
from cpuplan.importers.documents.kinds import Kind, with_digest
from cpuplan.write.inventory.merge import Path, merge, merge_mappings, plain
from cpuplan.write.inventory.nodes import Known, Place, place_of, users

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


class Matches(NamedTuple):
    """By kind of machine: the document that it has, if any, and the name of its document."""

    documents: dict[str, Known]
    names: dict[str, str]


class _Candidate(NamedTuple):
    """A document that a kind of machines may have."""

    document: Known
    name: str  # the kind's
    kind: Kind
    nodes: Collection[Place]  # that the document and the import both have
    complete: bool  # all nodes of the document are in the import


def match(known: Collection[Known], kinds: Mapping[str, Kind], read: Collection[Place]) -> Matches:
    """Find the document of each kind, by its facts, by more facts, by its name or by its nodes.

    By the last two only if all of a document's nodes are among those that were `read`: else it
    would change for nodes of which nothing is known.
    """
    hardware = [document for document in known if document.kind == "Hardware"]
    nodes = users(known)
    matched: dict[str, Known] = {}
    for test in _TESTS:
        for name in sorted(kinds, key=lambda name: (-len(kinds[name].nodes), name)):
            if name in matched:
                continue
            free = [document for document in hardware if document not in matched.values()]
            candidates = _candidates(free, name, kinds[name], nodes, set(read))
            fitting = [candidate for candidate in candidates if test(candidate)]
            if fitting:
                matched[name] = max(fitting, key=_closeness).document
    taken = {document.name for document in hardware}
    names = {name: _name(name, kind, matched.get(name), taken) for name, kind in kinds.items()}
    return Matches(matched, names)


def _candidates(
    documents: Collection[Known],
    name: str,
    kind: Kind,
    nodes: Mapping[str, set[Place]],
    read: set[Place],
) -> Iterator[_Candidate]:
    places = set(map(place_of, kind.nodes))
    for document in documents:
        own = nodes.get(document.name, set())
        yield _Candidate(document, name, kind, places & own, own <= read)


def _closeness(candidate: _Candidate) -> tuple[int, bool]:
    return len(candidate.nodes), candidate.document.name == candidate.name


def _name(name: str, kind: Kind, document: Known | None, taken: Collection[str]) -> str:
    if document:
        return document.name
    return with_digest(name, kind.spec) if name in taken else name


def _has_facts(candidate: _Candidate) -> bool:
    document, kind = candidate.document, candidate.kind
    return same_facts(document.spec, kind.spec, complete=kind.machine.kubelet is not None)


def _tells_more(candidate: _Candidate) -> bool:
    kind = candidate.kind
    if not candidate.nodes or kind.machine.kubelet is not None:
        return False
    return tells_less(candidate.document.spec, kind.spec)


def _has_name(candidate: _Candidate) -> bool:
    return candidate.complete and candidate.document.name == candidate.name


def _has_nodes(candidate: _Candidate) -> bool:
    """A regular machine of a catalogue has too few facts: it matches only by name."""
    known = candidate.complete and bool(candidate.nodes)
    return known and "topology" in candidate.document.spec


#: Surest first.
_TESTS = (_has_facts, _tells_more, _has_name, _has_nodes)

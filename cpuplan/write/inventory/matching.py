"""Find the Hardware document of each kind of machine, even if renamed, moved or edited."""

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from cpuplan.importers.documents.kinds import Kind, with_digest
from cpuplan.write.inventory.hardware import same_facts, tells_less
from cpuplan.write.inventory.known import Known, Place, place_of, users


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

"""Remarks of an import on the inventory, beside the differences that it shows."""

from collections.abc import Collection, Iterator, Mapping

from cpuplan.base.name_ranges import fold_names
from cpuplan.importers.documents.kinds import Kind
from cpuplan.write.inventory.hardware import same_facts, tells_less
from cpuplan.write.inventory.known import Known, Place, users
from cpuplan.write.inventory.matching import Matches
from cpuplan.write.inventory.nodes import Wanted


def notes(
    known: Collection[Known],
    kinds: Mapping[str, Kind],
    matches: Matches,
    wanted: Mapping[Place, Wanted],
) -> Iterator[str]:
    """Remarks on new names, and on what the import leaves unchanged."""
    yield from _new_names(kinds, matches)
    yield from _kept_facts(kinds, matches)
    yield from _unread_nodes(known, wanted)
    yield from _unused(known, wanted)


def _new_names(kinds: Mapping[str, Kind], matches: Matches) -> Iterator[str]:
    for name in sorted(kinds):
        own = matches.names[name]
        if name not in matches.documents and own != name:
            shown = ", ".join(fold_names(node.name for node in kinds[name].nodes))
            yield f"{shown}: different from the Hardware {name} of other nodes; it is named {own}"


def _kept_facts(kinds: Mapping[str, Kind], matches: Matches) -> Iterator[str]:
    for name, document in matches.documents.items():
        kind = kinds[name]
        if kind.machine.kubelet is not None or not tells_less(document.spec, kind.spec):
            continue
        if not same_facts(document.spec, kind.spec, complete=False):
            yield (
                f"Hardware {document.name} contains more than what was read, "
                "and is kept where the two differ"
            )


def _unread_nodes(known: Collection[Known], wanted: Mapping[Place, Wanted]) -> Iterator[str]:
    read_clusters = {cluster for cluster, _ in wanted}
    unread: dict[str, list[str]] = {}
    for document in known:
        if document.kind == "Nodes" and document.cluster in read_clusters:
            names = unread.setdefault(document.cluster, [])
            names += [
                name for name in document.node_names if (document.cluster, name) not in wanted
            ]
    for cluster, names in unread.items():
        if names:
            shown = ", ".join(fold_names(names))
            yield (f"cluster {cluster} has nodes that were not read, which are unchanged: {shown}")


def _unused(known: Collection[Known], wanted: Mapping[Place, Wanted]) -> Iterator[str]:
    used = {facts.hardware for facts in wanted.values()}
    for name, places in users(known).items():
        if places and places <= wanted.keys() and name not in used:
            yield f"Hardware {name} is of no node any more: remove it if you do not need it"

"""Which Hardware document each imported node has: a document lends no node facts of other nodes.

A node keeps what its own document says and its sources do not contradict. A node that is new joins
a document that says just what was read of it, or gets one of its own: that others of its model have
a card, or CPUs offline, is nothing that was read of this node.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from cpuplan.base.emit import Flow
from cpuplan.base.naming import fold_names
from cpuplan.importers.base import Node
from cpuplan.importers.documents.kinds import Kind, with_digest
from cpuplan.write.inventory.merge import (
    agreed_software,
    merge_hardware,
    plain,
    same_facts,
    says_no_more,
    tells_less,
)
from cpuplan.write.inventory.nodes import Known, Place, device_addresses, place_of, users


class Share(NamedTuple):
    """Nodes of one kind that have one document so far, and what is known of them with the import.

    `document` is None for nodes that are new.
    """

    name: str  # the kind's
    kind: Kind
    document: Known | None
    nodes: tuple[Node, ...]
    spec: dict[str, Any]

    @property
    def complete(self) -> bool:
        """Whether the kernel's own files were read."""
        return self.kind.machine.kubelet is not None

    @property
    def stays(self) -> bool:
        """Whether the document of the nodes already says what is known of them."""
        known = self.document
        return known is not None and same_facts(known.spec, self.spec, complete=self.complete)


class Assigned(NamedTuple):
    """The specs of documents that change and of new ones, by name, and the hardware of nodes."""

    changed: dict[str, dict[str, Any]]
    fresh: dict[str, dict[str, Any]]
    hardware: dict[Place, str]
    kinds: dict[str, Kind]  # of the new documents
    notes: tuple[str, ...]


def assign(known: Collection[Known], kinds: Mapping[str, Kind]) -> Assigned:
    """Give each node that was read its Hardware document: an existing, changed or new one."""
    return _Assignment(known, kinds).result()


class _Assignment:
    def __init__(self, known: Collection[Known], kinds: Mapping[str, Kind]) -> None:
        self._documents = {
            document.name: document for document in known if document.kind == "Hardware"
        }
        self._users = users(known)
        self._shares = list(_shares(known, self._documents, kinds))
        self._read = {place_of(node) for share in self._shares for node in share.nodes}
        self._specs = {name: document.spec for name, document in self._documents.items()}
        self._fresh: dict[str, dict[str, Any]] = {}
        self._hardware: dict[Place, str] = {}
        self._kinds: dict[str, Kind] = {}
        self._notes: list[str] = []

    def result(self) -> Assigned:
        """The whole of it: who stays, who joins others, who changes a document, who needs one."""
        staying = [share for share in self._shares if share.stays]
        self._stay(staying)
        moving = [share for share in self._shares if not share.stays]
        kept = {share.document.name for share in staying if share.document}
        settled = {name for name in self._specs if name in kept or not self._is_read(name)}
        moving = [share for share in moving if not self._join(share, settled)]
        moving = self._change(moving, settled)
        for share in moving:
            if not self._join(share, {*self._specs, *self._fresh}):
                self._make(share)
        changed = {
            name: spec
            for name, spec in self._specs.items()
            if spec is not self._documents[name].spec
        }
        return Assigned(changed, self._fresh, self._hardware, self._kinds, tuple(self._notes))

    def _is_read(self, name: str) -> bool:
        """Whether all nodes of a document were read, so that it may change with them."""
        return self._users.get(name, set()) <= self._read

    def _place(self, share: Share, name: str) -> None:
        self._hardware.update((place_of(node), name) for node in share.nodes)

    def _stay(self, shares: Iterable[Share]) -> None:
        """Leave nodes with their documents, which learn what is said of all their nodes."""
        by_document: dict[str, list[Share]] = {}
        for share in shares:
            if share.document:
                by_document.setdefault(share.document.name, []).append(share)
                self._note_kept(share, share.document)
        for name, alike in by_document.items():
            for share in alike:
                self._place(share, name)
            places = {place_of(node) for share in alike for node in share.nodes}
            if len(alike) == 1 and self._users[name] <= places:
                self._specs[name] = alike[0].spec
                continue
            for share in alike:
                if not tells_less(self._documents[name].spec, share.kind.spec):
                    agreed = agreed_software(self._specs[name], share.kind.spec, silence=False)
                    self._specs[name] = agreed

    def _note_kept(self, share: Share, known: Known) -> None:
        spec = share.kind.spec
        note = (
            f"Hardware {known.name} contains more than what was read, "
            "and is kept where the two differ"
        )
        is_kept = not share.complete and tells_less(known.spec, spec)
        if is_kept and not same_facts(known.spec, spec, complete=False):
            self._notes += [] if note in self._notes else [note]

    def _join(self, share: Share, candidates: Collection[str]) -> bool:
        """Whether the nodes of a share have the facts of another document, and just these."""
        specs = {**self._specs, **self._fresh}
        equal = [
            name
            for name, spec in specs.items()
            if name in candidates
            and same_facts(spec, share.spec, complete=share.complete)
            and says_no_more(spec, share.spec)
        ]
        if not equal:
            return False
        name = max(equal, key=lambda name: (len(self._users.get(name, ())), name == share.name))
        own = self._specs if name in self._specs else self._fresh
        agreed = agreed_software(own[name], share.spec, silence=True)
        if plain(agreed) != plain(own[name]):
            own[name] = agreed if name in self._specs else _styled(agreed)
        self._place(share, name)
        return True

    def _change(self, shares: list[Share], settled: Collection[str]) -> list[Share]:
        """Change documents whose nodes were all read, for most of the nodes; the other shares."""
        left = []
        taken = set(settled)
        for share in sorted(shares, key=lambda share: -len(share.nodes)):
            known = share.document
            if known is None or known.name in taken or not _may_change(share, known):
                left.append(share)
                continue
            taken.add(known.name)
            self._specs[known.name] = share.spec
            self._place(share, known.name)
        return left

    def _make(self, share: Share) -> None:
        names = ", ".join(_folded(share.nodes))
        taken = self._specs.keys() | self._fresh.keys()
        name = share.name
        if name in taken:
            name = with_digest(name, share.spec)
        wider = [
            other
            for other, spec in self._specs.items()
            if share.document is None and same_facts(spec, share.spec, complete=share.complete)
        ]
        if wider:
            self._notes.append(
                f"{names}: Hardware {wider[0]} of other nodes contains more than what was read, "
                f"of which nothing is taken over; the Hardware is named {name}"
            )
        elif name != share.name:
            self._notes.append(
                f"{names}: different from the Hardware {share.name} of other nodes; "
                f"it is named {name}"
            )
        self._fresh[name] = share.spec if share.document is None else _styled(share.spec)
        self._kinds[name] = share.kind
        self._place(share, name)


def _may_change(share: Share, known: Known) -> bool:
    """A regular machine of a catalogue has too few facts: it becomes an import only by its name."""
    return "topology" in known.spec or known.name == share.name


def _folded(nodes: Iterable[Node]) -> list[str]:
    return fold_names(node.name for node in nodes)


def _shares(
    known: Collection[Known], documents: Mapping[str, Known], kinds: Mapping[str, Kind]
) -> Iterable[Share]:
    current = {place: name for name, places in users(known).items() for place in places}
    devices = device_addresses(known)
    for name in sorted(kinds):
        kind = kinds[name]
        parts: dict[tuple[str, frozenset[str]], list[Node]] = {}
        for node in kind.nodes:
            place = place_of(node)
            key = current.get(place, ""), devices.get(place, frozenset())
            parts.setdefault(key, []).append(node)
        for (hardware, own), nodes in parts.items():
            document = documents.get(hardware)
            yield Share(name, kind, document, tuple(nodes), _known_of(name, kind, document, own))


def _known_of(
    name: str, kind: Kind, document: Known | None, own: Collection[str]
) -> dict[str, Any]:
    """What is known of nodes: their document with what was read; devices of their group apart."""
    read = kind.spec
    if own:
        devices = [device for device in read.get("devices", ()) if _address(device) not in own]
        read = {**read, "devices": devices}
    if document is None or ("topology" not in document.spec and document.name != name):
        return read
    return merge_hardware(document.spec, read, complete=kind.machine.kubelet is not None)


def _address(device: Any) -> str:
    return str(plain(device)["address"])


#: Lists whose entries stand on one line each.
_ON_ONE_LINE = frozenset({"sockets", "dies", "numaNodes", "caches", "devices", "books"})


def _styled(value: Any, key: str = "") -> Any:
    """Data in the form of a document that an import writes first."""
    if isinstance(value, Flow):
        return value
    if isinstance(value, dict):
        return {name: _styled(item, name) for name, item in value.items()}
    if not isinstance(value, list | tuple):
        return value
    if key in _ON_ONE_LINE:
        return [item if isinstance(item, Flow) else Flow(item) for item in value]
    if all(isinstance(item, str | int) for item in value):
        return Flow(list(value))
    return [_styled(item, key) for item in value]

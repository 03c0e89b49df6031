"""The objects of a cluster, and what is known of those that are not among them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from cpuplan.check.cluster.kinds import words
from cpuplan.diagnostics import Diagnostic
from cpuplan.language.read.pods import value_of
from cpuplan.simulate.koordinatorfiles.objects import Object

#: Kind, namespace and name of an object; without these two, all objects of the kind.
Key: TypeAlias = tuple[str, str, str]


class Absent(NamedTuple):
    """No object: because the cluster has none, or (`is_unknown`) because nobody looked.

    `reason` says which of these.
    """

    reason: str
    is_unknown: bool = True


class Objects:
    """Objects by kind, namespace and name; of several versions of one, the last.

    `unread` says why an object, or all of a kind, are not known, and `unserved` which kinds the API
    lacks. Of a kind without an object among them nothing is known either. `refusals` are findings
    about what the API did not tell.
    """

    def __init__(
        self,
        found: Iterable[Object] = (),
        unread: Mapping[Key, str] | None = None,
        unserved: Iterable[str] = (),
        *,
        listed: Iterable[str] = (),
        refusals: Iterable[Diagnostic] = (),
    ) -> None:
        self._objects = {(each.kind, namespace_of(each), each.name): each for each in found}
        self._unread = dict(unread or {})
        self._unserved = frozenset(unserved)
        self._listed = {kind for kind, _, _ in self._objects} | set(listed)
        self.refusals = tuple(refusals)

    def joined(self, other: "Objects") -> "Objects":
        """These and further ones, of kinds that are not among these."""
        made = Objects()
        made._objects = self._objects | other._objects
        made._unread = self._unread | other._unread
        made._unserved = self._unserved | other._unserved
        made._listed = self._listed | other._listed
        made.refusals = self.refusals + other.refusals
        return made

    def of_kind(self, kind: str) -> Iterator[Object]:
        """All objects of a kind."""
        return (each for each in self._objects.values() if each.kind == kind)

    def is_known(self, kind: str) -> bool:
        """Whether all objects of a kind are here."""
        return kind in self._listed and (kind, "", "") not in self._unread

    def is_served(self, kind: str) -> bool:
        """Whether the API has such objects, as far as is known."""
        return kind not in self._unserved

    def find(self, kind: str, name: str, namespace: str = "") -> Object | Absent:
        """An object, or what is known of its absence."""
        if found := self._objects.get((kind, namespace, name)):
            return found
        if kind in self._unserved:
            return Absent(f"the cluster does not serve {words(kind)}", is_unknown=False)
        for key in ((kind, namespace, name), (kind, "", "")):
            if key in self._unread:
                return Absent(self._unread[key])
        if kind in self._listed:
            return Absent(f"the cluster has no {kind} {name}", is_unknown=False)
        return Absent(f"no {kind} is among the objects that were given")


def namespace_of(found: Object) -> str:
    """The namespace of an object; empty for one of the whole cluster."""
    namespace = value_of(found.data, ("metadata", "namespace"))
    return namespace if isinstance(namespace, str) else ""

"""Reads what is compared of the API of a cluster: only `get` and `list`, by pages, with an end.

What the API refuses is no object that is missing: it is written down with its reason.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from cpuplan.check.cluster.kinds import KINDS, Kind, words
from cpuplan.check.cluster.objects import Objects
from cpuplan.read.pods import value_of
from cpuplan.simulate.koordinatorfiles.objects import Object
from cpuplan.source import Source

#: Objects of one page, and pages of one kind.
PAGE, MAX_PAGES = 500, 200
#: Lists that expired while they were read, and answers 429 and 5xx to one request.
_MAX_RESTARTS, _MAX_RETRIES = 2, 3
_GONE, _FORBIDDEN, _NOT_FOUND, _UNAUTHORIZED = 410, 403, 404, 401
_BUSY = frozenset({429, 500, 502, 503, 504})
_MAX_MESSAGE = 200


class Path(NamedTuple):
    """Where the API has objects: `version` is that of the group."""

    kind: Kind
    version: str
    namespace: str = ""

    def text(self, name: str = "") -> str:
        """As in `kubectl get --raw`."""
        group = f"/apis/{self.kind.group}" if self.kind.group else "/api"
        namespace = f"/namespaces/{self.namespace}" if self.namespace else ""
        return f"{group}/{self.version}{namespace}/{self.kind.plural}" + (
            f"/{name}" if name else ""
        )


class AnswerError(Exception):
    """An answer of the API with another status than 200; `text` is its body."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status} {text}")
        self.status = status
        self.text = text

    @property
    def message(self) -> str:
        """What the API says, or its status."""
        text = " ".join(str(self._field("message") or "").split())
        return text[:_MAX_MESSAGE] or f"the API server answers {self.status}"

    @property
    def is_of_object(self) -> bool:
        """Whether a 404 says that there is no such object, and not that nobody knows its kind."""
        return self._field("reason") == "NotFound" and "name" in (self._field("details") or {})

    def _field(self, name: str) -> Any:
        try:
            data = json.loads(self.text)
        except ValueError:
            return None
        return data.get(name) if isinstance(data, dict) else None


def too_large(problem: str) -> AnswerError:
    """What would be read of an answer without end."""
    return AnswerError(413, json.dumps({"message": problem}))


class UnreachableError(Exception):
    """The API cannot be asked at all: no connection, or it refuses the user. The text says why."""


class Connection(Protocol):
    """What is asked of a client. AnswerError for a refusal, UnreachableError without an answer."""

    #: The address of the API server.
    server: str

    def get(self, path: Path, name: str) -> Mapping[str, Any]:
        """One object."""

    def page(self, path: Path, query: Mapping[str, Any]) -> Mapping[str, Any]:
        """One page of objects, of all namespaces."""


class Wanted(NamedTuple):
    """An object, or with an empty name all of its kind; `selector` selects by fields."""

    kind: str
    version: str
    name: str = ""
    namespace: str = ""
    selector: str = ""


class Reader:
    """Reads objects once; rendered MachineConfigs, which never change, once for all rounds."""

    def __init__(self, connection: Connection, pause: Callable[[float], None]) -> None:
        self._connection = connection
        self._pause = pause
        self._unchanging: dict[str, Object] = {}

    def read(self, wanted: Iterable[Wanted]) -> Objects:
        """What there is of the wanted objects. Raises UnreachableError."""
        found: list[Object] = []
        unread: dict[str, str] = {}
        unserved: set[str] = set()
        kinds: list[str] = []
        for each in dict.fromkeys(wanted):
            if each.kind in unserved or (each.kind in unread and each.name):
                continue
            kinds.append(each.kind)
            try:
                found += self._read(each)
            except AnswerError as error:
                self._note(each, error, unread, unserved)
        kinds = [kind for kind in kinds if kind not in unread]
        return Objects(found, unread, unserved, listed=kinds)

    def _note(
        self, wanted: Wanted, error: AnswerError, unread: dict[str, str], unserved: set[str]
    ) -> None:
        if error.status == _UNAUTHORIZED:
            raise UnreachableError(f"it refuses the credentials ({error.message})") from error
        if error.status == _NOT_FOUND and error.is_of_object:
            return  # nothing of that name
        if error.status == _NOT_FOUND:
            unserved.add(wanted.kind)
        elif error.status == _FORBIDDEN:
            verb = "read" if wanted.name else "list"
            unread[wanted.kind] = f"the user may not {verb} {words(wanted.kind)}"
        else:
            unread[wanted.kind] = f"{words(wanted.kind)} cannot be read: {error.message}"

    def _read(self, wanted: Wanted) -> Iterator[Object]:
        path = Path(KINDS[wanted.kind], wanted.version, wanted.namespace)
        if not wanted.name:
            yield from self._list(wanted, path)
            return
        address = path.text(wanted.name)
        if address in self._unchanging:
            yield self._unchanging[address]
            return
        data = self._retried(lambda: self._connection.get(path, wanted.name))
        found = _object(address, data, wanted.kind)
        if wanted.kind == "MachineConfig":
            self._unchanging[address] = found
        yield found

    def _list(self, wanted: Wanted, path: Path) -> list[Object]:
        """All pages; a list that expires meanwhile is begun anew."""
        for restart in range(_MAX_RESTARTS + 1):
            try:
                return list(self._pages(wanted, path))
            except AnswerError as error:
                if error.status != _GONE or restart == _MAX_RESTARTS:
                    raise
        raise AssertionError("the last restart returns or raises")

    def _pages(self, wanted: Wanted, path: Path) -> Iterator[Object]:
        query: dict[str, Any] = {"limit": PAGE}
        if wanted.selector:
            query["field_selector"] = wanted.selector
        for _ in range(MAX_PAGES):
            page = self._retried(lambda: self._connection.page(path, query))
            for item in page.get("items") or ():
                name = str(value_of(item, ("metadata", "name")))
                namespace = str(value_of(item, ("metadata", "namespace")) or "")
                yield _object(path._replace(namespace=namespace).text(name), item, wanted.kind)
            token = value_of(page, ("metadata", "continue"))
            if not token:
                return
            query["_continue"] = token
        raise too_large(f"there are more than {PAGE * MAX_PAGES:,}")

    def _retried(self, ask: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
        """The answer, at last, of a server that is busy for a moment."""
        for attempt in range(_MAX_RETRIES):
            try:
                return ask()
            except AnswerError as error:
                if error.status not in _BUSY:
                    raise
            self._pause(2.0**attempt)
        return ask()


#: What nobody compares, and what may be most of an object.
_LARGE = ("managedFields",)


def _object(address: str, data: Mapping[str, Any], kind: str) -> Object:
    """An object of an answer; items of lists do not say their kind."""
    metadata = data.get("metadata")
    known = metadata if isinstance(metadata, dict) else {}
    small = {key: value for key, value in known.items() if key not in _LARGE}
    made = {**data, "kind": kind, "metadata": small}
    if isinstance(status := made.get("status"), dict) and kind == "Node":
        made["status"] = {key: value for key, value in status.items() if key != "images"}
    source = Source(address, made, {}, (-1, -1))
    return Object(source, (), made, f"{kind} {known.get('name')}")

"""Reads what is compared of the API of a cluster: only `get` and `list`, by pages, with an end.

What the API refuses is no object that is missing: it is written down with its reason, and what
would give it. So is an answer that no API server gives.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote

from cpuplan.base import served
from cpuplan.base.foreign import ForeignError, Limits, load, measure
from cpuplan.check.cluster.live_objects import KINDS, Key, Kind, Objects, plural_of, problem_in
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Field, Position, Source
from cpuplan.language.read.pods import value_of
from cpuplan.simulate.files.objects import Object

#: Objects of one page, and pages of one kind.
PAGE, MAX_PAGES = 500, 200
#: One answer. 500 Nodes have some 10 MB, with many images 25 MB, and half a million values; a
#: MachineConfig is smaller than what etcd takes (1.5 MB). No object has 100 levels.
LIMITS = Limits(bytes=64 * 1024**2, values=2_000_000, depth=100)
#: Values of all that is kept of one look: those of 5,000 nodes and of their pods, in a gigabyte.
MAX_VALUES = 8_000_000
#: Lists that expired while they were read, and answers 429 and 5xx to one request.
_MAX_RESTARTS, _MAX_RETRIES = 2, 3
#: Seconds that one look waits for a server that is busy, for all that is asked together.
_PATIENCE = 15.0
_GONE, _FORBIDDEN, _NOT_FOUND, _UNAUTHORIZED = 410, 403, 404, 401
_BUSY = frozenset({429, 500, 502, 503, 504})
#: Our own, in place of a status: an answer that no API server gives.
_WRONG = 0
_MAX_MESSAGE = 200
#: Where objects of these kinds say which node they are of; those of others are not kept.
_OF_NODES: Mapping[str, Field] = {
    "Node": ("metadata", "name"),
    "NodeResourceTopology": ("metadata", "name"),
    "Pod": ("spec", "nodeName"),
    "ResourceSlice": ("spec", "pool", "name"),
}


class Path(NamedTuple):
    """Where the API has objects: `version` is that of the group."""

    kind: Kind
    version: str
    namespace: str = ""

    def text(self, name: str = "") -> str:
        """As in `kubectl get --raw`."""
        group = f"/apis/{self.kind.group}" if self.kind.group else "/api"
        namespace = f"/namespaces/{_quoted(self.namespace)}" if self.namespace else ""
        last = f"/{_quoted(name)}" if name else ""
        return f"{group}/{_quoted(self.version)}{namespace}/{self.kind.plural}{last}"


def _quoted(name: str) -> str:
    """A name as one part of a path, whatever it is."""
    return quote(name, safe="").replace("..", "%2E%2E")


class AnswerError(Exception):
    """An answer of the API with another status than 200.

    `text` is its body; `pause` are the seconds after which the server wants to be asked again.
    """

    def __init__(self, status: int, text: str, pause: float = 0.0) -> None:
        super().__init__(f"{status} {text}")
        self.status = status
        self.pause = pause
        self._said = _object_of(text)

    @property
    def message(self) -> str:
        """What the API says, or its status."""
        said = self._said.get("message")
        text = " ".join(said.split()) if isinstance(said, str) else ""
        return text[:_MAX_MESSAGE] or f"the API server answers {self.status}"

    @property
    def is_of_object(self) -> bool:
        """Whether a 404 says that there is no such object, and not that nobody knows its kind."""
        details = self._said.get("details")
        is_named = isinstance(details, dict) and "name" in details
        return self._said.get("reason") == "NotFound" and is_named


def _object_of(text: str) -> Mapping[str, Any]:
    try:
        data = load(text, LIMITS)
    except ForeignError:
        return {}
    return data if isinstance(data, dict) else {}


def wrong(problem: str) -> AnswerError:
    """An answer that no API server gives, or one without end."""
    error = AnswerError(_WRONG, "")
    error._said = {"message": problem}
    return error


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
    """An object, or with an empty name all of its kind; `selector` selects by fields.

    Of kinds that say which node they are of, only those of `nodes` are kept, unless it is empty.
    """

    kind: str
    version: str
    name: str = ""
    namespace: str = ""
    selector: str = ""
    nodes: frozenset[str] = frozenset()

    @property
    def path(self) -> Path:
        return Path(KINDS[self.kind], self.version, self.namespace)

    @property
    def key(self) -> Key:
        return self.kind, self.namespace, self.name


class Refusal(NamedTuple):
    """What the API did not tell."""

    wanted: Wanted
    status: int
    #: What the API said, or what is wrong with its answer.
    message: str

    @property
    def reason(self) -> str:
        """Why nothing is known of the objects."""
        if self.status == _FORBIDDEN:
            return f"the user may not {self._verb} {plural_of(self.wanted.kind)}"
        return f"{plural_of(self.wanted.kind)} cannot be read: {self.message}"

    @property
    def _verb(self) -> str:
        return "read" if self.wanted.name else "list"

    def finding(self) -> Diagnostic:
        """CP8130 for a right that is missing, CP8131 for whatever else keeps an answer away."""
        wanted = self.wanted
        kind, path = wanted.path.kind, wanted.path.text(wanted.name)
        place = Position(path, 0, 0)
        what = plural_of(wanted.kind)
        if self.status != _FORBIDDEN:
            return diagnose("CP8131", place, what=what, path=path, problem=self.message)
        return diagnose(
            "CP8130",
            place,
            what=what,
            verb="get" if wanted.name else "list",
            resource=kind.resource,
            group=kind.group,
            plural=kind.plural,
            problem=self.message,
        )


def _findings(refusals: Iterable[Refusal]) -> list[Diagnostic]:
    """One for each right that is missing, at the first object that needs it."""
    findings: dict[tuple[str, bool, int], Diagnostic] = {}
    for refusal in refusals:
        key = refusal.wanted.kind, bool(refusal.wanted.name), refusal.status
        findings.setdefault(key, refusal.finding())
    return list(findings.values())


class Reader:
    """Reads objects once; rendered MachineConfigs, which never change, once for all rounds."""

    def __init__(self, connection: Connection, pause: Callable[[float], None]) -> None:
        self._connection = connection
        self._pause = pause
        self._patience = _PATIENCE
        self._values = 0
        self._unchanging: dict[str, Object] = {}

    def begin(self) -> None:
        """A new look: with the patience and the room of one."""
        self._patience, self._values = _PATIENCE, 0

    def read(self, wanted: Iterable[Wanted]) -> Objects:
        """What there is of the wanted objects. Raises UnreachableError."""
        objects: list[Object] = []
        unread: dict[Key, Refusal] = {}
        unserved: set[str] = set()
        kinds: list[str] = []
        for request in dict.fromkeys(wanted):
            if request.kind in unserved or (request.kind, "", "") in unread:
                continue
            kinds.append(request.kind)
            try:
                objects += self._read(request)
            except AnswerError as error:
                self._note(request, error, unread, unserved)
        return Objects(
            objects,
            {key: refusal.reason for key, refusal in unread.items()},
            unserved,
            listed=[kind for kind in kinds if (kind, "", "") not in unread],
            refusals=_findings(unread.values()),
        )

    def _note(
        self,
        wanted: Wanted,
        error: AnswerError,
        unread: dict[Key, Refusal],
        unserved: set[str],
    ) -> None:
        if error.status == _UNAUTHORIZED:
            raise UnreachableError(f"it refuses the credentials ({error.message})") from error
        if error.status == _NOT_FOUND and error.is_of_object and wanted.name:
            return  # nothing of that name
        if error.status == _NOT_FOUND and wanted.kind == "Node":
            raise UnreachableError("it has no nodes: it is no API server of a cluster") from error
        if error.status == _NOT_FOUND:
            unserved.add(wanted.kind)
            return
        # A right may be for some names only; whatever else it is, is about the whole kind.
        is_of_name = error.status == _FORBIDDEN and wanted.name
        key = wanted.key if is_of_name else (wanted.kind, "", "")
        unread[key] = Refusal(wanted, error.status, error.message)

    def _read(self, wanted: Wanted) -> Iterator[Object]:
        path = wanted.path
        if not wanted.name:
            yield from self._list(wanted, path)
            return
        address = path.text(wanted.name)
        if address in self._unchanging:
            yield self._unchanging[address]
            return
        data = self._retried(lambda: self._connection.get(path, wanted.name))
        self._judge(wanted.kind, wanted.version, data, address)
        asked = (wanted.name, wanted.namespace)
        if (answered := _names(data)) != asked:
            raise wrong(f"it answers with {answered[0]!r} in place of {wanted.name!r}")
        kept = self._kept(address, data, wanted.kind)
        if wanted.kind == "MachineConfig":
            self._unchanging[address] = kept
        yield kept

    def _list(self, wanted: Wanted, path: Path) -> list[Object]:
        """All pages; a list that expires meanwhile is begun anew."""
        for restart in range(_MAX_RESTARTS + 1):
            try:
                listed = list(self._pages(wanted, path))
            except AnswerError as error:
                if error.status != _GONE or restart == _MAX_RESTARTS:
                    raise
                continue
            if len({item_object.source.path for item_object in listed}) < len(listed):
                raise wrong("it lists an object twice")
            return listed
        raise AssertionError("the last restart returns or raises")

    def _pages(self, wanted: Wanted, path: Path) -> Iterator[Object]:
        query: dict[str, Any] = {"limit": PAGE}
        if wanted.selector:
            query["field_selector"] = wanted.selector
        tokens: set[str] = set()
        number = 0
        for _ in range(MAX_PAGES):
            page = self._retried(lambda: self._connection.page(path, query))
            for item in _items(page, wanted.kind):
                number += 1
                self._judge(wanted.kind, wanted.version, item, f"items[{number - 1}]")
                name, namespace = _names(item)
                if _is_wanted(item, wanted):
                    address = path._replace(namespace=namespace).text(name)
                    yield self._kept(address, item, wanted.kind)
            token = value_of(page, ("metadata", "continue"))
            if not token:
                return
            if not isinstance(token, str) or token in tokens:
                break
            tokens.add(token)
            query["_continue"] = token
        most = f"{PAGE * MAX_PAGES:,}"
        raise wrong(f"there are more than {most}, or its pages lead in a circle")

    def _judge(self, kind: str, version: str, data: Any, where: str) -> None:
        """Refuse what is no object of the kind that was asked for."""
        if problem := problem_in(kind, data):
            raise wrong(f"{where}: {problem}")
        group = KINDS[kind].group
        wanted = {"kind": kind, "apiVersion": f"{group}/{version}" if group else version}
        for key, word in wanted.items():
            given = data.get(key)
            if given is not None and given != word:
                raise wrong(f"{where}: its {key} is not {word}")

    def _kept(self, address: str, data: Mapping[str, Any], kind: str) -> Object:
        kept = _object(address, data, kind)
        try:
            self._values += measure(kept.data, LIMITS)
        except ForeignError as error:
            raise wrong(f"{kept.title} {error.predicate}") from error
        if self._values > MAX_VALUES:
            raise wrong(f"all objects together have more than {MAX_VALUES:,} values")
        return kept

    def _retried(self, ask: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
        """The answer, at last, of a server that is busy for a moment."""
        for attempt in range(_MAX_RETRIES):
            try:
                return ask()
            except AnswerError as error:
                pause = max(error.pause, 2.0**attempt)
                if error.status not in _BUSY or pause > self._patience:
                    raise
            self._patience -= pause
            self._pause(min(pause, served.left_or(pause)))
        return ask()


def _items(page: Mapping[str, Any], kind: str) -> list[Any]:
    """The objects of a page; null stands for none, as Go writes an empty list."""
    said = page.get("kind")
    if said is not None and said not in (f"{kind}List", "List"):
        raise wrong(f"the kind of its list is not {kind}List")
    items = page.get("items")
    if items is None and "items" in page:
        return []
    if not isinstance(items, list):
        raise wrong("its list has no items")
    if not isinstance(page.get("metadata") or {}, dict):
        raise wrong("its list has no metadata")
    if len(items) > PAGE * MAX_PAGES:
        raise wrong(f"there are more than {PAGE * MAX_PAGES:,}")
    return items


def _names(data: Mapping[str, Any]) -> tuple[str, str]:
    metadata = data["metadata"]
    return metadata["name"], metadata.get("namespace") or ""


def _is_wanted(item: Mapping[str, Any], wanted: Wanted) -> bool:
    """Whether an object is of one of the nodes; of other kinds all are."""
    field = _OF_NODES.get(wanted.kind)
    return field is None or not wanted.nodes or value_of(item, field) in wanted.nodes


#: What nobody compares, and what may be most of an object.
_LARGE = ("managedFields",)


def _object(address: str, data: Mapping[str, Any], kind: str) -> Object:
    """An object of an answer; items of lists do not say their kind."""
    known = data.get("metadata") or {}
    small = {key: value for key, value in known.items() if key not in _LARGE}
    made = {**data, "kind": kind, "metadata": small}
    if isinstance(status := made.get("status"), dict) and kind == "Node":
        made["status"] = {key: value for key, value in status.items() if key != "images"}
    source = Source(address, made, {}, (-1, -1))
    return Object(source, (), made, f"{kind} {known.get('name')}")

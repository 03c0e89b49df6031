"""YAML to documents: their schemas, their mistakes, and the places of their fields."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from cpuplan import API_VERSION
from cpuplan.base import naming, program
from cpuplan.base.text import did_you_mean, nearest
from cpuplan.diagnostics import Diagnostic, Label, diagnose
from cpuplan.diagnostics.source import Data, Field, Mark, Position, Source, items_of
from cpuplan.language.model import base
from cpuplan.language.model.base import Model, attributes, name_form
from cpuplan.language.model.cluster import ClusterSpec
from cpuplan.language.model.intent import IntentSpec
from cpuplan.language.model.inventory import HardwareSpec, NodesSpec
from cpuplan.language.model.operations import DeliverySpec, WaiversSpec
from cpuplan.language.read import statements
from cpuplan.language.read.keys import remedy

KINDS: dict[str, type[Model]] = {
    "Hardware": HardwareSpec,
    "Nodes": NodesSpec,
    "Intent": IntentSpec,
    "Cluster": ClusterSpec,
    "Delivery": DeliverySpec,
    "Waivers": WaiversSpec,
}
_ENVELOPE = {"apiVersion", "kind", "metadata", "spec"}
_METADATA = {"name", "labels", "annotations"}

Spec = TypeVar("Spec", bound=Model)


class Document(NamedTuple):
    """One document: its spec as a model, and the source that knows the place of every field."""

    kind: str
    name: str
    spec: Any
    source: Source
    written_as: str = ""  # the kind of the object that it was made from
    #: Fields of the spec that only objects in other files state.
    of_objects: frozenset[str] = frozenset()

    def at(self, *field: str | int) -> Position:
        """Where a field of the spec is written; if it is left out, its nearest written parent."""
        return self.source.value_at(("spec", *field))

    def origin(self, *field: str | int) -> str:
        """The field's name for `diagnostics.Reason`."""
        return f"{self.kind}/{self.name}:" + ".".join(map(str, ("spec", *field)))


class Documents(NamedTuple):
    """All documents of a project by (kind, name); `broken` names those that could not be taken."""

    by_name: dict[tuple[str, str], Document]
    broken: frozenset[tuple[str, str]] = frozenset()
    #: What they were read from, in the order of files.
    sources: tuple[Source, ...] = ()

    def may_define(self, kind: str, name: str = "") -> bool:
        """Whether a broken document may be of this kind and name: absence proves nothing then."""
        return any(
            broken in ("", kind) and (not name or not broken_name or name == broken_name)
            for broken, broken_name in self.broken
        )

    def of_kind(self, kind: str) -> list[Document]:
        """The documents of a kind, ascending by name."""
        return [self.by_name[key] for key in sorted(self.by_name) if key[0] == kind]

    def locate(self, origin: str) -> Position | None:
        """Where the statement `Kind/name:field.path` stands; None for the name of a built-in rule.

        A colon after the path asks for the place of its key instead of its value.
        """
        document, field = statements.split(origin)
        known = self.by_name.get(document) if document else None
        return statements.position(known.source, field) if known else None


def from_sources(sources: Iterable[Source]) -> tuple[Documents, list[Diagnostic]]:
    """The documents of YAML sources; two of one kind and name are an error at the second."""
    diagnostics: list[Diagnostic] = []
    taken: list[Document] = []
    broken: set[tuple[str, str]] = set()
    for source in sources:
        document = _document(source, diagnostics)
        if document is None:
            broken.add(_claimed_name(source))
        else:
            taken.append(document)
    documents, problems = by_name(taken)
    return documents._replace(broken=frozenset(broken)), [*diagnostics, *problems]


def by_name(documents: Iterable[Document]) -> tuple[Documents, list[Diagnostic]]:
    """The documents; of two of one kind and name the first one counts."""
    named: dict[tuple[str, str], Document] = {}
    diagnostics = []
    for document in documents:
        first = named.setdefault((document.kind, document.name), document)
        if first is not document:
            place, other = (
                copy.source.value_at(("metadata", "name")) for copy in (document, first)
            )
            labels = [Label(other, "the first one")]
            kind = document.written_as if document.written_as == first.written_as else ""
            diagnostics.append(
                diagnose(
                    "CP206", place, labels=labels, kind=kind or document.kind, name=document.name
                )
            )
    return Documents(named), diagnostics


def _claimed_name(source: Source) -> tuple[str, str]:
    """What a document that cannot be taken says it is; empty where it does not say."""
    data: Any = source.data
    kind = data.get("kind")
    metadata = data.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else ""
    return (
        kind if isinstance(kind, str) and kind in KINDS else "",
        name if isinstance(name, str) else "",
    )


def _document(source: Source, diagnostics: list[Diagnostic]) -> Document | None:
    """One document, or None with the reasons added to `diagnostics`."""
    data = source.data
    assert isinstance(data, dict)  # noqa: S101 - the reader refuses anything else
    if program.is_later_version(data.get("apiVersion")):  # of the rest, nothing is known
        version, place = data["apiVersion"], source.value_at(("apiVersion",))
        diagnostics.append(
            diagnose("CP139", place, what="the document", found=version, expected=API_VERSION)
        )
        return None
    problems = list(_envelope_problems(source, data))
    kind = data.get("kind")
    if isinstance(kind, str) and kind in KINDS and "spec" in data:
        spec, mistakes = validate(KINDS[kind], source, ("spec",), _beside_spec(data))
        problems += mistakes
    diagnostics += problems
    if problems:
        return None
    metadata: Any = data["metadata"]
    return Document(str(kind), metadata["name"], spec, source)


def _envelope_problems(source: Source, data: dict[str, Any]) -> Iterator[Diagnostic]:
    yield from _unknown_keys(source, data, (), _ENVELOPE, _beside_spec(data))
    if any(nearest(key, _ENVELOPE - data.keys()) for key in data.keys() - _ENVELOPE):
        return  # what the document says of itself is not known before that is mended
    kind = data.get("kind")
    if data.get("apiVersion") != API_VERSION:
        version = written(data.get("apiVersion"))
        own = str(data.get("apiVersion")).startswith(f"{program.API_GROUP}/")
        expected = f"{API_VERSION}; renamed fields are reported then" if own else API_VERSION
        yield diagnose("CP204", source.value_at(("apiVersion",)), found=version, expected=expected)
    if not isinstance(kind, str) or kind not in KINDS:
        yield diagnose(
            "CP205",
            source.value_at(("kind",)),
            found=written(kind),
            hint=did_you_mean(str(kind or ""), KINDS),
        )
    metadata = data.get("metadata")
    known = metadata if isinstance(metadata, dict) else {}
    yield from _unknown_keys(source, known, ("metadata",), _METADATA)
    if known.get("name") is not None:
        yield from name_problems(source, known["name"])
    elif not any(nearest(key, ["name"]) for key in known.keys() - _METADATA):
        yield diagnose("CP202", source.value_at(("metadata",)), field="metadata.name")
        return
    if "spec" not in data and not _beside_spec(data):
        yield diagnose("CP202", source.value_at(()), field="spec")


def name_problems(source: Source, name: object) -> Iterator[Diagnostic]:
    """What is wrong with `metadata.name`."""
    problem = naming.problem_of(name) if isinstance(name, str) else "is not text: quote it"
    if problem:
        instead = naming.instead_of(name)
        yield diagnose(
            "CP207",
            source.value_at(("metadata", "name")),
            name=name,
            problem=problem,
            instead=instead,
        )


def written(value: object) -> str:
    """What a document says it is, for a message."""
    return "missing" if value is None else repr(value)


def _beside_spec(data: dict[str, Any]) -> set[str]:
    """The fields of a document's spec that stand beside it, indented too little."""
    kind = data.get("kind")
    model = KINDS.get(kind) if isinstance(kind, str) else None
    return attributes(model).keys() & data.keys() - _ENVELOPE if model else set()


def _unknown_keys(
    source: Source,
    data: dict[str, Any],
    field: Field,
    known: set[str],
    beside: Collection[str] = (),
) -> Iterator[Diagnostic]:
    """Keys that are not `known`; those `beside` belong into the spec."""
    for key in data:
        if key not in known:
            yield diagnose(
                "CP201",
                source.key_at((*field, key)),
                key=key,
                where=".".join(map(str, field)) or "the document",
                hint="write it under spec" if key in beside else remedy(key, known),
            )


def validate(
    model: type[Spec], source: Source, field: Field, elsewhere: Collection[str] = ()
) -> tuple[Spec | None, list[Diagnostic]]:
    """The model of a field's value, or None and its mistakes; `elsewhere` are keys beside it."""
    from pydantic import ValidationError

    try:
        return model.read(source.at(field)), []
    except ValidationError as error:
        from cpuplan.language.read.mistakes import diagnostics_of

        return None, diagnostics_of(error, model, source, field, elsewhere)


class FieldPlaces:
    """The fields of documents by their places."""

    def __init__(self, documents: Documents) -> None:
        self.documents = documents
        self._fields: dict[str, dict[tuple[int, int], str]] = {}

    def field_at(self, position: Position) -> str:
        """The field whose key or value begins there; empty without one or in a broken document."""
        path = position.path
        if path not in self._fields:
            self._fields[path] = self._fields_of(path)
        return self._fields[path].get((position.line, position.column), "")

    def _fields_of(self, path: str) -> dict[tuple[int, int], str]:
        names: dict[tuple[int, int], str] = {}
        for document in self.documents.by_name.values():
            source = document.source
            if path not in (source.path, *source.grafts.values()):
                continue
            line, column = source.start
            if path == source.path:
                names.setdefault((line + 1, column + 1), f"{document.kind}/{document.name}")
            for field, mark in _marks(source, path):
                name = f"{document.kind}/{document.name}:{'.'.join(map(str, field))}"
                for line, column, _ in mark:
                    if line >= 0:
                        names.setdefault((line + 1, column + 1), name)
        return names

    def document_at(self, position: Position) -> Document | None:
        """The document whose lines the position is in."""
        for document in self.documents.by_name.values():
            source = document.source
            if source.path == position.path and source.start[0] < position.line <= self._last_line(
                document
            ):
                return document
        return None

    def _last_line(self, document: Document) -> int:
        """The last line that a field of the document begins on."""
        source = document.source
        lines = (max(mark.key[0], mark.value[0]) for _, mark in _marks(source, source.path))
        return max(lines, default=document.source.start[0]) + 1


def _marks(source: Source, path: str) -> Iterator[tuple[Field, Mark]]:
    """The fields in a file with their marks, outer ones first.

    An item begins where its first key does.
    """
    todo: list[tuple[Data, Field, str]] = [(source.data, (), source.path)]
    for value, field, outer in todo:
        file = source.grafts.get(id(value), outer)
        marks = source.marks.get(id(value), {}) if file == path else {}
        for name, child in items_of(value):
            mark = marks.get(name)
            if mark and isinstance(child, dict | list) and mark.key[0] >= 0:
                # A mapping begins where its first key does; it is told by its own key
                # (`Source.value_at`).
                yield (*field, name), mark._replace(value=mark.key)
            elif mark:
                yield (*field, name), mark
            todo.append((child, (*field, name), file))


def with_fields(diagnostics: Iterable[Diagnostic], places: FieldPlaces) -> list[Diagnostic]:
    """The diagnostics with the fields that they are about."""
    return [
        diagnostic._replace(field=places.field_at(diagnostic.position))
        if diagnostic.position
        else diagnostic
        for diagnostic in diagnostics
    ]


#: Draft 7 is the newest that the YAML language server declares to support.
DIALECT = "http://json-schema.org/draft-07/schema#"


def schema(kind: str) -> dict[str, Any]:
    """The schema of a whole document of `kind`: the envelope, and the spec as its model says."""
    spec = _draft7(base.schema_of_model(KINDS[kind]))
    definitions = spec.pop("definitions", {})
    for mapping in (spec, *definitions.values()):
        _describe(mapping, definitions)
    texts = {"type": "object", "additionalProperties": {"type": "string"}}
    about = spec.pop("description", "")
    return {
        "$schema": DIALECT,
        "$id": f"https://cpuplan.io/schemas/v1alpha1/{kind.lower()}.schema.json",
        "title": kind,
        "description": about,
        "type": "object",
        "additionalProperties": False,
        "required": ["apiVersion", "kind", "metadata", "spec"],
        "properties": {
            "apiVersion": {"const": API_VERSION, "description": "version of the document format"},
            "kind": {"const": kind, "description": "kind of the document"},
            "metadata": {
                "description": "how other documents and messages refer to this one",
                "type": "object",
                "additionalProperties": False,
                "required": ["name"],
                "properties": {
                    "name": {
                        **name_form(naming.LONGEST_NAME),
                        "description": "unique among the documents of this kind in a project",
                    },
                    "labels": {**texts, "description": "for your own use"},
                    "annotations": {**texts, "description": "for your own use"},
                },
            },
            "spec": {"description": about, **spec},
        },
        "definitions": definitions,
    }


def _describe(schema: dict[str, Any], definitions: Mapping[str, dict[str, Any]]) -> None:
    """Give fields that hold a model the model's description, unless they have one themselves."""
    for form in (schema, *schema.get("anyOf", ())):
        for field in form.get("properties", {}).values():
            if about := _about(field, definitions):
                field.setdefault("description", about)


def _about(field: dict[str, Any], definitions: Mapping[str, dict[str, Any]]) -> str:
    """The description of the model that a field holds, in its short forms too."""
    if "$ref" in field:
        return _about(definitions[field["$ref"].rsplit("/", 1)[1]], definitions)
    forms = field.get("anyOf", ())
    return str(
        field.get("description")
        or next(filter(None, (_about(form, definitions) for form in forms)), "")
    )


def _draft7(value: Any) -> Any:
    """pydantic's 2020-12 in the words of draft 7, without its titles, which only repeat the key."""
    if isinstance(value, list):
        return [_draft7(item) for item in value]
    if not isinstance(value, dict):
        return value
    made = {}
    for key, item in value.items():
        if key == "title" and isinstance(item, str):
            continue
        if key == "description" and isinstance(item, str):
            made[key] = " ".join(item.split())  # a docstring's line ends are those of its source
        elif key == "$ref":
            made[key] = item.replace("#/$defs/", "#/definitions/")
        else:
            made["definitions" if key == "$defs" else key] = _draft7(item)
    return made

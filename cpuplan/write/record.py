"""Results of earlier runs, so that an unchanged project is neither read nor solved again.

A record is a cache: it lies in the user's cache folder, never in the project, and its name is one
digest over all inputs as they were read, the lock, and the program; or over the values of the
documents instead, with the places of findings as fields of these. It is believed only if its digest
says that this user's cpuplan wrote it (`files.cached`), and of `out/` only after every file there
was looked at. What must prove something to others asks no record.

Beside the record of a project there are answers: what a command that only reads has printed, by the
words of its command line and all that it could read.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from cpuplan.base.codec import Codec, CodecError
from cpuplan.base.files import cache as cached
from cpuplan.base.program import program_digest
from cpuplan.base.progress import stage
from cpuplan.diagnostics import Diagnostic, errors, is_possible
from cpuplan.diagnostics.source import Data, Field, Position, Source
from cpuplan.language.read.files import POD_FOLDER, Inputs


class Place(NamedTuple):
    """A key, a value, or the beginning of either, of the document with this number."""

    document: int
    field: Field
    is_key: bool
    is_beginning: bool


#: Of a position, and of those of labels.
Named = tuple[Place | None, tuple[Place, ...]]


def digest_places(sources: Iterable[Source]) -> str:
    """SHA-256 over the values of documents, in their order and with the names of their files."""
    values = [(source.path, source.data) for source in sources]
    return sha256(json.dumps(values).encode()).hexdigest()


def name_places(diagnostics: Sequence[Diagnostic], sources: Sequence[Source]) -> list[Named] | None:
    """The places of findings; None where one has none, such as a part of a text."""
    positions = [position for finding in diagnostics for position in _positions(finding)]
    known = _places(sources, {position.path for position in positions})
    if not all(position in known for position in positions):
        return None
    return [_named(finding, known) for finding in diagnostics]


def _named(finding: Diagnostic, known: Mapping[Position, Place]) -> Named:
    place = known[finding.position] if finding.position else None
    return place, tuple(known[label.position] for label in finding.labels)


def find_positions(diagnostic: Diagnostic, named: Named, sources: Sequence[Source]) -> Diagnostic:
    """A finding at the present position of its places, which `sources` have."""
    place, of_labels = named
    labels = tuple(
        label._replace(position=_position(labelled, sources))
        for label, labelled in zip(diagnostic.labels, of_labels, strict=True)
    )
    position = _position(place, sources) if place else None
    return diagnostic._replace(position=position, labels=labels)


def _positions(diagnostic: Diagnostic) -> Iterator[Position]:
    if diagnostic.position:
        yield diagnostic.position
    yield from (label.position for label in diagnostic.labels)


def _places(sources: Sequence[Source], paths: set[str]) -> dict[Position, Place]:
    """All places in some files by their positions; of several, the first."""
    known: dict[Position, Place] = {}
    for number, source in enumerate(sources):
        if source.path in paths:
            for field in _fields(source.data):
                for is_key, is_beginning in ((False, False), (True, False), (False, True)):
                    place = Place(number, field, is_key, is_beginning)
                    known.setdefault(_position(place, sources), place)
    return known


def _fields(data: Data) -> Iterator[Field]:
    """The document itself, and all that it holds."""
    todo: list[tuple[Data, Field]] = [(data, ())]
    while todo:
        value, field = todo.pop()
        yield field
        if isinstance(value, dict):
            todo += [(child, (*field, name)) for name, child in value.items()]
        elif isinstance(value, list):
            todo += [(child, (*field, index)) for index, child in enumerate(value)]


def _position(place: Place, sources: Sequence[Source]) -> Position:
    source = sources[place.document]
    if place.is_beginning:
        line, column = source.mark_of(place.field).value[:2]
        return Position(source.path, line + 1, column + 1, column + 1)
    return source.key_at(place.field) if place.is_key else source.value_at(place.field)


#: Records that are kept, and answers; the oldest go first.
MOST = 400
_MAX_BYTES = 4 * 1024 * 1024
_ENDING, _OF_ANSWERS = ".json", ".answer"


class Record(NamedTuple):
    """A project without errors: what was said of it, and what `out/` holds then."""

    diagnostics: tuple[Diagnostic, ...]
    tree: str  # see `write.manifest.tree_digest`
    nodes: int
    classes: int


class _Kept(NamedTuple):
    """A record, and the places of its findings; none beside the inputs that have these lines."""

    record: Record
    places: tuple[Named, ...]


@stage("reading the project")
def unchanged(inputs: Inputs, out: Path) -> Record | None:
    """The record of these inputs, if every file of `out` is still as they produced it."""
    record = find(inputs) or _of_values(inputs)
    return record if record and _tree_of(out) == record.tree else None


def _tree_of(out: Path) -> str:
    """The digest of the files in `out` that cpuplan owns; empty where `compile` has work to do."""
    from cpuplan.write.compare import digest_of
    from cpuplan.write.tree import stage_of

    return "" if os.path.lexists(stage_of(out).folder) else digest_of(out)


def find(inputs: Inputs) -> Record | None:
    """The record of inputs that were judged before; None if there is none that can be read."""
    kept = _read(inputs, inputs.digest()) if not inputs.diagnostics else None
    return kept.record if kept else None


def _of_values(inputs: Inputs) -> Record | None:
    """The record of the same values that were written otherwise, at the lines that they have now.

    The next run finds it without reading the values.
    """
    sources = _sources(inputs)
    if not sources:
        return None
    kept = _read(inputs, _digest_of_values(inputs, sources))
    if kept is None:
        return None
    record, named = kept
    try:
        diagnostics = [
            find_positions(finding, name, sources)
            for finding, name in zip(record.diagnostics, named, strict=True)
        ]
    except (LookupError, TypeError, ValueError):
        return None
    record = record._replace(diagnostics=tuple(diagnostics))
    _write(inputs, inputs.digest(), record, [])
    return record


def _sources(inputs: Inputs) -> Sequence[Source]:
    """The documents of inputs; none of such whose values are not all in these."""
    from cpuplan.language.read import yaml  # inputs that are as they were are not read

    sources: list[Source] = []
    for name, data in inputs.texts.items():
        of_file, problems = yaml.decode(name, data)
        if problems or _is_manifest(name):
            return ()
        sources += of_file
    return () if inputs.diagnostics else sources


def _is_manifest(name: str) -> bool:
    """Whether a file is in the values of documents that name it, and no document itself."""
    return name.startswith(f"{POD_FOLDER}/")


def _digest_of_values(inputs: Inputs, sources: Iterable[Source]) -> str:
    lock = "-" if inputs.lock is None else sha256(inputs.lock).hexdigest()
    return f"values {digest_places(sources)} {lock}"


def _read(inputs: Inputs, digest: str) -> _Kept | None:
    return _load(inputs.root, _place(digest), _codec())


@stage("recording the result")
def save(inputs: Inputs, record: Record, sources: Sequence[Source]) -> None:
    """Keep the record of `inputs`, which have these documents.

    Where the cache folder cannot be written there will be none.
    """
    if inputs.diagnostics:
        return
    _write(inputs, inputs.digest(), record, [])
    has_all = not any(map(_is_manifest, inputs.texts))
    named = name_places(record.diagnostics, sources) if has_all else None
    if named is not None:
        _write(inputs, _digest_of_values(inputs, sources), record, named)


def _write(inputs: Inputs, digest: str, record: Record, named: Sequence[Named]) -> None:
    _keep(inputs.root, _place(digest), _codec(), _Kept(record, tuple(named)))


def _place(digest: str, ending: str = _ENDING) -> Path | None:
    """The file of the record of inputs with this digest; None without a home folder."""
    folder = cached.place_of_user()
    name = sha256(f"{program_digest()} {digest}".encode()).hexdigest()
    return folder / f"{name}{ending}" if folder else None


Value = TypeVar("Value")


def _load(root: Path, place: Path | None, codec: Codec[Value]) -> Value | None:
    """What is kept at a place for a project; None where there is none to believe."""
    if place is None or not cached.cache_folder(root):
        return None
    data = cached.Sealed(place.parent).read(place.name, _MAX_BYTES)
    try:
        return codec.decode(data) if data else None
    except CodecError:
        return None


def _keep(root: Path, place: Path | None, codec: Codec[Value], value: Value) -> None:
    if place is None or not cached.cache_folder(root):
        return
    with suppress(CodecError, OSError):
        data = codec.encode(value)
        if len(data) < _MAX_BYTES and cached.Sealed(place.parent).write([place.name], data):
            _prune(place)


@cache
def _codec() -> Codec[_Kept]:
    return Codec(_Kept, {Diagnostic: is_possible, Record: _is_record, Position: _has_line})


def _is_record(record: Record) -> bool:
    return not errors(record.diagnostics) and min(record.nodes, record.classes) >= 0


def _has_line(position: Position) -> bool:
    return position.line >= 0


def _prune(place: Path) -> None:
    """Remove the oldest beside a new record, or beside a new answer."""
    kept = [entry for entry in os.scandir(place.parent) if entry.name.endswith(place.suffix)]
    for entry in sorted(kept, key=lambda entry: entry.stat().st_mtime_ns)[:-MOST]:
        os.unlink(entry.path)


class Said(NamedTuple):
    """What a command printed at once, as it was before it was made fit for a terminal."""

    text: str
    colour: bool
    is_error: bool
    has_line_end: bool


class Answer(NamedTuple):
    """All that a command printed, in order, and its exit code."""

    said: tuple[Said, ...]
    code: int


def find_answer(root: Path, question: str) -> Answer | None:
    """What was answered for a project before; None where nothing is to be believed."""
    return _load(root, _place(question, _OF_ANSWERS), _codec_of_answers())


def save_answer(root: Path, question: str, answer: Answer) -> None:
    """Keep an answer to a question, which has all that it depends on but the program."""
    _keep(root, _place(question, _OF_ANSWERS), _codec_of_answers(), answer)


#: Exit codes of commands that did what they were asked for; see `cli.main`.
_ANSWERED = (0, 1, 6)


@cache
def _codec_of_answers() -> Codec[Answer]:
    return Codec(Answer, {Answer: _is_answer})


def _is_answer(answer: Any) -> bool:
    return answer.code in _ANSWERED

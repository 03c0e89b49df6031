"""The strict YAML reader: text to Sources, with the place of every key and value.

It takes the subset of YAML that all readers understand alike, and reports everything else in one
run.
"""

import codecs
from pathlib import Path

import yaml

from cpuplan.base.composer import LOADER, ExcessError, Limits, compose
from cpuplan.base.files import MAX_BYTES, Name, TooLarge, Unreadable, note, read_regular
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Position, Source
from cpuplan.language.read import yaml_text
from cpuplan.language.read.files import refusal
from cpuplan.language.read.strict import DocumentBuilder, Stop, too_large
from cpuplan.language.read.yaml_text import BREAK

LIMITS = Limits(values=2_000_000, depth=64)


def read(
    path: Path, name: str, *, within: Name | None = None
) -> tuple[list[Source], list[Diagnostic]]:
    """Read the documents of the file at `path`; `name` is what messages call it.

    No link may lead out of the folder `within`. See `parse`.
    """
    try:
        data = read_regular(path, within=within, limit=MAX_BYTES)
    except TooLarge:
        return [], [too_large(Position(name, 1, 1), "bytes", MAX_BYTES)]
    except Unreadable as error:
        return [], [refusal(name, error)]
    return decode(name, data)


def decode(name: str, data: bytes) -> tuple[list[Source], list[Diagnostic]]:
    """Read the documents in the bytes of the file `name`; see `parse`."""
    try:
        data = data.removeprefix(codecs.BOM_UTF8)
        text = data.decode()
    except UnicodeDecodeError as error:
        lines = BREAK.split(data[: error.start].decode())
        problem = f"byte 0x{data[error.start]:02x} is not UTF-8"
        position = Position(name, len(lines), len(lines[-1]) + 1)
        return [], [diagnose("CP108", position, path=name, problem=problem)]
    return parse(name, text)


def parse(path: str, text: str) -> tuple[list[Source], list[Diagnostic]]:
    """Read the YAML documents in `text`; `path` is what positions call the file.

    Documents without content are dropped. All errors of the file are returned together, in the
    order of their places; invalid syntax (CP101) and excess (CP106) end the reading. With errors,
    the documents are whole but for what was refused: an ambiguous scalar is its text, a value
    without a usable key is missing.
    """
    note(path)
    builder = DocumentBuilder(path, text.removeprefix("\ufeff"))
    sources = []
    try:
        builder.report(*yaml_text.oddities(builder.text))
        for document in compose(LOADER(builder.text), builder, LIMITS):
            source = builder.source(document)
            sources += [source] if source else []
        if not path.endswith(".json"):  # no reader of JSON refuses tabs
            builder.report(*yaml_text.tabs(builder.text))
    except ExcessError as error:
        builder.refuse_excess(error)
    except yaml.YAMLError as error:
        builder.report(yaml_text.syntax_problem(builder.text, error))
    except Stop:
        pass
    return sources, sorted(builder.diagnostics, key=lambda diagnostic: diagnostic.position or ())

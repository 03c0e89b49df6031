"""The XML that hwloc writes: elements, attributes and two kinds of text; the rest is refused.

hwloc's files name a DTD and hold no entities (doc/hwloc.doxy, "Importing and exporting topologies
from/to XML files"). The DTD is never fetched.
"""

import re
from typing import Any
from xml.parsers import expat

from cpuplan.base.quantity import to_text
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Position

#: A machine of 1,920 CPUs has 2 MB and 25,000 elements, nested about 20 deep; chains of PCI bridges
#: go deeper.
MAX_BYTES = 64 * 1024 * 1024
MAX_ELEMENTS = 200_000  # 8,192 CPUs with four caches each have about 60,000
MAX_DEPTH = 200
_DTD = re.compile(r"hwloc[0-9]?\.dtd")
#: Elements whose text is data; `userdata` may have any text, which is not kept.
_TEXTS = frozenset({"indexes", "u64values"})


class XmlError(Exception):
    """A file that is not read; holds the diagnostic."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


class Element:
    """An element: its name, attributes, children, and the text of elements that hold data there."""

    __slots__ = ("attributes", "children", "line", "name", "text")

    def __init__(self, name: str, attributes: dict[str, str], line: int) -> None:
        self.name = name
        self.attributes = attributes
        self.children: list[Element] = []
        self.line = line
        self.text = ""

    def named(self, name: str) -> "list[Element]":
        """The elements called `name` in it, in order."""
        return [child for child in self.children if child.name == name]


def parse(data: bytes, path: str) -> Element:
    """The root of the XML in `data`, UTF-8; `path` is what messages call it. Raises XmlError."""
    if len(data) > MAX_BYTES:
        raise XmlError(
            diagnose("CP151", path=path, problem=f"more than {to_text(MAX_BYTES)} bytes")
        )
    parser = expat.ParserCreate("UTF-8")
    builder = _Builder(parser, path)
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        place = Position(path, error.lineno, error.offset + 1, error.offset + 2)
        problem = "it is cut short" if error.code in _CUT_SHORT else expat.ErrorString(error.code)
        raise XmlError(diagnose("CP150", place, path=path, problem=problem)) from None
    return builder.root


#: Errors that only the end of a file can cause.
_CUT_SHORT = frozenset(
    expat.errors.codes[text]
    for text in (
        expat.errors.XML_ERROR_NO_ELEMENTS,
        expat.errors.XML_ERROR_UNCLOSED_TOKEN,
        expat.errors.XML_ERROR_PARTIAL_CHAR,
    )
)


class _Builder:
    """Makes elements from expat's events, and refuses the events that hwloc's files never cause."""

    def __init__(self, parser: expat.XMLParserType, path: str) -> None:
        self._parser = parser
        self._path = path
        self._open: list[Element] = []
        self._count = 0
        self.root = Element("", {}, 1)
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._doctype
        parser.EntityDeclHandler = self._entity
        parser.SkippedEntityHandler = self._entity
        parser.ExternalEntityRefHandler = self._external
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > MAX_ELEMENTS:
            raise self._refuse(f"more than {MAX_ELEMENTS} elements")
        if len(self._open) >= MAX_DEPTH:
            raise self._refuse(f"elements that are nested more than {MAX_DEPTH} deep")
        element = Element(name, attributes, self._parser.CurrentLineNumber)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)

    def _end(self, _: str) -> None:
        self._open.pop()

    def _text(self, text: str) -> None:
        if self._open[-1].name in _TEXTS:
            self._open[-1].text += text

    def _doctype(
        self, name: str, system_id: str | None, public_id: str | None, internal: int
    ) -> None:
        if internal:
            raise self._refuse("a document type of its own")
        if name != "topology" or public_id or (system_id and not _DTD.fullmatch(system_id)):
            raise self._refuse(f"the document type {system_id or public_id or name!s:.60}")

    def _entity(self, name: str, *_: Any) -> None:
        raise self._refuse(f"the entity {name!s:.60}")

    def _external(self, *_: Any) -> int:
        raise self._refuse("an external entity")

    def _refuse(self, problem: str) -> XmlError:
        line = self._parser.CurrentLineNumber
        column = self._parser.CurrentColumnNumber + 1
        place = Position(self._path, line, column, column + 1)
        return XmlError(diagnose("CP151", place, path=self._path, problem=problem))

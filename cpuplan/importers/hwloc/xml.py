"""A topology as hwloc writes it, in versions 1 to 3 of its XML: elements, and alike objects.

hwloc's files name a DTD and hold no entities (doc/hwloc.doxy, "Importing and exporting topologies
from/to XML files"). The DTD is never fetched.

Version 1 calls a package Socket and every cache Cache, has NUMA nodes among the other objects, and
says the subtype in an info named Type. Version 2 has subtypes, and NUMA nodes beside what they are
near to ("Upgrading to the hwloc 2.0 API" in hwloc's manual). Version 3 moves the machine's infos to
the topology.
"""

import re
from typing import Any, NamedTuple
from xml.parsers import expat

from cpuplan.base.cpuset import EMPTY, MAX_CPU, CpuSet
from cpuplan.base.text import quantity_text
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


def parse_xml(data: bytes, path: str) -> Element:
    """The root of the XML in `data`, UTF-8; `path` is what messages call it. Raises XmlError."""
    if len(data) > MAX_BYTES:
        raise XmlError(
            diagnose("CP151", path=path, problem=f"more than {quantity_text(MAX_BYTES)} bytes")
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


_MAX_COMPLAINTS = 20
_NUMBER = re.compile(r"[0-9]{1,15}")
_WORD = re.compile(r"0x[0-9a-f]{1,8}")
#: A word of all higher bits, without end (hwloc_bitmap_snprintf).
_INFINITE = "0xf...f"
_ALL = (1 << MAX_CPU + 1) - 1
_CACHE = re.compile(r"L([1-9])(i?)Cache")
#: `cache_type`: hwloc_obj_cache_type_e.
_CACHE_TYPES = {"0": "Unified", "1": "Data", "2": "Instruction"}
_NEWEST = 3


class Object(NamedTuple):
    """One object, by the names of hwloc 2 and 3. Sets are empty where an object has none."""

    type: str
    subtype: str
    number: int | None  # os_index: the kernel's number
    cpus: CpuSet
    near: CpuSet  # its own CPUs, hidden ones if all are, or those of the object above (of a device)
    nodes: CpuSet  # numbers of NUMA nodes
    infos: dict[str, str]
    level: int  # of a cache, else 0
    parent: int  # its place in the list of objects, -1 for none
    element: Element


class Reader:
    """Reads values out of attributes. Sets repeat, so each text is parsed once."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.diagnostics: list[Diagnostic] = []
        self._sets: dict[str, CpuSet | None] = {}

    def number(self, element: Element, key: str, largest: int = 10**15) -> int | None:
        """A number; None where there is none, also for hwloc's "unknown", 2^32 - 1 or -1."""
        text = element.attributes.get(key)
        if text is None or text in ("", "-1", "4294967295"):
            return None
        if _NUMBER.fullmatch(text) and int(text) <= largest:
            return int(text)
        self.complain(element, text, f"`{key}` is not a number up to {largest}")
        return None

    def set(self, element: Element, key: str) -> CpuSet:
        """A bitmap: words of 32 bits, highest first, empty ones for 0: `0x0000ffff,,0x1`."""
        text = element.attributes.get(key, "")
        if text not in self._sets:
            self._sets[text] = _parse_bitmap(text)
            if self._sets[text] is None:
                self.complain(element, text, f"`{key}` is not a bitmap of numbers up to {MAX_CPU}")
        return self._sets[text] or EMPTY

    def complain(self, element: Element, text: str, problem: str) -> None:
        if len(self.diagnostics) < _MAX_COMPLAINTS:
            place = f"{self.path}:{element.line}"
            self.diagnostics.append(diagnose("CP125", path=place, text=text[:40], problem=problem))


class Document(NamedTuple):
    """A topology; `objects` are in the order of the file, for each type hwloc's logical order."""

    version: int
    root: Element
    objects: tuple[Object, ...]
    infos: dict[str, str]  # the machine's

    def of_type(self, *types: str) -> list[Object]:
        """The objects of these types, in order."""
        return [member for member in self.objects if member.type in types]


def read(root: Element, reader: Reader) -> Document:
    """The topology whose element is `root`. Raises XmlError where it is none."""
    if root.name != "topology":
        problem = f"its first element is <{root.name:.40}>, not <topology>"
        raise XmlError(
            diagnose(
                "CP150", Position(reader.path, root.line, 1, 2), path=reader.path, problem=problem
            )
        )
    major = root.attributes.get("version", "1").partition(".")[0]
    version = int(major) if _NUMBER.fullmatch(major) else _NEWEST
    objects = tuple(_objects(root, reader, version))
    infos = _infos(root)
    for member in objects:
        if member.type == "Machine":
            infos = {**member.infos, **infos}
    return Document(version, root, objects, infos)


def _objects(root: Element, reader: Reader, version: int) -> list[Object]:
    """All objects in the order of the file."""
    objects: list[Object] = []
    todo = [(element, -1) for element in reversed(root.named("object"))]
    while todo:
        element, parent = todo.pop()
        objects.append(
            _object(
                element, reader, parent, objects[parent].near if parent >= 0 else EMPTY, version
            )
        )
        here = len(objects) - 1
        todo += [(child, here) for child in reversed(element.named("object"))]
    return objects


def _object(element: Element, reader: Reader, parent: int, near: CpuSet, version: int) -> Object:
    name = element.attributes.get("type", "")
    infos = _infos(element)
    level = 0
    match = _CACHE.fullmatch(name)
    if match or name == "Cache":
        level = int(match[1]) if match else reader.number(element, "depth", 9) or 0
        name = "Cache"
    cpus = reader.set(element, "cpuset")
    return Object(
        type="Package" if name == "Socket" else name,
        subtype=element.attributes.get("subtype")
        or (infos.get("Type", "") if version == 1 else ""),
        number=reader.number(element, "os_index"),
        cpus=cpus,
        near=(cpus or reader.set(element, "complete_cpuset"))
        if "cpuset" in element.attributes
        else near,
        nodes=reader.set(element, "nodeset"),
        infos=infos,
        level=level,
        parent=parent,
        element=element,
    )


def cache_type(cache: Object) -> str:
    """Unified, Data or Instruction."""
    return _CACHE_TYPES.get(cache.element.attributes.get("cache_type", ""), "Unified")


def _infos(element: Element) -> dict[str, str]:
    """An element's infos by name, blanks collapsed; the first non-empty one of a name counts."""
    infos: dict[str, str] = {}
    for info in element.named("info"):
        value = " ".join(info.attributes.get("value", "").split())
        if value:
            infos.setdefault(info.attributes.get("name", ""), value)
    return infos


def _parse_bitmap(text: str) -> CpuSet | None:
    bits = 0
    words = text.split(",")
    if words[0] == _INFINITE:
        bits, words = _ALL, words[1:]
    if len(words) > (MAX_CPU + 1) // 32:
        return None
    for word in words:
        if word and not _WORD.fullmatch(word):
            return None
        bits = bits << 32 | int(word or "0", 16)
    return CpuSet.from_bits(bits & _ALL)

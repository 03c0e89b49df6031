"""The NUMA nodes of a hwloc topology: their CPUs, memory, pages and distances."""

import re

from cpuplan.base.cpuset import CpuSet
from cpuplan.importers.hwloc.objects import Document, Object, Reader
from cpuplan.importers.hwloc.xml import Element
from cpuplan.importers.machine import NumaFacts

_LATENCY = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
#: hwloc_distances_kind_e: reported by the system, and a latency.
_FROM_SYSTEM = 1
_MEANS_LATENCY = 4

#: Distances by the numbers of two NUMA nodes.
Matrix = dict[tuple[int, int], int]


def numa_nodes(document: Document, reader: Reader, present: CpuSet) -> tuple[NumaFacts, ...]:
    """The NUMA nodes, ascending. Each CPU, also an offline or hidden one, is in at most one node.

    hwloc gives a memory-only node the CPUs that it is near to, so a CPU can be in several: of those
    it is in the node of ordinary memory (subtype DRAM), else in the smallest, and of equals in the
    first. hwloc 1 shows nodes without memory too, and takes them out of the node sets. A CPU whose
    own node is left out, since it has no memory, is in none.
    """
    shown = {
        node.number: node for node in reversed(document.of_type("NUMANode")) if _is_shown(node)
    }
    if not shown:
        machine = document.of_type("Machine")
        return tuple(_facts(node, 0, present, None, reader) for node in machine[:1])
    told = any(_memory(node, reader) is not None for node in shown.values())
    numbers = sorted(number for number in shown if number is not None)
    distances = _distances(document, numbers)
    rest = present - _without_node(document, reader)
    nodes = []
    for number in sorted(numbers, key=lambda number: _order(shown[number])):
        node = shown[number]
        cpus = node.cpus | reader.set(node.element, "complete_cpuset")
        nodes.append(_facts(node, number, cpus & rest, 0 if told else None, reader))
        rest -= cpus
    return tuple(
        node._replace(distances=distances.get(node.id, ()))
        for node in sorted(nodes, key=lambda n: n.id)
    )


def lenders(document: Document, nodes: tuple[NumaFacts, ...]) -> list[int]:
    """The nodes that hwloc shows with CPUs which are all in other nodes."""
    shown = {node.number for node in document.of_type("NUMANode") if node.cpus}
    return [node.id for node in nodes if node.id in shown and not node.cpus]


def _without_node(document: Document, reader: Reader) -> CpuSet:
    """CPUs whose own NUMA node is left out, which `complete_nodeset` has and `nodeset` lacks.

    The kernel numbers the nodes of CPUs before those of memory only, so it is the lowest.
    """
    without = []
    for unit in document.of_type("PU"):
        near = reader.set(unit.element, "complete_nodeset")
        if near and near.first not in unit.nodes and unit.number is not None:
            without.append(unit.number)
    return CpuSet(without)


def _is_shown(node: Object) -> bool:
    return node.number is not None and (
        node.number in node.nodes or "nodeset" not in node.element.attributes
    )


def _order(node: Object) -> tuple[int, int, int]:
    index = node.number or 0
    if node.subtype == "DRAM":
        return 0, 0, index
    return (2 if node.subtype else 1), len(node.cpus), index


def _facts(
    node: Object, number: int, cpus: CpuSet, memory: int | None, reader: Reader
) -> NumaFacts:
    known = _memory(node, reader)
    return NumaFacts(
        number, cpus, memory if known is None else known, (), _huge_pages(node.element, reader)
    )


def _memory(node: Object, reader: Reader) -> int | None:
    """Bytes; hwloc leaves them out where there are none, or none are known."""
    return reader.number(node.element, "local_memory")


def _huge_pages(element: Element, reader: Reader) -> dict[int, int]:
    """Pages by size in kB; the smallest size is that of ordinary pages."""
    pages: dict[int, int] = {}
    for page in element.named("page_type"):
        size, count = reader.number(page, "size"), reader.number(page, "count")
        if size and size % 1024 == 0 and count is not None:
            pages[size // 1024] = count
    return {size: pages[size] for size in sorted(pages)[1:]}


def _distances(document: Document, numbers: list[int]) -> dict[int, tuple[int, ...]]:
    """Rows by node, columns ascending by node; {} without a matrix of exactly these nodes."""
    matrix = _matrix_1(document) if document.version == 1 else _matrix(document)
    if {number for number, _ in matrix} != set(numbers):
        return {}
    rows = {}
    for row in numbers:
        rows[row] = tuple(matrix[row, column] for column in numbers)
    return rows


def _matrix(document: Document) -> Matrix:
    """Versions 2 and 3: `distances2`; matrices of the system precede those that users added."""
    members = document.of_type("NUMANode")
    by_gp = {node.element.attributes.get("gp_index"): node.number for node in members}
    matrices: list[tuple[bool, Matrix]] = []
    for element in document.root.named("distances2"):
        kind = element.attributes.get("kind", "")
        bits = int(kind) if kind.isascii() and kind.isdecimal() and len(kind) < 9 else 0
        if element.attributes.get("type") != "NUMANode" or not bits & _MEANS_LATENCY:
            continue
        nodes = _numbers(element, "indexes")
        if element.attributes.get("indexing") == "gp":
            nodes = [by_gp.get(str(number)) or 0 for number in nodes]
        matrix = _square(nodes, _numbers(element, "u64values"))
        matrices.append((not bits & _FROM_SYSTEM, matrix))
    return min(matrices, key=lambda item: item[0])[1] if matrices else {}


def _matrix_1(document: Document) -> Matrix:
    """Version 1: latencies relative to a base, between all objects of one depth in their order."""
    nodes = [member.number or 0 for member in document.of_type("NUMANode")]
    for member in document.objects:
        for element in member.element.named("distances"):
            values = [item.attributes.get("value", "") for item in element.named("latency")]
            base = element.attributes.get("latency_base", "1")
            if len(values) == len(nodes) ** 2 and all(map(_LATENCY.fullmatch, [base, *values])):
                return _square(nodes, [round(float(base) * float(value)) for value in values])
    return {}


def _square(nodes: list[int], values: list[int]) -> Matrix:
    if len(values) != len(nodes) ** 2:
        return {}
    pairs = ((row, column) for row in nodes for column in nodes)
    return dict(zip(pairs, values, strict=True))


def _numbers(element: Element, name: str) -> list[int]:
    """The numbers in the text of all elements called `name`; [] if one of them is none."""
    words = " ".join(child.text for child in element.named(name)).split()
    known = all(word.isascii() and word.isdecimal() and len(word) < 10 for word in words)
    return [int(word) for word in words] if known else []

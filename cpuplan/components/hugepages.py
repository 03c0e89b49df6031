"""Huge pages: what the intent asks for on each NUMA node, in the units of several components."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from cpuplan.base.text import quantity_text
from cpuplan.base.topology import Topology
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate, Position
from cpuplan.plan import NodePlan

MIB = 1024**2
#: Sizes that the kernel has, by architecture and base page size
#: (Documentation/arch/arm64/hugetlbpage.rst).
SIZES: dict[tuple[str, str], tuple[str, ...]] = {
    ("x86_64", "4k"): ("2M", "1G"),
    ("aarch64", "4k"): ("64k", "2M", "32M", "1G"),
    ("aarch64", "64k"): ("2M", "512M", "16G"),
    ("ppc64le", "64k"): ("2M", "16M", "1G", "16G"),
    ("s390x", "4k"): ("1M", "2G"),
    ("riscv64", "4k"): ("64k", "2M", "1G"),
}
_UNITS = {"k": 1, "M": 1024, "G": 1024**2}


def to_kib(size: str) -> int:
    """Kibibytes of a size as boot arguments have it: 2048 for `2M`."""
    return int(size[:-1]) * _UNITS[size[-1].replace("K", "k")]


def resource(kib: int) -> str:
    """The resource that Kubernetes counts pages of `kib` kibibytes as: `hugepages-2Mi`."""
    return f"hugepages-{quantity_text(kib * 1024)}"


def memory_nodes(topology: Topology) -> dict[int, int | None]:
    """NUMA nodes with memory and its bytes, ascending; None where the inventory has no amount.

    A machine with unknown memory has some on each node with CPUs.
    """
    facts = topology.numa_facts
    if any(node.memory for node in facts.values()):
        return {number: node.memory for number, node in facts.items() if node.memory}
    return dict.fromkeys(topology.numa_nodes)


def per_node(plan: NodePlan) -> dict[int, dict[int, int]]:
    """Numbers of pages by NUMA node and size in KiB.

    The kernel spreads pages without a node evenly, the lowest nodes getting one more
    (hugetlb_hstate_alloc_pages); a count of a node's own then replaces what it got.
    """
    nodes = list(memory_nodes(plan.topology))
    counts: dict[int, dict[int, int]] = {node: {} for node in nodes}
    for pages in plan.spec.huge_pages.pages:
        if pages.numa_node is None and nodes:
            share, more = divmod(pages.count, len(nodes))
            for index, node in enumerate(nodes):
                counts[node][to_kib(pages.size)] = share + (index < more)
    for pages in plan.spec.huge_pages.pages:
        if pages.numa_node is not None:
            counts.setdefault(pages.numa_node, {})[to_kib(pages.size)] = pages.count
    return counts


class Uneven(NamedTuple):
    """Pages of an entry that are left over when each node has as many as the others.

    `nodes` are all that the kernel spreads the entry over, `free` those without a count of their
    own for the size.
    """

    entry: int
    size: str
    number: int
    left: int
    nodes: tuple[int, ...]
    free: tuple[int, ...]


def uneven(plan: NodePlan) -> Iterator[Uneven]:
    """Entries with pages of which nobody knows the NUMA node before the node boots.

    `per_node` assumes the lowest nodes. The kernel begins with any node, and passes over nodes
    without enough contiguous memory.
    """
    entries = plan.spec.huge_pages.pages
    nodes = tuple(memory_nodes(plan.topology))
    for index, pages in enumerate(entries):
        if pages.numa_node is not None:
            continue
        size = to_kib(pages.size)
        stated = {other.numa_node for other in entries if to_kib(other.size) == size}
        free = tuple(node for node in nodes if node not in stated)
        left = pages.count % len(nodes) if nodes else 0
        if left and free:
            yield Uneven(index, pages.size, pages.count, left, nodes, free)


def bytes_by_resource(pages: Mapping[int, int]) -> dict[str, int]:
    """The bytes that a node's pages take, by the resource that Kubernetes counts them as."""
    return {resource(kib): kib * 1024 * count for kib, count in pages.items()}


def bytes_of(pages: Mapping[int, int]) -> int:
    """The bytes that a node's pages take."""
    return sum(bytes_by_resource(pages).values())


def room(plan: NodePlan, *, at_worst: bool) -> dict[int, int | None]:
    """What pages leave of each NUMA node's memory, in bytes; below 0 where they do not fit.

    None where the memory is not known. `at_worst`, a node gets one of the pages whose node the
    kernel chooses; otherwise it gets none.
    """
    pages = per_node(plan)
    rooms = {
        node: None if size is None else size - bytes_of(pages.get(node, {}))
        for node, size in memory_nodes(plan.topology).items()
    }
    for entry in uneven(plan):
        for node in entry.free:
            is_assumed = node in entry.nodes[: entry.left]
            known = rooms[node]
            if known is not None and is_assumed != at_worst:
                rooms[node] = known + to_kib(entry.size) * 1024 * (1 if is_assumed else -1)
    return rooms


def check(plan: NodePlan, locate: Locate) -> list[Diagnostic]:
    """Sizes that the machine lacks, pages asked for twice, nodes without enough memory."""
    return [*_check_sizes(plan, locate), *_check_pages(plan, locate), *_check_memory(plan, locate)]


def _check_sizes(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    spec, architecture = plan.spec, plan.node_class.architecture
    base = spec.kernel.page_size or ("64k" if architecture == "ppc64le" else "4k")
    known = SIZES.get((architecture, base))
    if known is None:
        return
    asked = {f"pages.{index}.size": pages.size for index, pages in enumerate(spec.huge_pages.pages)}
    if spec.huge_pages.default_size:
        asked["defaultSize"] = spec.huge_pages.default_size
    allowed = {to_kib(size) for size in known}
    for field, size in asked.items():
        if to_kib(size) not in allowed:
            position = locate(plan.node_class.place(f"hugePages.{field}"))
            sizes = ", ".join(known)
            yield diagnose(
                "CP540", position, size=size, architecture=architecture, base=base, sizes=sizes
            )


def _check_pages(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    nodes = memory_nodes(plan.topology)
    seen: set[tuple[int, int | None]] = set()
    for index, pages in enumerate(plan.spec.huge_pages.pages):
        origin = plan.node_class.place(f"hugePages.pages.{index}")
        where = "the machine" if pages.numa_node is None else f"NUMA node {pages.numa_node}"
        if (to_kib(pages.size), pages.numa_node) in seen:
            yield diagnose("CP541", locate(origin), size=pages.size, where=where)
        seen.add((to_kib(pages.size), pages.numa_node))
        if pages.numa_node is not None and pages.numa_node not in nodes:
            position = locate(plan.node_class.place(f"hugePages.pages.{index}.numaNode"))
            yield unknown_node(plan, pages.numa_node, position)


def unknown_node(plan: NodePlan, node: int, position: Position | None) -> Diagnostic:
    """CP542: a NUMA node that the hardware lacks, or that has no memory."""
    nodes = ", ".join(map(str, memory_nodes(plan.topology))) or "none"
    return diagnose("CP542", position, node=node, hardware=plan.node_class.hardware, nodes=nodes)


def _check_memory(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    memory = memory_nodes(plan.topology)
    for node, pages in per_node(plan).items():
        size = memory.get(node)
        if size is not None and bytes_of(pages) > size:
            yield diagnose(
                "CP543",
                locate(plan.node_class.place("hugePages.pages")),
                node=node,
                asked=quantity_text(bytes_of(pages)),
                memory=quantity_text(size // MIB * MIB),
                hardware=plan.node_class.hardware,
                hint=_fewer(pages, size),
            )


def _fewer(pages: dict[int, int], size: int) -> str:
    """The remedy: how many pages would fit, where they are of one size."""
    if len(pages) > 1:
        return "ask for fewer pages"
    (kib,) = pages
    unit = quantity_text(kib * 1024).removesuffix("i")
    return (
        f"ask for fewer than {size // (kib * 1024)} pages of {unit} there: the system needs "
        "memory too"
    )

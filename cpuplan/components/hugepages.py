"""Huge pages: what the intent asks for on each NUMA node, in the units of several components."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.text import counted, quantity_text
from cpuplan.base.topology import Topology
from cpuplan.components import cmdline
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate, Position
from cpuplan.plan import NodePlan, boot_arguments
from cpuplan.upstream.linux import hugetlb
from cpuplan.upstream.linux.cmdline import Argument, memparse
from cpuplan.upstream.linux.hugetlb import HugePages

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
#: The default size by architecture and base page size, where it is not 2M (HPAGE_SIZE).
_USUAL = {("aarch64", "64k"): "512M", ("s390x", "4k"): "1M"}


def to_kib(size: str) -> int:
    """Kibibytes of a size as boot arguments have it: 2048 for `2M`; 0 for none."""
    return memparse(size) // 1024


def size_text(kib: int) -> str:
    """A size as boot arguments have it: `2M` for 2048."""
    return quantity_text(kib * 1024).removesuffix("i")


class Entry(NamedTuple):
    """A count of pages of a size in KiB, of the machine (None) or of a NUMA node; its statement."""

    kib: int
    number: int
    numa_node: int | None
    place: str
    #: As it was written.
    size: str


def entries(plan: NodePlan) -> tuple[Entry, ...]:
    """All counts that nodes get: those of hugePages, then those of boot arguments."""
    by_units = (entry for entry in _stated(plan) if entry.numa_node is not None)
    return (*_at_boot(plan), *by_units)


def _stated(plan: NodePlan) -> Iterator[Entry]:
    for index, pages in enumerate(plan.spec.huge_pages.pages):
        place = plan.node_class.place(f"hugePages.pages.{index}")
        yield Entry(to_kib(pages.size), pages.count, pages.numa_node, place, pages.size)


def _at_boot(plan: NodePlan) -> Iterator[Entry]:
    """Those that the kernel sets aside at boot."""
    if not _by_arguments(plan):
        yield from (entry for entry in _stated(plan) if entry.numa_node is None)
        return
    for page in decoded(plan).pages:
        kib, place = page.size // 1024, page.argument.place
        yield Entry(kib, page.number, page.numa_node, place, size_text(kib))


def _by_arguments(plan: NodePlan) -> list[Argument]:
    """The boot arguments about huge pages that the plan does not compute."""
    return [given for given in boot_arguments.given(plan.node_class) if given.name in hugetlb.NAMES]


def decoded(plan: NodePlan) -> HugePages:
    """What the kernel makes of all that the command line says about huge pages."""
    architecture, base = _architecture(plan)
    usual = memparse(_USUAL.get((architecture, base), "2M"))
    sizes = map(memparse, SIZES.get((architecture, base), ()))
    return hugetlb.parse([*computed(plan), *_by_arguments(plan)], sizes, usual)


def computed(plan: NodePlan) -> Iterator[Argument]:
    """The arguments that hugePages becomes, as far as they count pages."""
    spec, node_class = plan.spec.huge_pages, plan.node_class
    if spec.default_size:
        place = node_class.place("hugePages.defaultSize")
        yield from cmdline.arguments(f"{hugetlb.DEFAULT_SIZE}={spec.default_size}", place)
    for index, pages in enumerate(spec.pages):
        if pages.numa_node is None:
            place = node_class.place(f"hugePages.pages.{index}")
            text = f"{hugetlb.SIZE}={pages.size} {hugetlb.COUNT}={pages.count}"
            yield from cmdline.arguments(text, place)


def beside(plan: NodePlan, argument: Argument) -> tuple[str, bool]:
    """What an argument does beside hugePages, and whether it contradicts them."""
    known = decoded(plan)
    ignored = {item.argument: item.reason for item in known.ignored}
    if argument.name == hugetlb.DEFAULT_SIZE:
        default = plan.spec.huge_pages.default_size
        is_same = default is None or to_kib(default) == to_kib(argument.value or "")
        effect = "it says the same once more" if default else "it says the default size"
        return (effect, False) if is_same else (f"the default size there is {default}", True)
    if argument.name == hugetlb.COUNT and argument in ignored:
        return f"the kernel ignores it: {ignored[argument]}", not _is_repeated(plan, argument)
    if argument in ignored or argument.name == hugetlb.SIZE:
        return "the size alone sets no pages aside", False
    total = sum(page.number for page in known.pages if page.argument == argument)
    sizes = [size_text(page.size // 1024) for page in known.pages if page.argument == argument]
    return f"{total} pages of {sizes[0] if sizes else 'no size'} come in addition", False


def _is_repeated(plan: NodePlan, argument: Argument) -> bool:
    """Whether a count that the kernel ignores is the one that hugePages has for its size."""
    size = ""
    for given in _by_arguments(plan):
        size = given.value or "" if given.name == hugetlb.SIZE else size
        if given == argument:
            break
    return any(
        entry.kib == to_kib(size) and argument.value == str(entry.number)
        for entry in _stated(plan)
        if entry.numa_node is None
    )


def _architecture(plan: NodePlan) -> tuple[str, str]:
    """The architecture and the size of base pages."""
    architecture = plan.node_class.architecture
    usual = "64k" if architecture == "ppc64le" else "4k"
    return architecture, plan.spec.kernel.page_size or usual


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
    given = entries(plan)
    for entry in given:
        if entry.numa_node is None and nodes:
            share, more = divmod(entry.number, len(nodes))
            for index, node in enumerate(nodes):
                counts[node][entry.kib] = share + (index < more)
    for entry in given:
        if entry.numa_node is not None:
            counts.setdefault(entry.numa_node, {})[entry.kib] = entry.number
    return counts


class Uneven(NamedTuple):
    """Pages of an entry that are left over when each node has as many as the others.

    `place` is the statement of the entry.
    `nodes` are all that the kernel spreads the entry over, `free` those without a count of their
    own for the size.
    """

    place: str
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
    given = entries(plan)
    nodes = tuple(memory_nodes(plan.topology))
    for entry in given:
        if entry.numa_node is not None:
            continue
        stated = {other.numa_node for other in given if other.kib == entry.kib}
        free = tuple(node for node in nodes if node not in stated)
        left = entry.number % len(nodes) if nodes else 0
        if left and free:
            yield Uneven(entry.place, entry.size, entry.number, left, nodes, free)


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
    return [
        *_check_sizes(plan, locate),
        *_check_pages(plan, locate),
        *_check_arguments(plan, locate),
        *_check_memory(plan, locate),
        *_check_without_cpus(plan, locate),
    ]


def _check_sizes(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    spec = plan.spec
    architecture, base = _architecture(plan)
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


def _check_arguments(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """Pages by boot arguments: sizes and nodes that the machine lacks, and what is not taken.

    What they do beside hugePages is CP522 and CP5302 (`components.checks.kernel`).
    """
    given = _by_arguments(plan)
    if not given:
        return
    known, nodes = decoded(plan), memory_nodes(plan.topology)
    is_beside = bool(plan.spec.huge_pages.pages or plan.spec.huge_pages.default_size)
    for argument, reason in known.ignored:
        position = locate(argument.place)
        if reason == hugetlb.UNSUPPORTED and argument in given:
            architecture, base = _architecture(plan)
            sizes = ", ".join(SIZES.get((architecture, base), ()))
            size = argument.value or "no size"
            yield diagnose(
                "CP540", position, size=size, architecture=architecture, base=base, sizes=sizes
            )
        elif argument in given and not is_beside:
            text = f"{reason}, so that the kernel ignores it"
            yield diagnose(
                "CP536", position, argument=argument.text, reason=text, linux="Linux 6.12"
            )
    for page in known.pages:
        if page.numa_node is not None and page.numa_node not in nodes:
            yield unknown_node(plan, page.numa_node, locate(page.argument.place))


def unknown_node(plan: NodePlan, node: int, position: Position | None) -> Diagnostic:
    """CP542: a NUMA node that the hardware lacks, or that has no memory."""
    nodes = ", ".join(map(str, memory_nodes(plan.topology))) or "none"
    return diagnose("CP542", position, node=node, hardware=plan.node_class.hardware, nodes=nodes)


def _check_without_cpus(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP5605: pages that the kernel also spreads over HBM, CXL memory and memory of GPUs."""
    topology, given = plan.topology, entries(plan)
    nodes = memory_nodes(topology)
    with_cpus = [node for node in nodes if node in topology.numa_nodes]
    for entry in given:
        if entry.numa_node is not None or not entry.number or not with_cpus:
            continue
        stated = {other.numa_node for other in given if other.kib == entry.kib}
        bare = nodes.keys() - topology.numa_nodes.keys() - stated
        if bare:
            yield diagnose(
                "CP5605",
                locate(entry.place),
                pages=counted(entry.number, "huge page"),
                size=entry.size,
                nodes=CpuSet(bare),
                hardware=plan.node_class.hardware,
                count=-(-entry.number // len(with_cpus)),
                node=with_cpus[0],
            )


def _check_memory(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    memory = memory_nodes(plan.topology)
    for node, pages in per_node(plan).items():
        size = memory.get(node)
        if size is not None and bytes_of(pages) > size:
            yield diagnose(
                "CP543",
                locate(_place_of(plan, node)),
                node=node,
                asked=quantity_text(bytes_of(pages)),
                memory=quantity_text(size // MIB * MIB),
                hardware=plan.node_class.hardware,
                hint=_fewer(pages, size),
            )


def _place_of(plan: NodePlan, node: int) -> str:
    """The statement of pages on a node: of boot arguments the one with the most."""
    asking = [entry for entry in entries(plan) if entry.numa_node in (None, node)]
    by_arguments = {given.place for given in _by_arguments(plan)}
    if all(entry.place in by_arguments for entry in asking):
        return max(asking, key=lambda entry: entry.kib * entry.number).place
    return plan.node_class.place("hugePages.pages")


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

"""Which groups of NUMA nodes can give memory (memorymanager/policy_static.go).

The entry point is calculateHints.
"""

from collections.abc import Iterable, Mapping, Sequence

from cpuplan.upstream.kubelet.bits import bits_of, masks_over, members, narrower
from cpuplan.upstream.kubelet.errors import NIL_DEREFERENCE, KubeletError, PanicError
from cpuplan.upstream.kubelet.memory.state import Blocks, MemoryTable, NodeMap
from cpuplan.upstream.kubelet.pods.pod import MEMORY
from cpuplan.upstream.kubelet.topology.hints import ProviderHints, TopologyHint

#: Sizes are 64 bits without a sign: sums wrap, and what would be negative is huge.
UINT64 = (1 << 64) - 1
#: Bytes by type of memory.
Sizes = Mapping[str, int]
#: Bytes by mask of NUMA nodes and type.
Reusable = Mapping[int, Sizes]


def table_of(machine: NodeMap, node: int, kind: str) -> MemoryTable:
    """PanicError for a type of memory that a node lacks: the kubelet follows a nil pointer."""
    state = machine.get(node)
    table = state.memory.get(kind) if state else None
    if table is None:
        raise PanicError(NIL_DEREFERENCE)
    return table


def calculate_hints(
    machine: NodeMap, requested: Sizes, reusable: Reusable
) -> dict[str, list[TopologyHint]]:
    """The same hints for each type; an empty mapping when no group of nodes suffices.

    The topology manager takes an empty mapping for "any".

    A node is used alone or in one group, as long as blocks are on it.
    """
    nodes = tuple(sorted(machine))
    allocatable: dict[str, dict[int, int]] = {}
    free: dict[str, dict[int, int]] = {}
    for kind in requested:
        tables = {node: table_of(machine, node, kind) for node in nodes}
        allocatable[kind] = {node: table.allocatable for node, table in tables.items()}
        free[kind] = {node: table.free for node, table in tables.items()}
    grouped = sum([1 << node for node in nodes if len(machine[node].cells) > 1])
    smallest, masks = len(machine), []
    for mask, chosen in masks_over(nodes):
        if not _suffices(allocatable, chosen, requested, {}):
            continue
        smallest = min(smallest, len(chosen))
        if len(chosen) == 1 and mask & grouped:
            continue
        if not violates_allocations(machine, chosen) and _suffices(
            free, chosen, requested, reusable.get(mask, {})
        ):
            masks.append(mask)
    hints = [TopologyHint(mask, mask.bit_count() == smallest) for mask in masks]
    return {kind: list(hints) for kind in requested} if hints else {}


def _suffices(
    sizes: Mapping[str, Mapping[int, int]], nodes: Iterable[int], requested: Sizes, more: Sizes
) -> bool:
    """Whether the nodes have the requested sizes of each type, `more` added to their sum."""
    for kind, size in requested.items():
        if (sum(map(sizes[kind].__getitem__, nodes)) + more.get(kind, 0)) & UINT64 < size:
            return False
    return True


def violates_allocations(machine: NodeMap, nodes: Sequence[int]) -> bool:
    """Whether a group of nodes touches one that is in use with others.

    From isAffinityViolatingNUMAAllocations.
    """
    if len(nodes) == 1:
        return False
    for node in nodes:
        state = machine[node]
        if state.assignments > 0 and (len(state.cells) == 1 or sorted(state.cells) != list(nodes)):
            return True
    return False


def satisfies(machine: NodeMap, mask: int, requested: Sizes) -> bool:
    """Whether the free memory of the nodes is enough (isAffinitySatisfyRequest)."""
    for kind, size in requested.items():
        free = sum(table_of(machine, node, kind).free for node in members(mask))
        if free & UINT64 < size:
            return False
    return True


def default_hint(machine: NodeMap, requested: Sizes, reusable: Reusable) -> TopologyHint:
    """The best hint of the manager's own, where the topology manager has none."""
    hints = calculate_hints(machine, requested, reusable)
    if not hints:
        reason = "no NUMA nodes with enough memory is available"
        raise KubeletError(f"[memorymanager] failed to get the default NUMA affinity, {reason}")
    return _best(hints.get(MEMORY, ()))


def extended_hint(
    machine: NodeMap, requested: Sizes, reusable: Reusable, mask: int
) -> TopologyHint:
    """The best hint that has all nodes of `mask` (extendTopologyManagerHint)."""
    hints = calculate_hints(machine, requested, reusable).get(MEMORY, [])
    wider = [hint for hint in hints if hint.affinity is not None and not mask & ~hint.affinity]
    if not wider:
        raise KubeletError(
            "[memorymanager] failed to find NUMA nodes to extend the current topology hint"
        )
    return _best(wider)


def _best(hints: Iterable[TopologyHint]) -> TopologyHint:
    best: TopologyHint | None = None
    for hint in hints:
        if (
            best is None
            or (hint.preferred and not best.preferred)
            or (
                hint.preferred == best.preferred
                and narrower(hint.affinity or 0, best.affinity or 0)
            )
        ):
            best = hint
    if best is None:
        raise PanicError(NIL_DEREFERENCE)
    return best


def choose_affinity(
    machine: NodeMap,
    requested: Sizes,
    reusable: Reusable,
    given: TopologyHint,
    *,
    keep_groups: bool,
) -> int:
    """The mask of nodes to take memory from; KubeletError refuses the pod.

    It starts from the topology manager's hint `given`.

    With `keep_groups` groups of nodes must not overlap.
    """
    best = given
    if best.affinity is None:
        best = default_hint(machine, requested, reusable)
        if given.preferred and not best.preferred:
            raise KubeletError("[memorymanager] failed to find the default preferred hint")
    mask = best.affinity or 0
    if not satisfies(machine, mask, requested):
        extended = extended_hint(machine, requested, reusable, mask)
        if best.preferred and not extended.preferred:
            raise KubeletError("[memorymanager] failed to find the extended preferred hint")
        mask = extended.affinity or 0
    if keep_groups and violates_allocations(machine, members(mask)):
        raise KubeletError("[memorymanager] preferred hint violates NUMA node allocation")
    return mask


def regenerate_hints(blocks: Blocks, requested: Sizes) -> ProviderHints | None:
    """Hints from the memory a container has; None (any) when it differs from the request."""
    if len(blocks) != len(requested):
        return None
    hints: dict[str, list[TopologyHint] | None] = {}
    for block in blocks:
        if requested.get(block.type) != block.size:
            return None
        listed = hints.setdefault(block.type, [])
        if listed is not None:
            listed.append(TopologyHint(bits_of(block.numa_affinity), preferred=True))
    return {kind: hints.get(kind, []) for kind in requested}

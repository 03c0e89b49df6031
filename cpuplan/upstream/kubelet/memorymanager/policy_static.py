"""The static policy of the memory manager (memorymanager/policy_static.go). Bytes.

Upstream: kubernetes/kubernetes pkg/kubelet/cm/memorymanager/policy_static.go
  @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

from collections.abc import Iterable, Mapping, Sequence

from cpuplan.upstream.kubelet.machine import NodeMemory, hugepage_name
from cpuplan.upstream.kubelet.memorymanager.state import (
    Block,
    Blocks,
    MemoryState,
    MemoryTable,
    NodeMap,
    NodeState,
)
from cpuplan.upstream.kubelet.topologymanager.policy import Hints, ProviderHints, TopologyHint
from cpuplan.upstream.kubelet.topologymanager.sets import (
    HintSets,
    Masks,
    Need,
    check_ends,
    fewest,
)
from cpuplan.upstream.kubernetes import kube_features
from cpuplan.upstream.kubernetes.bits import MOST_NODES, bits_of, masks_over, members, narrower
from cpuplan.upstream.kubernetes.errors import (
    NIL_DEREFERENCE,
    AdmissionError,
    KubeletError,
    PanicError,
    TooManySetsError,
)
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import MEMORY, Container, Pod, Resources, is_memory
from cpuplan.upstream.kubernetes.qos import GUARANTEED, is_equivalent_guaranteed, pod_qos

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
) -> Mapping[str, list[TopologyHint]] | Mapping[str, HintSets]:
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
    if len(nodes) > MOST_NODES:
        sets = _hint_sets(machine, allocatable, free, requested, reusable)
        return dict.fromkeys(requested, sets) if sets.parts else {}
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


def _hint_sets(
    machine: NodeMap,
    allocatable: Mapping[str, Mapping[int, int]],
    free: Mapping[str, Mapping[int, int]],
    requested: Sizes,
    reusable: Reusable,
) -> HintSets:
    """The same hints of many NUMA nodes: any nodes without blocks, single nodes, and groups.

    TooManySetsError for so many that the kubelet does not come to an end.
    """
    check_ends(len(machine))
    in_all = _needs(allocatable, requested)
    needs = _needs(free, requested)
    if any(free[kind][node] > size for kind in free for node, size in allocatable[kind].items()):
        needs += in_all
    unused = bits_of(node for node, state in machine.items() if not state.assignments)
    family = Masks(0, unused, needs)
    parts = [family] if family.is_possible else []
    for mask in sorted({bits_of(state.cells) for state in machine.values()} | set(reusable)):
        nodes, more = members(mask), reusable.get(mask, {})
        if family.has(mask) or _is_kept_from(machine, nodes):
            continue
        is_enough = _suffices(free, nodes, requested, more)
        if is_enough and _suffices(allocatable, nodes, requested, {}):
            parts.append(Masks(mask, mask))
    return HintSets(tuple(parts), fewest(Masks(0, bits_of(machine), in_all)) or len(machine))


def _needs(sizes: Mapping[str, Mapping[int, int]], requested: Sizes) -> tuple[Need, ...]:
    """TooManySetsError where sums wrap: more nodes are then less."""
    for by_node in sizes.values():
        if sum(by_node.values()) > UINT64:
            raise TooManySetsError(1 << len(by_node), len(by_node))
    return tuple(Need(sizes[kind], size) for kind, size in requested.items())


def _is_kept_from(machine: NodeMap, nodes: Sequence[int]) -> bool:
    """Whether nodes are in use otherwise than with each other, or one of them with others."""
    if len(nodes) == 1:
        return len(machine[nodes[0]].cells) > 1
    return violates_allocations(machine, nodes)


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
    return _best(hints.get(MEMORY, []))


def extended_hint(
    machine: NodeMap, requested: Sizes, reusable: Reusable, mask: int
) -> TopologyHint:
    """The best hint that has all nodes of `mask` (extendTopologyManagerHint)."""
    wider = _wider(calculate_hints(machine, requested, reusable).get(MEMORY, []), mask)
    if not wider:
        raise KubeletError(
            "[memorymanager] failed to find NUMA nodes to extend the current topology hint"
        )
    return _best(wider)


def _wider(hints: Hints, mask: int) -> Hints:
    """The hints that have all nodes of `mask`; nothing for none."""
    if not isinstance(hints, HintSets):
        return [hint for hint in hints if hint.affinity is not None and not mask & ~hint.affinity]
    parts = [part._replace(required=part.required | mask) for part in hints.parts]
    possible = tuple(part for part in parts if part.is_possible)
    return HintSets(possible, hints.preferred) if possible else []


def _best(hints: Hints) -> TopologyHint:
    if isinstance(hints, HintSets):
        preferred = hints.lowest(hints.preferred)
        if preferred:
            return TopologyHint(preferred, preferred=True)
        return TopologyHint(hints.lowest(hints.narrowest), preferred=False)
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


def container_requests(pod: Pod, container: Container, gates: Gates) -> dict[str, int]:
    """A container's memory and huge pages, by type (getContainerRequestedResources)."""
    if (
        gates.enabled("PodLevelResourceManagers")
        and pod.has_own_resources
        and not is_equivalent_guaranteed(container)
    ):
        return {}
    return _memory_of(container.requests)


def _memory_of(requests: Resources) -> dict[str, int]:
    for kind, size in requests.items():
        if is_memory(kind) and not size.is_whole:
            raise KubeletError("[memorymanager] failed to represent quantity as int64")
    return {kind: size.value for kind, size in requests.items() if is_memory(kind)}


def pod_requests(pod: Pod, gates: Gates) -> dict[str, int]:
    """What the pod needs at once, by type (getPodRequestedResources).

    Only types that its app containers request.
    """
    if gates.enabled("PodLevelResourceManagers") and pod.has_own_resources:
        return {kind: size for kind, size in _memory_of(pod.requests or {}).items() if size > 0}
    init: dict[str, int] = {}
    sidecars: dict[str, int] = {}
    for container in pod.init_containers:
        for kind, size in container_requests(pod, container, gates).items():
            if container.is_restartable:
                sidecars[kind] = sidecars.get(kind, 0) + size
            else:
                init[kind] = max(init.get(kind, 0), sidecars.get(kind, 0) + size)
    total: dict[str, int] = {}
    for container in pod.containers:
        for kind, size in container_requests(pod, container, gates).items():
            total[kind] = total.get(kind, 0) + size
    return {
        kind: max(size + sidecars.get(kind, 0), init.get(kind, 0)) for kind, size in total.items()
    }


def validate_pod_scope_resources(pod: Pod, gates: Gates) -> None:
    """KubeletError where containers would find no memory left in the pod's share.

    These are the containers without exclusive memory.
    """
    total = pod_requests(pod, gates)
    long_running: dict[str, int] = {}
    is_shared = False
    for container in pod.all_containers:
        own = container_requests(pod, container, gates)
        if container.is_plain_init:
            _check_init(total, long_running, own)
            continue
        is_shared = is_shared or not own
        for kind, size in own.items():
            long_running[kind] = long_running.get(kind, 0) + size
    for kind, size in sorted(total.items()):
        if is_shared and long_running.get(kind, 0) >= size:
            text = f"sum of exclusive container {kind} requests equals pod budget"
            raise KubeletError(f"pod rejected, {text}, leaving no memory for shared containers")


def _check_init(total: dict[str, int], long_running: dict[str, int], own: dict[str, int]) -> None:
    for kind, size in sorted(total.items()):
        used = long_running.get(kind, 0)
        if not own and used >= size:
            raise KubeletError(
                f"pod rejected, pod has shared init containers but no {kind} available for them"
            )


class StaticPolicy:
    """Memory of Guaranteed pods, from as few NUMA nodes as possible.

    The state is passed to every step.
    """

    def __init__(
        self, nodes: Iterable[NodeMemory], reserved: Mapping[int, Sizes], gates: Gates
    ) -> None:
        if not sum(sizes.get(MEMORY, 0) for sizes in reserved.values()):
            raise KubeletError("[memorymanager] you should specify the system reserved memory")
        self.nodes, self.reserved, self.gates = tuple(nodes), reserved, gates
        self.keeps_groups = kube_features.has_behaviour(gates.version, "memory.group_check")
        #: What plain init containers leave to the pod's next ones, by pod, mask and type.
        self.reusable: dict[str, dict[int, dict[str, int]]] = {}

    def start(self, state: MemoryState) -> None:
        """Fill an empty state, or check one that was read (validateState)."""
        if not state.machine:
            if state.entries:
                raise KubeletError(
                    "[memorymanager] machine state can not be empty when it has memory assignments"
                )
            state.machine = self.default_machine()
            return
        expected = self.default_machine()
        has_pod_entries = self.gates.enabled("PodLevelResourceManagers")
        for pod, containers in sorted(state.entries.items()):
            whole = state.pod_entries.get(pod) if has_pod_entries else None
            for name, blocks in [("", whole)] if whole else sorted(containers.items()):
                where = f"[memorymanager] (pod: {pod}, container: {name})"
                for block in blocks:
                    _check_block(expected, block, where)
                    take_block(expected, block, block.size)
        if not _are_equal(state.machine, expected):
            raise KubeletError(
                "[memorymanager] the expected machine state is different from the real one"
            )

    def default_machine(self) -> NodeMap:
        """The nodes without assignments: huge pages, and memory not reserved nor in huge pages."""
        machine: NodeMap = {}
        for node in self.nodes:
            reserved = self.reserved.get(node.id, {})
            tables = {}
            in_pages = 0
            for size, count in node.hugepages:
                name, total = hugepage_name(size), size * count * 1024
                tables[name] = _new_table(
                    total, reserved.get(name, 0), total - reserved.get(name, 0)
                )
                in_pages += total
            system = reserved.get(MEMORY, 0)
            tables[MEMORY] = _new_table(node.memory, system, node.memory - system - in_pages)
            machine[node.id] = NodeState(0, tables, (node.id,))
        return machine

    def ignores(self, pod: Pod) -> bool:
        """Whether a pod's own resources keep the managers away from it."""
        return pod.has_own_resources and self.gates.ignores_pod_level

    def allocate(
        self, state: MemoryState, pod: Pod, container: Container, affinity: TopologyHint
    ) -> None:
        """Memory for a container of a Guaranteed pod; KubeletError refuses the pod."""
        if pod_qos(pod, self.gates) != GUARANTEED or self.ignores(pod):
            return
        known = state.blocks_of(pod.uid, container.name)
        if known is not None:
            self._update_reusable(pod, container, known)
            return
        requested = container_requests(pod, container, self.gates)
        reusable = self.reusable.get(pod.uid, {})
        mask = choose_affinity(
            state.machine, requested, reusable, affinity, keep_groups=self.keeps_groups
        )
        nodes = tuple(members(mask))
        machine = {node: kept.copy() for node, kept in state.machine.items()}
        blocks = tuple(Block(nodes, kind, size) for kind, size in sorted(requested.items()))
        for block in blocks:
            take_block(
                machine, block, max(block.size - reusable.get(mask, {}).get(block.type, 0), 0)
            )
        self._update_reusable(pod, container, blocks)
        state.machine = machine
        state.set_blocks(pod.uid, container.name, blocks)
        self._reduce_init_blocks(state, pod, container, blocks)

    def _update_reusable(self, pod: Pod, container: Container, blocks: Blocks) -> None:
        """Updates the memory that plain init containers leave to later containers of the pod.

        It is lost when a container of another pod comes in between. Sidecars keep theirs.
        """
        own = self.reusable.get(pod.uid, {})
        self.reusable = {pod.uid: own}
        for block in blocks:
            mask = bits_of(block.numa_affinity)
            left = own.get(mask, {}).get(block.type, 0)
            if container.is_plain_init:
                own.setdefault(mask, {})[block.type] = max(left, block.size)
            elif left:
                own[mask][block.type] = max(left - block.size, 0)

    def _reduce_init_blocks(
        self, state: MemoryState, pod: Pod, container: Container, blocks: Blocks
    ) -> None:
        """Shrink the blocks of earlier plain init containers by what was reused of them."""
        for block in blocks:
            left = block.size
            for earlier in pod.init_containers:
                if earlier.name == container.name:
                    break
                given = state.blocks_of(pod.uid, earlier.name)
                if earlier.is_restartable or not given or not left:
                    continue
                shrunk = []
                for other in given:
                    same = other.type == block.type and bits_of(other.numa_affinity) == bits_of(
                        block.numa_affinity
                    )
                    used = min(other.size, left) if same else 0
                    left -= used
                    shrunk.append(other._replace(size=other.size - used))
                state.set_blocks(pod.uid, earlier.name, tuple(shrunk))

    def remove_container(self, state: MemoryState, pod: str, container: str) -> None:
        """Give a container's memory back, or that of its whole pod with the last container."""
        if self.gates.enabled("PodLevelResourceManagers") and pod in state.pod_entries:
            state.delete(pod, container)
            if pod not in state.entries:
                _release(state, state.pod_entries[pod])
                state.delete_pod(pod)
            return
        blocks = state.blocks_of(pod, container)
        if blocks is not None:
            state.delete(pod, container)
            _release(state, blocks)

    def topology_hints(
        self, state: MemoryState, pod: Pod, container: Container
    ) -> ProviderHints | None:
        """Hints for a container (GetTopologyHints)."""
        if pod_qos(pod, self.gates) != GUARANTEED:
            return None
        requested = container_requests(pod, container, self.gates)
        if self.ignores(pod):
            return None
        blocks = state.blocks_of(pod.uid, container.name)
        if blocks is not None:
            return regenerate_hints(blocks, requested)
        return dict(calculate_hints(state.machine, requested, self.reusable.get(pod.uid, {})))

    def pod_topology_hints(self, state: MemoryState, pod: Pod) -> ProviderHints | None:
        """Hints for all containers of a pod at once (GetPodTopologyHints)."""
        if pod_qos(pod, self.gates) != GUARANTEED:
            return None
        requested = pod_requests(pod, self.gates)
        if self.ignores(pod):
            return None
        if pod.has_own_resources and self.gates.pod_level_managers:
            try:
                validate_pod_scope_resources(pod, self.gates)
            except KubeletError:
                return {kind: [] for kind in requested}
        if not requested:
            return None
        for container in pod.all_containers:
            blocks = state.blocks_of(pod.uid, container.name)
            if blocks is not None:
                return regenerate_hints(blocks, requested)
        return dict(calculate_hints(state.machine, requested, self.reusable.get(pod.uid, {})))

    def allocatable(self, state: MemoryState) -> dict[int, dict[str, int]]:
        """Allocatable bytes by node and type, without types of 0 bytes (GetAllocatableMemory)."""
        return {node: _allocatable_of(kept) for node, kept in state.machine.items()}


def _allocatable_of(node: NodeState) -> dict[str, int]:
    return {kind: table.allocatable for kind, table in node.memory.items() if table.allocatable}


def _new_table(total: int, reserved: int, allocatable: int) -> MemoryTable:
    return MemoryTable(total, reserved, allocatable & UINT64, 0, allocatable & UINT64)


def take_block(machine: NodeMap, block: Block, size: int) -> None:
    """Assigns a block to its nodes; takes `size` bytes, lowest node first (updateMachineState)."""
    for node in block.numa_affinity:
        machine[node].assignments += 1
        machine[node].cells = block.numa_affinity
        if size:
            table = table_of(machine, node, block.type)
            taken = min(table.free, size)
            table.reserved += taken
            table.free -= taken
            size -= taken


def _release(state: MemoryState, blocks: Blocks) -> None:
    """The mirror of taking (releaseMemory); a node without blocks stands alone again."""
    for block in blocks:
        size = block.size
        for node in block.numa_affinity:
            kept = state.machine[node]
            kept.assignments -= 1
            if kept.assignments == 0:
                kept.cells = (node,)
            if size:
                table = table_of(state.machine, node, block.type)
                given = min(table.reserved, size)
                table.reserved -= given
                table.free += given
                size -= given


def _check_block(machine: NodeMap, block: Block, where: str) -> None:
    for node in block.numa_affinity:
        if node not in machine:
            raise KubeletError(f"{where} the memory assignment uses the NUMA that does not exist")
        if block.type not in machine[node].memory:
            raise KubeletError(
                f"{where} the memory assignment uses memory resource that does not exist"
            )


def _are_equal(machine: NodeMap, expected: NodeMap) -> bool:
    """areMachineStatesEqual: free and reserved memory are compared by group of nodes."""
    if machine.keys() != expected.keys():
        return False
    for node, state in machine.items():
        other = expected[node]
        if state.assignments != other.assignments or sorted(state.cells) != sorted(other.cells):
            return False
        if state.memory.keys() != other.memory.keys():
            return False
        for kind, table in state.memory.items():
            wanted = other.memory[kind]
            sizes = (table.total, table.system_reserved, table.allocatable)
            if sizes != (wanted.total, wanted.system_reserved, wanted.allocatable):
                return False
            if _group_sums(machine, state.cells, kind) != _group_sums(expected, state.cells, kind):
                return False
    return True


def _group_sums(machine: NodeMap, nodes: Iterable[int], kind: str) -> tuple[int, int]:
    tables = [table_of(machine, node, kind) for node in nodes]
    return sum(table.free for table in tables), sum(table.reserved for table in tables)


def allocate_pod(
    policy: StaticPolicy, state: MemoryState, pod: Pod, affinity: TopologyHint
) -> None:
    """One block a type for the pod, divided among its containers; KubeletError refuses the pod."""
    if pod_qos(pod, policy.gates) != GUARANTEED:
        return
    try:
        total = pod_requests(pod, policy.gates)
    except KubeletError:
        return
    try:
        validate_pod_scope_resources(pod, policy.gates)
    except KubeletError as error:
        raise AdmissionError("EmptyPodSharedPoolError", str(error)) from None
    reusable = policy.reusable.get(pod.uid, {})
    mask = choose_affinity(
        state.machine, total, reusable, affinity, keep_groups=policy.keeps_groups
    )
    nodes = tuple(members(mask))
    machine = {node: kept.copy() for node, kept in state.machine.items()}
    assigned = _partition(policy, pod, total, nodes)
    state.pod_entries[pod.uid] = _blocks(nodes, total, keep_empty=True)
    for block in state.pod_entries[pod.uid]:
        take_block(machine, block, block.size)
    for name, blocks in assigned.items():
        state.set_blocks(pod.uid, name, blocks)
    state.machine = machine


def _blocks(nodes: tuple[int, ...], sizes: Sizes, *, keep_empty: bool = False) -> Blocks:
    return tuple(
        Block(nodes, kind, size) for kind, size in sorted(sizes.items()) if size or keep_empty
    )


def _partition(
    policy: StaticPolicy, pod: Pod, total: Sizes, nodes: tuple[int, ...]
) -> dict[str, Blocks]:
    """The blocks of each container; containers without exclusive memory share the rest."""
    own = {
        container.name: container_requests(pod, container, policy.gates)
        for container in pod.all_containers
    }
    assigned: dict[str, Blocks] = {}
    left = dict(total)
    for container in pod.init_containers:
        if own[container.name]:
            assigned[container.name] = _blocks(nodes, own[container.name])
        elif not container.is_restartable:
            assigned[container.name] = _blocks(nodes, left)
        if container.is_restartable:
            left = _less(left, own[container.name])
    for container in pod.containers:
        if own[container.name]:
            assigned[container.name] = _blocks(nodes, own[container.name])
            left = _less(left, own[container.name])
    shared = _blocks(nodes, left)
    return {
        container.name: assigned.get(container.name, shared) for container in pod.all_containers
    }


def _less(sizes: Sizes, taken: Sizes) -> dict[str, int]:
    """What is left, without a sign: more than there is leaves a huge amount."""
    return {kind: (sizes.get(kind, 0) - taken.get(kind, 0)) & UINT64 for kind in {**sizes, **taken}}

"""The static policy of the memory manager (memorymanager/policy_static.go). Bytes."""

from collections.abc import Iterable, Mapping

from cpuplan.upstream.kubelet.bits import bits_of, members
from cpuplan.upstream.kubelet.errors import KubeletError
from cpuplan.upstream.kubelet.machine import NodeMemory, hugepage_name
from cpuplan.upstream.kubelet.memory.hints import (
    UINT64,
    Sizes,
    calculate_hints,
    choose_affinity,
    regenerate_hints,
    table_of,
)
from cpuplan.upstream.kubelet.memory.requests import (
    container_requests,
    pod_requests,
    validate_pod_scope_resources,
)
from cpuplan.upstream.kubelet.memory.state import (
    Block,
    Blocks,
    MemoryState,
    MemoryTable,
    NodeMap,
    NodeState,
)
from cpuplan.upstream.kubelet.pods.pod import MEMORY, Container, Pod
from cpuplan.upstream.kubelet.pods.qos import GUARANTEED, pod_qos
from cpuplan.upstream.kubelet.releases import behaviour
from cpuplan.upstream.kubelet.releases.features import Gates
from cpuplan.upstream.kubelet.topology.hints import ProviderHints, TopologyHint


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
        self.keeps_groups = behaviour.has(gates.version, "memory.group_check")
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

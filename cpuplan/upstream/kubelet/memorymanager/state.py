"""The memory manager's state and its file (memorymanager/state). Bytes, 64 bits.

Upstream: kubernetes/kubernetes pkg/kubelet/cm/memorymanager/state/state_checkpoint.go
  pkg/kubelet/cm/memorymanager/state/checkpoint.go pkg/kubelet/cm/memorymanager/state/state_mem.go
  @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.upstream.kubelet.manager import (
    Entries,
    checksum,
    dump_map,
    is_verified,
    read_data,
    unreadable,
    write_checkpoint,
    write_data,
)
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.json import INT, STRING, UINT64, Type, loads, map_of, slice_of
from cpuplan.upstream.kubernetes.kube_features import Gates, has_behaviour
from cpuplan.upstream.kubernetes.strconv import quote

FILE = "memory_manager_state"


class Block(NamedTuple):
    """Memory of one type, taken from a group of NUMA nodes."""

    numa_affinity: tuple[int, ...]
    type: str
    size: int


class MemoryTable:
    """Memory of one type on one NUMA node."""

    __slots__ = ("allocatable", "free", "reserved", "system_reserved", "total")

    def __init__(
        self, total: int, system_reserved: int, allocatable: int, reserved: int, free: int
    ) -> None:
        self.total, self.system_reserved, self.allocatable = total, system_reserved, allocatable
        self.reserved, self.free = reserved, free

    def copy(self) -> "MemoryTable":
        return MemoryTable(
            self.total, self.system_reserved, self.allocatable, self.reserved, self.free
        )


class NodeState:
    """A NUMA node: its number of blocks, its memory by type, its group of nodes."""

    __slots__ = ("assignments", "cells", "memory")

    def __init__(
        self, assignments: int, memory: dict[str, MemoryTable], cells: tuple[int, ...]
    ) -> None:
        self.assignments, self.memory, self.cells = assignments, memory, cells

    def copy(self) -> "NodeState":
        return NodeState(
            self.assignments,
            {kind: table.copy() for kind, table in self.memory.items()},
            self.cells,
        )


NodeMap = dict[int, NodeState]
Blocks = tuple[Block, ...]


class MemoryState(Entries[Blocks]):
    """Nodes, and the blocks of containers and (with pod-level managers) of whole pods."""

    def __init__(self) -> None:
        super().__init__()
        self.machine: NodeMap = {}

    def blocks_of(self, pod: str, container: str) -> Blocks | None:
        return self.entries.get(pod, {}).get(container)

    def set_blocks(self, pod: str, container: str, blocks: Blocks) -> None:
        self.entries.setdefault(pod, {})[container] = blocks


_TABLE = ("total", "systemReserved", "allocatable", "reserved", "free")
_GO_TABLE = ("TotalMemSize", "SystemReserved", "Allocatable", "Reserved", "Free")
_BLOCK = Type(
    "state.Block",
    "object",
    {
        "numaAffinity": slice_of(INT),
        "type": STRING._replace(go_type="v1.ResourceName"),
        "size": UINT64,
    },
)
_NODE = Type(
    "state.NUMANodeState",
    "object",
    {
        "numberOfAssignments": INT,
        "memoryMap": map_of(Type("state.MemoryTable", "object", dict.fromkeys(_TABLE, UINT64))),
        "cells": slice_of(INT),
    },
)
_V1 = Type(
    "state.MemoryManagerCheckpointV1",
    "object",
    {
        "policyName": STRING,
        "machineState": map_of(_NODE),
        "entries": map_of(map_of(slice_of(_BLOCK))),
        "checksum": UINT64._replace(go_type="checksum.Checksum"),
    },
)
_POD_ENTRY = Type("state.PodEntry", "object", {"memoryBlocks": slice_of(_BLOCK)})
_V2 = Type(
    "state.MemoryManagerCheckpoint", "object", {**_V1.fields, "podEntries": map_of(_POD_ENTRY)}
)
_V3 = Type(
    "state.MemoryManagerCheckpointData",
    "object",
    {name: kind for name, kind in _V2.fields.items() if name != "checksum"},
)


def dump(state: MemoryState, policy: str, gates: Gates) -> str:
    """The file's content.

    The kubelet writes the blocks of a container in the order of a Go map, this in the state's.
    """
    content: dict[str, Any] = {
        "policyName": policy,
        "machineState": machine_json(state.machine),
        "entries": {pod: _entry_json(blocks) for pod, blocks in state.entries.items()},
    }
    if gates.enabled("PodLevelResourceManagers"):
        content["podEntries"] = {
            pod: {"memoryBlocks": blocks_json(blocks)} for pod, blocks in state.pod_entries.items()
        }
    if has_behaviour(gates.version, "state.data"):
        copy = {key: value for key, value in content.items() if key != "podEntries"}
        return write_data(content, copy, checksum(hash_input(copy)))
    return write_checkpoint(content, checksum(hash_input(content)))


def machine_json(machine: NodeMap) -> dict[str, Any]:
    """The nodes as the file has them."""
    return {str(node): _node_json(state) for node, state in sorted(machine.items())}


def _node_json(state: NodeState) -> dict[str, Any]:
    tables = sorted(state.memory.items())
    return {
        "numberOfAssignments": state.assignments,
        "memoryMap": {
            kind: dict(zip(_TABLE, _values(table), strict=True)) for kind, table in tables
        },
        "cells": list(state.cells),
    }


def _entry_json(containers: Mapping[str, Sequence[Block]]) -> dict[str, Any]:
    return {name: blocks_json(blocks) for name, blocks in containers.items()}


def blocks_json(blocks: Sequence[Block]) -> list[dict[str, Any]]:
    """Blocks as the file has them."""
    return [
        {"numaAffinity": list(block.numa_affinity), "type": block.type, "size": block.size}
        for block in blocks
    ]


def _values(table: MemoryTable) -> tuple[int, ...]:
    return table.total, table.system_reserved, table.allocatable, table.reserved, table.free


def hash_input(content: Mapping[str, Any]) -> str:
    """The text that the checksum is of: Go's dump of the struct."""
    nodes = content.get("machineState", {})
    machine = " ".join(f"{node}:{_dump_node(nodes[node])}" for node in sorted(nodes, key=int))
    entries = content.get("entries", {}).items()
    dumped_entries = dump_map({pod: _dump_entry(containers) for pod, containers in entries})
    pods = ""
    if "podEntries" in content:
        dumped = {
            pod: f"{{MemoryBlocks:([]state.Block){_dump_blocks(entry.get('memoryBlocks', []))}}}"
            for pod, entry in content["podEntries"].items()
        }
        pods = f" PodEntries:(state.PodMemoryAssignments){dump_map(dumped)}"
    return (
        f"(*state.MemoryManagerCheckpoint){{PolicyName:(string){content.get('policyName', '')}"
        f" MachineState:(state.NUMANodeMap)map[{machine}]"
        f" Entries:(state.ContainerMemoryAssignments){dumped_entries}{pods}"
        " Checksum:(checksum.Checksum)0}"
    )


def _dump_node(node: Mapping[str, Any]) -> str:
    tables = {kind: _dump_table(table) for kind, table in node.get("memoryMap", {}).items()}
    memory = f"MemoryMap:(map[v1.ResourceName]*state.MemoryTable){dump_map(tables)}"
    return (
        f"<*>{{NumberOfAssignments:(int){node.get('numberOfAssignments', 0)} {memory}"
        f" Cells:([]int){_dump_list(node.get('cells', []))}}}"
    )


def _dump_table(table: Mapping[str, int]) -> str:
    fields = zip(_GO_TABLE, _TABLE, strict=True)
    sizes = " ".join(f"{go_name}:(uint64){table.get(key, 0)}" for go_name, key in fields)
    return f"<*>{{{sizes}}}"


def _dump_entry(containers: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    return dump_map({name: _dump_blocks(blocks) for name, blocks in containers.items()})


def _dump_blocks(blocks: Sequence[Mapping[str, Any]]) -> str:
    return _dump_list(
        f"{{NUMAAffinity:([]int){_dump_list(block.get('numaAffinity', []))}"
        f" Type:(v1.ResourceName){block.get('type', '')} Size:(uint64){block.get('size', 0)}}}"
        for block in blocks
    )


def _dump_list(values: Any) -> str:
    return f"[{' '.join(map(str, values))}]"


def load(
    text: str | None, policy: str, gates: Gates, folder: str = "/var/lib/kubelet"
) -> MemoryState:
    """The state in a file; an empty state without a file (None).

    KubeletError where the kubelet does not start.
    """
    if text is None:
        return MemoryState()
    try:
        content = _decode(text, gates)
        written = content.get("policyName", "")
        if written != policy:
            policies = f"{quote(policy)} differs from state checkpoint policy {quote(written)}"
            raise KubeletError(f"[memorymanager] configured policy {policies}")
    except KubeletError as error:
        raise unreadable(error, "memory manager", f"{folder}/{FILE}") from None
    return read(content)


def recorded(text: str, gates: Gates) -> NodeMap:
    """The nodes in a file, whatever its policy; empty where the kubelet cannot read it."""
    try:
        return read(_decode(text, gates)).machine
    except KubeletError:
        return {}


def _decode(text: str, gates: Gates) -> dict[str, Any]:
    has_pods = gates.enabled("PodLevelResourceManagers")
    has_data = has_behaviour(gates.version, "state.data")
    if has_data and (known := read_data(text, _V1, _V3, "memory manager", 3)) is not None:
        if not has_pods:
            known.pop("podEntries", None)
        return known
    if has_pods or has_data:
        try:
            content = loads(text, _V2)
            content.setdefault("podEntries", {})
            if is_verified(content, hash_input(content), may_lack=False):
                return content
        except KubeletError:
            pass
    content = loads(text, _V1)
    if not is_verified(content, hash_input(content), may_lack=True):
        raise KubeletError("checkpoint is corrupted")
    return content


def read(content: Mapping[str, Any]) -> MemoryState:
    """The state that is written in `content`."""
    state = MemoryState()
    for node, given in content.get("machineState", {}).items():
        memory = {kind: _read_table(table) for kind, table in given.get("memoryMap", {}).items()}
        state.machine[int(node)] = NodeState(
            given.get("numberOfAssignments", 0), memory, tuple(given.get("cells", ()))
        )
    for pod, containers in content.get("entries", {}).items():
        state.entries[pod] = {name: read_blocks(blocks) for name, blocks in containers.items()}
    state.pod_entries = {
        pod: read_blocks(entry.get("memoryBlocks", ()))
        for pod, entry in content.get("podEntries", {}).items()
    }
    return state


def _read_table(table: Mapping[str, int]) -> MemoryTable:
    return MemoryTable(*(table.get(key, 0) for key in _TABLE))


def read_blocks(given: Sequence[Mapping[str, Any]]) -> Blocks:
    """Blocks as the file has them."""
    return tuple(
        Block(tuple(block.get("numaAffinity", ())), block.get("type", ""), block.get("size", 0))
        for block in given
    )

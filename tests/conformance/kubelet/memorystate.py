"""The state file of the memory manager, written and read."""

import json

from cpuplan.upstream.kubelet.memorymanager import state
from cpuplan.upstream.kubelet.memorymanager.state import Blocks, MemoryState
from cpuplan.upstream.kubernetes.kube_features import Gates
from tests.conformance.kubelet.shapes import STATE_FOLDER, Json


def memory_state(given: Json) -> MemoryState:
    """A state as the vectors have it."""
    blocks = given.get("podEntries") or {}
    content = {
        "machineState": given.get("machineState") or {},
        "entries": given.get("entries") or {},
        "podEntries": {pod: {"memoryBlocks": listed} for pod, listed in blocks.items()},
    }
    return state.read(content)


def memory_state_json(given: MemoryState) -> Json:
    answer: Json = {
        "machineState": state.machine_json(given.machine),
        "entries": {
            pod: {name: blocks_json(blocks) for name, blocks in listed.items()}
            for pod, listed in given.entries.items()
        },
    }
    if given.pod_entries:
        pods = given.pod_entries.items()
        answer["podEntries"] = {pod: blocks_json(blocks) for pod, blocks in pods}
    return answer


def blocks_json(blocks: Blocks) -> list[Json]:
    """Blocks sorted, since the kubelet's order is that of a Go map."""
    return state.blocks_json(
        sorted(blocks, key=lambda block: (block.type, block.numa_affinity, block.size))
    )


def answer_load(given: Json, gates: Gates) -> Json:
    loaded = state.load(given.get("content"), given["policyName"], gates, STATE_FOLDER)
    return {"state": memory_state_json(loaded)}


def answer_dump(given: Json, gates: Gates) -> Json:
    content = state.dump(memory_state(given["state"]), given["policyName"], gates)
    decoded = json.loads(content)
    if gates.enabled("PodLevelResourceManagers"):
        decoded.setdefault("podEntries", {})
    return {"content": content, "hashInput": state.hash_input(decoded)}

"""State files, written and read."""

import json

from cpuplan.kubelet.bits import parse_cpus, to_text
from cpuplan.kubelet.cpu import state as cpustate
from cpuplan.kubelet.cpu.state import CPUState
from cpuplan.kubelet.memory import state as memorystate
from cpuplan.kubelet.memory.state import Blocks, MemoryState
from cpuplan.kubelet.releases.features import set_gates
from tests.conformance.kubelet.shapes import Json, Op

FOLDER = "<stateDir>"


def cpu_state(given: Json) -> CPUState:
    """A state as the vectors have it."""
    return CPUState(
        parse_cpus(given["defaultCpuSet"]),
        {
            pod: {name: parse_cpus(cpus) for name, cpus in found.items()}
            for pod, found in (given.get("entries") or {}).items()
        },
        {pod: parse_cpus(cpus) for pod, cpus in (given.get("podEntries") or {}).items()},
    )


def cpu_state_json(state: CPUState) -> Json:
    found: Json = {
        "defaultCpuSet": to_text(state.default),
        "entries": {
            pod: {name: to_text(cpus) for name, cpus in sets.items()}
            for pod, sets in state.entries.items()
        },
    }
    if state.pod_entries:
        found["podEntries"] = {pod: to_text(cpus) for pod, cpus in state.pod_entries.items()}
    return found


def memory_state(given: Json) -> MemoryState:
    pods = {
        pod: {"memoryBlocks": blocks} for pod, blocks in (given.get("podEntries") or {}).items()
    }
    entries = given.get("entries") or {}
    return memorystate.read(
        {"machineState": given.get("machineState") or {}, "entries": entries, "podEntries": pods}
    )


def memory_state_json(state: MemoryState) -> Json:
    found: Json = {
        "machineState": memorystate.machine_json(state.machine),
        "entries": {
            pod: {name: blocks_json(blocks) for name, blocks in listed.items()}
            for pod, listed in state.entries.items()
        },
    }
    if state.pod_entries:
        found["podEntries"] = {
            pod: blocks_json(blocks) for pod, blocks in state.pod_entries.items()
        }
    return found


def blocks_json(blocks: Blocks) -> list[Json]:
    """Blocks sorted, since the kubelet's order is that of a Go map."""
    return memorystate.blocks_json(
        sorted(blocks, key=lambda block: (block.type, block.numa_affinity, block.size))
    )


def answer_checkpoint(given: Json) -> Json:
    gates, policy, is_cpu = (
        set_gates(given.get("featureGates") or {}),
        given["policyName"],
        given["kind"] == "cpu",
    )
    if given["action"] == "load":
        if not is_cpu:
            return {
                "state": memory_state_json(
                    memorystate.load(given.get("content"), policy, gates, FOLDER)
                )
            }
        containers = {
            name: (pod, container)
            for name, (pod, container) in given.get("initialContainers", {}).items()
        }
        return {
            "state": cpu_state_json(
                cpustate.load(given.get("content"), policy, gates, FOLDER, containers)
            )
        }
    if given.get("version") == 1:
        entries = {
            pod: next(iter(sets.values()))
            for pod, sets in (given["state"].get("entries") or {}).items()
        }
        return {"content": cpustate.dump_v1(policy, given["state"]["defaultCpuSet"], entries)}
    if is_cpu:
        content = cpustate.dump(cpu_state(given["state"]), policy, gates)
    else:
        content = memorystate.dump(memory_state(given["state"]), policy, gates)
    decoded = json.loads(content)
    if gates.enabled("PodLevelResourceManagers"):
        decoded.setdefault("podEntries", {})
    return {
        "content": content,
        "hashInput": (cpustate if is_cpu else memorystate).hash_input(decoded),
    }


OPS: dict[str, Op] = {"checkpoint": answer_checkpoint}

"""The state file of the CPU manager, written and read."""

import json

from cpuplan.upstream.kubelet.cpumanager import state
from cpuplan.upstream.kubelet.cpumanager.state import CPUState
from cpuplan.upstream.kubelet.manager import checksum, write_checkpoint
from cpuplan.upstream.kubernetes.bits import parse_cpus, to_text
from cpuplan.upstream.kubernetes.kube_features import Gates
from tests.conformance.kubelet.shapes import STATE_FOLDER, Json


def cpu_state(given: Json) -> CPUState:
    """A state as the vectors have it."""
    return CPUState(
        parse_cpus(given["defaultCpuSet"]),
        {
            pod: {name: parse_cpus(cpus) for name, cpus in sets.items()}
            for pod, sets in (given.get("entries") or {}).items()
        },
        {pod: parse_cpus(cpus) for pod, cpus in (given.get("podEntries") or {}).items()},
    )


def cpu_state_json(given: CPUState) -> Json:
    answer: Json = {
        "defaultCpuSet": to_text(given.default),
        "entries": {
            pod: {name: to_text(cpus) for name, cpus in sets.items()}
            for pod, sets in given.entries.items()
        },
    }
    if given.pod_entries:
        answer["podEntries"] = {pod: to_text(cpus) for pod, cpus in given.pod_entries.items()}
    return answer


def answer_load(given: Json, gates: Gates) -> Json:
    containers = {name: tuple(ids) for name, ids in given.get("initialContainers", {}).items()}
    policy = given["policyName"]
    loaded = state.load(given.get("content"), policy, gates, STATE_FOLDER, containers)
    return {"state": cpu_state_json(loaded)}


def answer_dump(given: Json, gates: Gates) -> Json:
    if given.get("version") == 1:
        return {"content": _dump_v1(given)}
    content = state.dump(cpu_state(given["state"]), given["policyName"], gates)
    decoded = json.loads(content)
    if gates.enabled("PodLevelResourceManagers"):
        decoded.setdefault("podEntries", {})
    return {"content": content, "hashInput": state.hash_input(decoded)}


def _dump_v1(given: Json) -> str:
    """The format by container ID, as today's code writes it: its checksum is of another name."""
    content = {
        "policyName": given["policyName"],
        "defaultCpuSet": given["state"]["defaultCpuSet"],
        "entries": {
            pod: next(iter(sets.values()))
            for pod, sets in (given["state"].get("entries") or {}).items()
        },
    }
    return write_checkpoint(
        content, checksum(state.hash_input_v1(content, "CPUManagerCheckpointV1"))
    )

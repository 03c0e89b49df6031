"""NodeResourceTopology (vectors/nrt) against the port `cpuplan.upstream.nrt`."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from cpuplan.upstream.kubernetes.errors import PanicError
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import Container, Pod, read_resources
from cpuplan.upstream.kubernetes.qos import compute_pod_qos
from cpuplan.upstream.nrt import crd, resourcemonitor
from cpuplan.upstream.nrt.api import NrtError, zone_id
from cpuplan.upstream.nrt.filter import judge_node
from cpuplan.upstream.nrt.pluginhelpers import read_numa_nodes, read_topology_manager
from cpuplan.upstream.nrt.podfingerprint import pod_fingerprint
from cpuplan.upstream.nrt.resourcemonitor import (
    Devices,
    Machine,
    Memory,
    NumaNode,
    Resources,
    nfd_zones,
    rte_zones,
)
from cpuplan.upstream.nrt.score import score_node
from tests.conformance.operations import Judge, run_lines

Json = dict[str, Any]
VECTORS = Path(__file__).parents[2].parent / "shared" / "vectors" / "nrt"
_GATES = Gates()
_DEFINITIONS = {
    "nrt-v1alpha1-v1alpha2.yaml": "noderesourcetopology-api",
    "nrt-v1alpha2-only.yaml": "scheduler-plugins",
    "nrt-v1alpha1-only.yaml": "koordinator-1.6",
}


def run(paths: Iterable[Path] = ()) -> Iterator[tuple[str, list[str]]]:
    """(file and id, what differs) of each case."""
    yield from run_lines(paths, VECTORS, KINDS)


def _config(given: Json) -> Json:
    manager = read_topology_manager(given)
    return {
        "policy": manager.policy,
        "scope": manager.scope,
        "maxNUMANodes": manager.max_numa_nodes,
    }


def _match(given: Json) -> Json:
    nrt, pod = given["nrt"], _pod(given["pod"])
    qos = compute_pod_qos(pod, _GATES)
    try:
        read_numa_nodes(nrt["zones"])  # the recording reads zones even where the plugin does not
        verdict = judge_node(nrt, given["node"]["allocatable"], pod, qos)
        score = score_node(nrt, pod, qos, given["scoringStrategy"], given["weights"])
    except PanicError:
        return {"crash": True}
    return {
        **_config(nrt),
        "qos": qos,
        "filter": verdict.code,
        "reasons": list(verdict.reasons) or None,
        "score": score,
    }


def _pod(given: Json) -> Pod:
    init = (_container(row, is_init=True) for row in given.get("initContainers", ()))
    others = (_container(row, is_init=False) for row in given["containers"])
    overhead = read_resources(given.get("overhead"))
    return Pod("", tuple(init), tuple(others), name=given["name"], overhead=overhead)


def _container(given: Json, *, is_init: bool) -> Container:
    requests, limits = (read_resources(given.get(column)) for column in ("requests", "limits"))
    is_sidecar = given.get("restartPolicy") == "Always"
    return Container(given["name"], requests, limits, is_init, is_sidecar)


def _zone_name(given: str) -> Json:
    try:
        return {"id": zone_id(given)}
    except NrtError as error:
        return {"error": str(error)}


def _fingerprint(given: list[list[str]]) -> Json:
    return {"fingerprint": pod_fingerprint((namespace, name) for namespace, name in given)}


def _exporters(given: Json) -> Json:
    memory = {int(number): amounts for number, amounts in given["memoryCapacity"].items()}
    machine = Machine(tuple(map(_node, given["nodes"])), memory)
    free = Resources(
        tuple(given["allocatableCPUs"]),
        _devices(given["allocatableDevices"]),
        _memory(given["allocatableMemory"]),
    )
    pods = tuple(map(_exported_pod, given["pods"]))
    return {
        name: _by_name(zones(machine, free, pods, given.get("exclude", ())))
        for name, zones in (("rte", rte_zones), ("nfd", nfd_zones))
    }


def _by_name(zones: list[resourcemonitor.Zone]) -> list[Json]:
    """The recording sorts zones by their names."""
    return sorted(zones, key=lambda zone: str(zone["name"]))


def _node(given: Json) -> NumaNode:
    cpus = tuple(cpu for core in given["cores"] for cpu in core)
    return NumaNode(given["zone"], cpus, tuple(given["distances"]))


def _devices(given: Iterable[Json] | None) -> tuple[Devices, ...]:
    return tuple(
        Devices(row["resource"], tuple(row["ids"]), tuple(row["numa"] or ())) for row in given or ()
    )


def _memory(given: Iterable[Json] | None) -> tuple[Memory, ...]:
    return tuple(Memory(row["type"], row["size"], tuple(row["numa"] or ())) for row in given or ())


def _exported_pod(given: Json) -> resourcemonitor.Pod:
    containers = tuple(
        Resources(
            tuple(row.get("cpus") or ()), _devices(row.get("devices")), _memory(row.get("memory"))
        )
        for row in given["containers"]
    )
    return resourcemonitor.Pod(
        given["namespace"],
        given["name"],
        given["guaranteed"],
        given["hasIntegralCPUContainer"],
        containers,
    )


def _validate(given: Json) -> Json:
    definition = crd.DEFINITIONS[_DEFINITIONS[given["crd"]]]
    nrt: Mapping[str, Any] = given["object"]
    admission = crd.admit(nrt, definition)
    result: Json = {"errors": list(admission.errors), "valid": not admission.errors}
    if crd.serves(nrt, definition):
        result["prunedFields"] = list(admission.pruned)
        if crd.version_of(nrt) == definition.storage:
            result["storageVersion"] = True
    return result


KINDS: dict[str, Judge] = {
    "nrt_match": _match,
    "nrt_config": _config,
    "zone_name": _zone_name,
    "pod_fingerprint": _fingerprint,
    "exporter_zones": _exporters,
    "crd_validate": _validate,
}

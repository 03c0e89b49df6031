"""Ops without a state: sets, masks, topologies, the allocators, hints."""

from cpuplan.facts.versions import to_text
from cpuplan.upstream.kubelet import policy_options
from cpuplan.upstream.kubelet.cpumanager.cpu_assignment import (
    take_by_topology_numa_distributed,
    take_by_topology_numa_packed,
)
from cpuplan.upstream.kubelet.cpumanager.policy_static import generate_cpu_topology_hints
from cpuplan.upstream.kubelet.cpumanager.topology import discover
from cpuplan.upstream.kubelet.machine import MachineCore, MachineNode
from cpuplan.upstream.kubelet.topologymanager.policy import CONTAINER, NUMAInfo, new_policy
from cpuplan.upstream.kubernetes import bits, kube_features
from cpuplan.upstream.kubernetes.errors import KubeletError
from tests.conformance.kubelet.shapes import Json, Op, hint_json, hints, topology, topology_json


def answer_cpuset(given: Json) -> Json:
    cpus = bits.parse_cpus(given["parse"]) if "parse" in given else bits.bits_of(given["list"])
    return {"list": bits.members(cpus), "string": bits.to_text(cpus)}


def mask_text(mask: int) -> str:
    """The binary form of a mask, an even number of digits wide unless the highest bit stands alone.

    (bitMask.String)
    """
    for shift in range(62, 0, -2):
        if mask > 1 << shift:
            return f"{mask:0{shift + 2}b}"
    return f"{mask:02b}"


def answer_bitmask(given: Json) -> Json:
    masks = [mask for mask, _ in bits.masks_over(tuple(given["iterate"]))]
    return {
        "masks": [bits.members(mask) for mask in masks],
        "strings": [mask_text(mask) for mask in masks],
    }


def answer_discover(given: Json) -> Json:
    nodes = [
        MachineNode(
            node["id"],
            tuple(
                MachineCore(
                    core["id"], core["socket"], tuple(core["threads"]), tuple(core["uncoreCaches"])
                )
                for core in node["cores"]
            ),
        )
        for node in given["nodes"]
    ]
    topology = discover(tuple(nodes), given["numCores"], given["numSockets"])
    return {"topology": topology_json(topology)}


def answer_take(given: Json) -> Json:
    machine, available = topology(given["topology"]), bits.parse_cpus(given["available"])
    spread = given["sortingStrategy"] == "spread"
    if given["algorithm"] == "distributed":
        taken = take_by_topology_numa_distributed(
            machine, available, given["numCPUs"], given["cpuGroupSize"], spread=spread
        )
    else:
        taken = take_by_topology_numa_packed(
            machine,
            available,
            given["numCPUs"],
            spread=spread,
            align_by_uncore_cache=given["preferAlignByUncoreCache"],
        )
    return {"cpus": bits.to_text(taken)}


def answer_hints(given: Json) -> Json:
    found = generate_cpu_topology_hints(
        topology(given["topology"]),
        bits.parse_cpus(given["available"]),
        bits.parse_cpus(given.get("reusable", "")),
        given["request"],
        align_by_socket=given.get("options", {}).get("align-by-socket") == "true",
    )
    return {"hints": [hint_json(hint) for hint in found]}


def answer_features(given: Json) -> Json:
    gates = kube_features.Gates()
    found = {}
    for name in given["names"]:
        if history := kube_features.specs(name):
            found[name] = {
                "enabled": gates.enabled(name),
                "specs": [
                    {
                        "default": spec.default,
                        "locked": spec.locked,
                        "stage": spec.stage,
                        "version": to_text(spec.version),
                    }
                    for spec in history
                ],
            }
            if depends_on := kube_features.DEPENDS_ON.get(name):
                found[name]["dependsOn"] = list(depends_on)
    return found


def answer_policy_options(given: Json) -> Json:
    try:
        gates = kube_features.set_gates(given.get("featureGates", {}))
    except KubeletError as error:
        return {"featureGatesError": str(error)}
    is_cpu = given["manager"] == "cpu"
    manager = policy_options.CPU_MANAGER if is_cpu else policy_options.TOPOLOGY_MANAGER
    parse = policy_options.static_policy_options if is_cpu else policy_options.topology_options
    options = parse(given["options"], gates)._asdict()
    named = {name.replace("_", "-"): value for name, value in options.items()}
    # Of an option of later releases the recorded kubelet has no field.
    own = {name: value for name, value in named.items() if manager.level(name, gates.version)}
    return {"options": own}


def answer_topologymanager(given: Json) -> Json:
    nodes = given["numaNodes"]
    numa = NUMAInfo(
        tuple(node["id"] for node in nodes),
        {node["id"]: tuple(node.get("distances") or ()) for node in nodes},
    )
    scope = given.get("scope") or CONTAINER
    policy = new_policy(given["policy"], numa, given.get("options") or {}, scope=scope)
    affinity = policy.merge([hints(provider) for provider in given["providers"]])
    return {"affinity": hint_json(affinity), "admit": policy.admits(affinity)}


OPS: dict[str, Op] = {
    "features": answer_features,
    "policy-options": answer_policy_options,
    "topologymanager": answer_topologymanager,
    "cpuset": answer_cpuset,
    "bitmask": answer_bitmask,
    "discover": answer_discover,
    "take": answer_take,
    "hints": answer_hints,
}

"""Ops without a state: sets, masks, topologies, the allocators, hints."""

from cpuplan.simulate import assignment, bits, cputopology, distributed
from cpuplan.simulate import hints as cpu_hints
from tests.conformance.kubelet.shapes import Json, Op, hint_json, topology, topology_json


def answer_cpuset(given: Json) -> Json:
    cpus = bits.parse_cpus(given["parse"]) if "parse" in given else bits.bits_of(given["list"])
    return {"list": bits.members(cpus), "string": bits.to_text(cpus)}


def answer_bitmask(given: Json) -> Json:
    masks = list(bits.iterate_masks(given["iterate"]))
    return {"masks": [bits.members(mask) for mask in masks], "strings": [bits.mask_text(mask) for mask in masks]}


def answer_discover(given: Json) -> Json:
    nodes = [
        cputopology.MachineNode(
            node["id"],
            tuple(
                cputopology.MachineCore(core["id"], core["socket"], tuple(core["threads"]), tuple(core["uncoreCaches"]))
                for core in node["cores"]
            ),
        )
        for node in given["nodes"]
    ]
    return {"topology": topology_json(cputopology.discover(nodes, given["numCores"], given["numSockets"]))}


def answer_take(given: Json) -> Json:
    machine, available = topology(given["topology"]), bits.parse_cpus(given["available"])
    spread = given["sortingStrategy"] == "spread"
    if given["algorithm"] == "distributed":
        taken = distributed.take_by_topology_numa_distributed(
            machine, available, given["numCPUs"], given["cpuGroupSize"], spread=spread
        )
    else:
        taken = assignment.take_by_topology_numa_packed(
            machine,
            available,
            given["numCPUs"],
            spread=spread,
            align_by_uncore_cache=given["preferAlignByUncoreCache"],
        )
    return {"cpus": bits.to_text(taken)}


def answer_hints(given: Json) -> Json:
    found = cpu_hints.generate_cpu_topology_hints(
        topology(given["topology"]),
        bits.parse_cpus(given["available"]),
        bits.parse_cpus(given.get("reusable", "")),
        given["request"],
        align_by_socket=given.get("options", {}).get("align-by-socket") == "true",
    )
    return {"hints": [hint_json(hint) for hint in found]}


OPS: dict[str, Op] = {
    "cpuset": answer_cpuset,
    "bitmask": answer_bitmask,
    "discover": answer_discover,
    "take": answer_take,
    "hints": answer_hints,
}

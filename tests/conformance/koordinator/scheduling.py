"""What the scheduler's plugin NodeNUMAResource decides."""

from collections.abc import Iterable, Iterator
from json import dumps
from typing import Any

from cpuplan.upstream.koordinator.extension.constants import CPU_MANAGER_POLICY
from cpuplan.upstream.koordinator.extension.numa_aware import (
    CpuManagerPolicy,
    NumaNodeResource,
    node_bind_policy,
    read_cpu_manager_policy,
)
from cpuplan.upstream.koordinator.koordlet.states_noderesourcetopology import topology_policy
from cpuplan.upstream.koordinator.nodenumaresource.cpu_accumulator import (
    Allocated,
    Ordering,
    Wish,
    take_preferred_cpus,
)
from cpuplan.upstream.koordinator.nodenumaresource.cpu_topology import CPUTopology, topology_of
from cpuplan.upstream.koordinator.nodenumaresource.node_allocation import (
    NodeAllocation,
    PodAllocation,
)
from cpuplan.upstream.koordinator.nodenumaresource.resource_manager import Request, allocate
from cpuplan.upstream.koordinator.nodenumaresource.scoring import LEAST_ALLOCATED, read_args
from cpuplan.upstream.koordinator.nodenumaresource.topology_options import (
    TopologyOptions,
    numa_policy,
    read_topology_options,
)
from cpuplan.upstream.koordinator.nodenumaresource.topologymanager import (
    Hint,
    Nodes,
    ProviderHints,
    merge,
)
from cpuplan.upstream.koordinator.nodenumaresource.util import (
    StatusError,
    bind_policy,
    merged_numa_policy,
    node_numa_policy,
    numa_strategy,
)
from cpuplan.upstream.kubernetes.bits import bits_of, members, parse_cpus, to_text
from cpuplan.upstream.kubernetes.errors import KubeletError, PanicError
from cpuplan.upstream.kubernetes.pod import read_resources
from tests.conformance.koordinator.sequences import schedule
from tests.conformance.koordinator.shapes import rows_of
from tests.conformance.operations import Judge

Json = dict[str, Any]


def topology(given: Json) -> CPUTopology:
    """The machine of a case: CPUs one by one, or a shape (vectors/koordinator/README.md)."""
    return topology_of(tuple(rows_of(given)))


def _take_cpus(given: Json) -> Json:
    allocated = Allocated()
    for pod in given.get("allocated", ()):
        cpus, policy = parse_cpus(pod["cpuset"]), pod["exclusivePolicy"]
        levels = allocated.levels
        allocated = allocated.plus(cpus, policy)
        if not pod["refCount"]:
            allocated = allocated._replace(levels=levels)
        for _ in range(1, pod["refCount"]):
            allocated = allocated.plus(cpus, policy)
    machine, is_shared = topology(given["topology"]), given["maxRefCount"] > 1
    ordering = Ordering(machine, given["numaStrategy"], allocated, is_shared)
    available, preferred = (parse_cpus(given.get(key, "")) for key in ("available", "preferred"))
    wish = Wish(given["bindPolicy"], given["exclusivePolicy"])
    try:
        cpus = take_preferred_cpus(ordering, available, preferred, given["needed"], wish)
    except KubeletError as error:
        return {"error": str(error)}
    return {"cpuset": to_text(cpus)}


def check_bug(case: Json) -> Iterator[str] | None:
    """Of a case where the real code gives more CPUs than asked for: what else differs.

    As many as asked for must come out, all but the last part of a core the same ones.
    """
    if "hands out more CPUs" not in case.get("note", ""):
        return None
    given, expected = case["input"], parse_cpus(case["expected"]["cpuset"])
    taken = parse_cpus(_take_cpus(given)["cpuset"])
    size = topology(given["topology"]).cpus_per_core
    is_right = (
        taken.bit_count() == given["needed"]
        and not taken & ~parse_cpus(given["available"])
        and (taken & expected).bit_count() > given["needed"] - size
    )
    return iter([] if is_right else [f"cpuset is {to_text(taken)}, not like {to_text(expected)}"])


def _allocate(given: Json) -> Json:
    ratios = given.get("amplificationRatios", {})
    zones = _zones(given["numaNodeResources"])
    reserved = parse_cpus(given.get("reservedCPUs", ""))
    node = NodeAllocation(TopologyOptions(topology(given["topology"]), reserved, zones))
    for pod in given.get("existing", ()):
        node.update(
            PodAllocation(
                pod["uid"],
                parse_cpus(pod.get("cpuset", "")),
                pod.get("exclusivePolicy", ""),
                _zones(pod.get("numaNodeResources", ())),
            )
        )
    try:
        allocation = allocate(node, _request(given, zones, ratios.get("cpu", 0)))
    except StatusError as refusal:
        return {"error": {"code": refusal.code, "reasons": list(refusal.reasons)}}
    return {
        "cpuset": to_text(allocation.cpus),
        "numaNodeResources": [zone.as_json() for zone in allocation.numa_nodes] or None,
    }


def _zones(given: Iterable[Json]) -> tuple[NumaNodeResource, ...]:
    return tuple(NumaNodeResource(row["node"], read_resources(row["resources"])) for row in given)


def _request(given: Json, zones: tuple[NumaNodeResource, ...], ratio: float) -> Request:
    pod = given["pod"]
    requests = read_resources(pod["requests"])
    hint = pod.get("numaHint")
    default = given.get("defaultNUMAStrategy", "")
    return Request(
        uid=pod["uid"],
        requests=requests,
        original=read_resources(pod["originalRequests"]) if "originalRequests" in pod else requests,
        cpus=pod["numCPUsNeeded"],
        binds_cpus=pod["requestCPUBind"],
        wish=Wish(pod.get("cpuBindPolicy", ""), pod.get("cpuExclusivePolicy", "")),
        is_required=pod.get("requiredCPUBindPolicy", False),
        strategy=numa_strategy(given.get("nodeLabels", {}), default),
        zones=zones,
        ratio=ratio,
        hint=None if hint is None else bits_of(hint),
        preferred=parse_cpus(pod.get("preferredCPUs", "")),
        preemptible=parse_cpus(pod.get("preemptibleCPUs", "")),
    )


def _numa_merge(given: Json) -> Json:
    statuses = given.get("numaNodeStatus", ())
    nodes = Nodes(given["numaNodes"], statuses, given.get("exclusive", ""))
    verdict = merge(given["policy"], nodes, map(_provider, given["providers"]))
    affinity = verdict.hint.affinity
    return {
        "admit": verdict.is_admitted,
        "affinity": None if affinity is None else members(affinity),
        "preferred": verdict.hint.is_preferred,
        "unsatisfied": verdict.hint.is_unsatisfied,
        "reasons": list(verdict.reasons) or None,
    }


def _provider(rows: list[Json] | None) -> ProviderHints:
    return {row["resource"]: _hints(row["hints"]) for row in rows or ()}


def _hints(rows: list[Json] | None) -> list[Hint] | None:
    if rows is None:
        return None
    hints = []
    for row in rows:
        mask = None if row["affinity"] is None else bits_of(row["affinity"])
        hints.append(
            Hint(mask, row["preferred"], row.get("score", 0), row.get("unsatisfied", False))
        )
    return hints


def _topology_options(given: Json) -> Json:
    try:
        options = read_topology_options(given)
    except PanicError:
        return {"panic": True}
    machine = options.topology
    assert machine is not None
    return {
        "cpuTopologyValid": options.has_cpus,
        "kubeletPolicy": None if options.kubelet is None else options.kubelet.as_json(),
        "maxRefCount": options.max_ref_count,
        "numCPUs": machine.num_cpus,
        "numCores": machine.num_cores,
        "numNodes": machine.num_nodes,
        "numSockets": machine.num_sockets,
        "numaNodeResources": [zone.as_json() for zone in options.numa_nodes],
        "numaTopologyPolicy": options.numa_policy,
        "reservedCPUs": to_text(options.reserved),
        "amplificationRatios": options.ratios,
    }


def _node_policy(given: Json) -> Json:
    labels, kubelet = given["nodeLabels"], _manager(given.get("kubeletCPUManagerPolicy"))
    written = given.get("nrtTopologyPolicies")
    policies: Json = {}
    if "kubeletTopologyManagerPolicy" in given:
        asked = given["kubeletTopologyManagerPolicy"], given["kubeletTopologyManagerScope"]
        written = policies["nrtTopologyPolicies"] = [topology_policy(*asked)]
    options = TopologyOptions(numa_policy=numa_policy(written or ()), kubelet=kubelet)
    required, preferred = (
        given.get(f"pod{kind}CPUBindPolicy", "") for kind in ("Required", "Preferred")
    )
    policy, is_required = bind_policy(labels, kubelet, required, preferred)
    of_node = node_numa_policy(labels, options)
    policies |= {
        "cpuBindPolicy": policy,
        "required": is_required,
        "nodeCPUBindPolicy": node_bind_policy(labels, kubelet or CpuManagerPolicy()),
        "nodeNUMATopologyPolicy": of_node,
        "numaAllocateStrategy": numa_strategy(
            labels, given.get("defaultNUMAStrategy", LEAST_ALLOCATED)
        ),
        "schedulerViewOfKubeletPolicy": options.numa_policy,
    }
    try:
        of_pod = given.get("podNUMATopologyPolicy", "")
        policies["effectiveNUMATopologyPolicy"] = merged_numa_policy(of_node, of_pod)
    except StatusError as error:
        policies["mergeError"] = str(error)
    return policies


def _manager(given: Json | None) -> CpuManagerPolicy | None:
    return None if given is None else read_cpu_manager_policy({CPU_MANAGER_POLICY: dumps(given)})


def _numa_args(given: Json) -> Json:
    try:
        args = read_args(given)
    except KubeletError as error:
        return {"error": str(error)}
    return {"args": args.as_json(), "defaultNUMAAllocateStrategy": args.default_strategy}


KINDS: dict[str, Judge] = {
    "take_cpus": _take_cpus,
    "allocate": _allocate,
    "numa_merge": _numa_merge,
    "topology_options": _topology_options,
    "node_policy": _node_policy,
    "numa_args": _numa_args,
    "schedule": schedule,
}

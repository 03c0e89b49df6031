"""The scheduler's plugin on one node, pod after pod."""

from typing import Any

from cpuplan.upstream.koordinator.extension.numa_aware import read_resource_spec
from cpuplan.upstream.koordinator.nodenumaresource.node_allocation import NodeObject, SchedulerNode
from cpuplan.upstream.koordinator.nodenumaresource.plugin import (
    Admission,
    pre_bind,
    pre_filter,
    reserve,
    score_of,
)
from cpuplan.upstream.koordinator.nodenumaresource.scoring import PluginArgs, read_args
from cpuplan.upstream.koordinator.nodenumaresource.topology_options import (
    TopologyOptions,
    read_topology_options,
)
from cpuplan.upstream.koordinator.nodenumaresource.util import StatusError
from cpuplan.upstream.kubernetes.bits import to_text
from cpuplan.upstream.kubernetes.errors import PanicError
from cpuplan.upstream.kubernetes.pod import Container, Pod, read_resources

Json = dict[str, Any]


def schedule(given: Json) -> Json:
    """A case of the operation `schedule`."""
    options = read_topology_options(given["nrt"]) if "nrt" in given else TopologyOptions()
    row = given["node"]
    node = SchedulerNode(
        NodeObject(
            row["name"],
            row.get("labels", {}),
            row.get("annotations", {}),
            read_resources(row["allocatable"]),
            options._replace(max_ref_count=given.get("maxRefCount", 1)),
        )
    )
    args = read_args(given.get("args") or {})
    outcome: Json = {"steps": [_step(node, args, step) for step in given["steps"]]}
    if options.has_cpus:
        free, allocated = node.allocation.available_cpus()
        outcome |= {"availableCPUs": to_text(free), "allocatedCPUs": to_text(allocated.cpus)}
    return outcome


def _step(node: SchedulerNode, args: PluginArgs, step: Json) -> Json:
    if "delete" in step:
        node.allocation.release(step["delete"])
        node.requests.pop(step["delete"], None)
        return {"deleted": step["delete"]}
    pod = _pod(step["add"])
    outcome: Json = {"pod": pod.name, "stage": "PreFilter"}
    try:
        state = pre_filter(pod, args)
        if state is None:
            return {**outcome, "stage": "skipped"}
        _bind(Admission(node, state, args), outcome)
    except StatusError as error:
        outcome["status"] = {"code": error.code, "reasons": list(error.reasons)}
    except PanicError as error:
        return {"pod": pod.name, "panic": str(error)}
    return outcome


def _bind(admission: Admission, outcome: Json) -> None:
    state = admission.state
    outcome["stage"] = "Filter"
    admission.filter()
    outcome |= {"score": score_of(admission), "stage": "Reserve"}
    written = pre_bind(admission, reserve(admission))
    admission.node.requests[state.pod.uid] = state.requests
    spec = written.spec or read_resource_spec(state.pod.annotations)
    outcome |= {"stage": "bound", "resource-spec": spec.as_json() or None}
    if written.status is not None:
        outcome["resource-status"] = written.status.as_json()


def _pod(row: Json) -> Pod:
    containers = [
        Container(
            container["name"],
            read_resources(container.get("requests")),
            read_resources(container.get("limits")),
        )
        for container in row["containers"]
    ]
    return Pod(
        uid=row["uid"],
        init_containers=(),
        containers=tuple(containers),
        name=row["name"],
        namespace=row["namespace"],
        labels=row.get("labels", {}),
        annotations=row.get("annotations", {}),
        priority=row.get("priority", 0),
    )

"""NodeResourceTopology objects and pods for tests, in few words."""

from typing import Any

from cpuplan.upstream.kubernetes.pod import Pod, read_pod

Json = dict[str, Any]


def nrt(*zones: Json, policy: str = "single-numa-node", scope: str = "container") -> Json:
    """An object of the zones, as the kubelet's topology manager is set."""
    return {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {"name": "worker-0"},
        "zones": list(zones),
        "attributes": [
            {"name": "topologyManagerPolicy", "value": policy},
            {"name": "topologyManagerScope", "value": scope},
        ],
    }


def zone(name: str, kind: str = "Node", costs: tuple[int, ...] = (), **available: str) -> Json:
    """A zone of which everything is available; `nic` stands for a device."""
    names = {"nic": "vendor.com/nic"}
    return {
        "name": name,
        "type": kind,
        "costs": [{"name": f"node-{node}", "value": cost} for node, cost in enumerate(costs)],
        "resources": [
            {"name": names.get(key, key), "capacity": text, "allocatable": text, "available": text}
            for key, text in available.items()
        ],
    }


def pod(*containers: Json, init: tuple[Json, ...] = ()) -> Pod:
    """A pod whose containers have these requests, and limits like them."""
    spec = {
        "containers": [_container(index, requests) for index, requests in enumerate(containers)],
        "initContainers": [_container(index, requests) for index, requests in enumerate(init)],
    }
    return read_pod({"metadata": {"name": "p"}, "spec": spec})


def _container(index: int, requests: Json) -> Json:
    return {"name": f"c{index}", "resources": {"requests": requests, "limits": requests}}

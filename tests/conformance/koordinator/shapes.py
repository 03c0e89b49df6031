"""The shapes of the vectors of Koordinator: pods."""

from typing import Any

from cpuplan.kubelet.pods.pod import Pod, read_pod

Json = dict[str, Any]


def pod_of(given: Json) -> Pod:
    """A pod of the vectors, which has the containers' resources without a level between."""
    containers = [
        {
            "name": container["name"],
            "resources": {
                "requests": container.get("requests"),
                "limits": container.get("limits"),
            },
        }
        for container in given.get("containers") or ()
    ]
    names = ("uid", "namespace", "name", "labels", "annotations")
    metadata = {name: given[name] for name in names if name in given}
    spec = {"containers": containers, "priority": given.get("priority")}
    return read_pod({"metadata": metadata, "spec": spec})

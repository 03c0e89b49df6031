"""The shapes of the vectors of Koordinator: pods and machines."""

from typing import Any

from cpuplan.upstream.kubernetes.pod import Pod, read_pod

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


def rows_of(given: Json) -> list[tuple[int, int, int, int]]:
    """(CPU, core, socket, node): listed, or of a shape (vectors/koordinator/README.md)."""
    if "cpus" in given:
        return [(row[0], row[1], row[2], row[3]) for row in given["cpus"]]
    nodes, threads = given["sockets"] * given["nodesPerSocket"], given["cpusPerCore"]
    cores = nodes * given["coresPerNode"]
    numbering = given.get("numbering", "adjacent")
    rows = []
    for core in range(cores):
        node = core % nodes if numbering == "interleaved" else core // given["coresPerNode"]
        for thread in range(threads):
            cpu = core * threads + thread if numbering == "adjacent" else thread * cores + core
            rows.append((cpu, core, node // given["nodesPerSocket"], node))
    return rows

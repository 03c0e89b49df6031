"""Must-gathers of small made-up clusters."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cpuplan.base.emit import to_yaml
from tests.machines import trees

CONFIG = "cluster-scoped-resources/config.openshift.io"
POOLS = "cluster-scoped-resources/machineconfiguration.openshift.io/machineconfigpools"
NODES = "cluster-scoped-resources/core/nodes"
ROLE = "node-role.kubernetes.io/"
OWN_ROLE = "machineconfiguration.openshift.io/role"


def node(
    name: str,
    *roles: str,
    os: str = "linux",
    taint: str = "",
    labels: Mapping[str, str] | None = None,
) -> Any:
    """A Node object; `taint` is the key of one with the effect NoSchedule."""
    own = {f"{ROLE}{role}": "" for role in roles} | {"kubernetes.io/os": os} | dict(labels or {})
    taints = [{"key": taint, "effect": "NoSchedule"}] if taint else []
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": own},
        "spec": {"taints": taints},
        "status": {"capacity": {"cpu": "8"}, "nodeInfo": {"architecture": "amd64"}},
    }


def pool(
    name: str, labels: Mapping[str, str] | None = None, selector: Mapping[str, Any] | None = None
) -> Any:
    """A MachineConfigPool that selects by role, and has a label of its own."""
    return {
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfigPool",
        "metadata": {"name": name, "labels": {OWN_ROLE: name} if labels is None else dict(labels)},
        "spec": {
            "nodeSelector": {"matchLabels": {f"{ROLE}{name}": ""}}
            if selector is None
            else dict(selector)
        },
    }


def infrastructure(topology: str = "HighlyAvailable") -> Any:
    """The Infrastructure object of a cluster `lab`."""
    return {
        "apiVersion": "config.openshift.io/v1",
        "kind": "Infrastructure",
        "metadata": {"name": "cluster"},
        "status": {
            "apiServerURL": "https://api.lab.example.com:6443",
            "controlPlaneTopology": topology,
        },
    }


VERSION = {
    "apiVersion": "config.openshift.io/v1",
    "kind": "ClusterVersion",
    "metadata": {"name": "version"},
    "status": {"desired": {"version": "4.20.3"}},
}
_FOLDERS = {
    "Node": NODES,
    "MachineConfigPool": POOLS,
    "Infrastructure": f"{CONFIG}/infrastructures",
    "ClusterVersion": f"{CONFIG}/clusterversions",
}


def gather(
    root: Path,
    objects: Sequence[Any],
    machines: Mapping[str, Mapping[str, str]],
    image: str = "image",
) -> Path:
    """Write the objects, and a snapshot for each of `machines`: files by node."""
    for resource in objects:
        path = f"{image}/{_FOLDERS[resource['kind']]}/{resource['metadata']['name']}.yaml"
        trees.put({path: to_yaml(resource)}, root)
    for name, files in machines.items():
        snapshot = root / image / "nodes" / name / "sysinfo.tgz"
        snapshot.parent.mkdir(parents=True)
        snapshot.write_bytes(trees.tar(dict(files)))
    return root


#: Three masters' worth of pools: what most clusters have, and one custom pool.
CLUSTER = (infrastructure(), VERSION, pool("master"), pool("worker"), pool("worker-cnf"))

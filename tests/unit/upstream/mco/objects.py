"""Small objects for the tests of the machine config operator's port."""

from typing import Any

ROLE = "machineconfiguration.openshift.io/role"
GENERATED = "machineconfiguration.openshift.io/generated-by-controller-version"

Json = dict[str, Any]


def pool(name: str = "worker", *roles: str, node_role: str = "") -> Json:
    """A pool that selects the objects of `roles`, its own without any."""
    roles = roles or (name,)
    expression = {"key": ROLE, "operator": "In", "values": list(roles)}
    node_label = f"node-role.kubernetes.io/{node_role or name}"
    return {
        "metadata": {"name": name, "labels": {f"pools.example.test/{name}": ""}},
        "spec": {
            "machineConfigSelector": {"matchExpressions": [expression]},
            "nodeSelector": {"matchLabels": {node_label: ""}},
        },
    }


def node(*roles: str, **labels: str) -> Json:
    """A node of `roles`."""
    own = {f"node-role.kubernetes.io/{role}": "" for role in roles}
    return {"metadata": {"name": "n1", "labels": own | labels}}


def machine_config(name: str, role: str = "worker", generated_by: str = "", **spec: Any) -> Json:
    """A MachineConfig; `config` is its Ignition config."""
    metadata: Json = {"name": name, "labels": {ROLE: role}}
    if generated_by:
        metadata["annotations"] = {GENERATED: generated_by}
    return {"metadata": metadata, "spec": spec}


def ignition(version: str = "3.2.0", **sections: Any) -> Json:
    """An Ignition config."""
    return {"ignition": {"version": version}, **sections}


def files(*entries: Json, version: str = "3.2.0") -> Json:
    """An Ignition config with files."""
    return ignition(version, storage={"files": list(entries)})


def file(path: str = "/etc/x", text: str | None = "x", **fields: Any) -> Json:
    """A file; without text it has no contents."""
    contents = {} if text is None else {"contents": {"source": f"data:,{text}"}}
    return {"path": path, **contents, **fields}


def units(*entries: Json) -> Json:
    """An Ignition config with systemd units."""
    return ignition(systemd={"units": list(entries)})

"""Fleets of any size: a few models of servers, and an intent for each role."""

from pathlib import Path

_HARDWARE = """apiVersion: cpuplan.io/v1alpha1
kind: Hardware
metadata:
  name: model-{number:02}
spec:
  vendor: GenuineIntel
  regular: {{sockets: 2, coresPerSocket: {cores}, threadsPerCore: 2, memoryPerNumaNode: 64Gi}}
"""
_INTENT = """apiVersion: cpuplan.io/v1alpha1
kind: Intent
metadata:
  name: role-{number}
spec:
  selector:
    matchLabels: {{role: r{number}}}
  targets:
  - platform: kubernetes
    version: "1.33"
  pools:
    reserved: {{cores: 1, per: numaNode}}
    shared: {{cores: {shared}}}
    isolated: rest
"""
_NODES = """apiVersion: cpuplan.io/v1alpha1
kind: Nodes
metadata:
  name: nodes-{number}
spec:
  cluster: lab
  nodes:
"""


def make_fleet(folder: Path, models: int, roles: int, nodes: int = 2) -> Path:
    """A project with a class for each model and role."""
    (folder / "inventories").mkdir(parents=True)
    (folder / "intents").mkdir()
    for number in range(models):
        text = _HARDWARE.format(number=number, cores=8 + 2 * number)
        (folder / f"inventories/model-{number:02}.yaml").write_text(text)
    for role in range(roles):
        (folder / f"intents/role-{role}.yaml").write_text(
            _INTENT.format(number=role, shared=2 + role)
        )
        groups = [
            f"  - name: n-{role}-{model:02}-[0-{nodes - 1}]\n"
            f"    hardware: model-{model:02}\n"
            f"    labels: {{role: r{role}}}\n"
            for model in range(models)
        ]
        text = _NODES.format(number=role) + "".join(groups)
        (folder / f"inventories/nodes-{role}.yaml").write_text(text)
    return folder

"""Fleets of any size: a few models of servers, and an intent for each role."""

from pathlib import Path

from cpuplan import pipeline
from tests.hosts import make_root

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
    runtime: crio
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
#: Twenty pods that do not fit on every machine.
PODS = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 20
  template:
    spec:
      containers:
      - name: main
        resources: {limits: {cpu: 2, memory: 1Gi}}
---
apiVersion: v1
kind: Pod
metadata: {name: wide}
spec:
  containers:
  - name: main
    resources: {limits: {cpu: 5, memory: 1Gi}}
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


def make_roots(project: Path, folder: Path) -> None:
    """What every node of a fleet shows; every tenth one has lost a boot argument."""
    plan, _ = pipeline.solve(pipeline.load(project))
    for number, ((_, name), node) in enumerate(plan.by_node.items()):
        make_root(node, folder / name)
        (folder / name / "etc").mkdir(exist_ok=True)
        (folder / name / "etc/hostname").write_text(f"{name}\n")
        cmdline = folder / name / "proc/cmdline"
        if number % 10 == 0:
            words = cmdline.read_text().split()
            cmdline.write_text(" ".join(word for word in words if "nohz_full" not in word) + "\n")

"""A cluster with what was compiled for it: its objects, and what servers and operators add."""

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

from cpuplan import backends
from cpuplan.backends import parts, state
from cpuplan.backends.openshift import merged
from cpuplan.base.emit import to_json, to_yaml
from cpuplan.check.cluster.live_objects import Objects
from cpuplan.components import kubelet, nrt
from cpuplan.components.derived import ALLOCATABLE, AMOUNTS, CAPACITY, KEPT, RENDERED
from cpuplan.language.read import yaml
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.expected import folder as files
from cpuplan.plan.expected import folder as topologies
from cpuplan.plan.expected.folder import Compiled
from cpuplan.plan.expected.state import Expected, read
from cpuplan.simulate.files.objects import objects as read_objects
from cpuplan.upstream.kubernetes.quantity import parse

RENDERED_NAME = "rendered-worker-cnf-0123456789abcdef0123456789abcdef"
_OWN = "machineconfiguration.openshift.io/"
_GIB = 1024**3
#: The MachineConfigs of a class of a pinned cluster.
CONFIGS = ("50-performance-ran", "01-worker-cpu-partitioning", "01-worker-cnf-cpu-partitioning")


class Cluster:
    """The classes of one cluster and its objects, as they should be."""

    def __init__(self, *plans: ConfiguredPlan) -> None:
        self.plans = plans
        named = [(plan, backends.of(plan.node_class)) for plan in plans]
        facts = backends.of(plans[0].node_class).facts_of_cluster(plans)
        states = [
            state.text(plan, backend, facts.get(plan.node_class.key)) for plan, backend in named
        ]
        self.expected: list[Expected] = list(map(read, states))
        made = [parts.of_class(plan, backend.manifests(plan)) for plan, backend in named]
        listed = parts.files("lab", made, (), plans)
        self.compiled: tuple[Compiled, ...] = tuple(
            files.read_compiled(data.decode()) for data in listed.values()
        )

    def objects(self) -> list[dict[str, Any]]:
        """What the API has."""
        objects: list[dict[str, Any]] = []
        for plan, expected in zip(self.plans, self.expected, strict=True):
            for name in expected.nodes:
                objects.append(node(expected, name))
                if plan.settings.of(nrt.NAME):
                    objects.append(
                        topologies.named_topology(nrt.node_resource_topology(plan), name)
                    )
            if RENDERED in expected.facts:
                objects.append(rendered(plan))
        return [*objects, *(_live(manifest.data) for manifest in self.compiled)]


def node(expected: Expected, name: str) -> dict[str, Any]:
    """A Node with the amounts that its kubelet counts."""
    capacity: dict[str, str] = {"memory": str(64 * _GIB), "pods": "250"}
    allocatable: dict[str, str] = dict(capacity)
    amounts: Any = expected.facts[AMOUNTS]
    for resource, known in amounts.items():
        if KEPT in known:
            allocatable["memory"] = str(64 * _GIB - parse(known[KEPT]).value)
            continue
        capacity[resource] = known[CAPACITY]
        allocatable[resource] = known.get(ALLOCATABLE, known[CAPACITY])
    annotations = {
        f"{_OWN}currentConfig": RENDERED_NAME,
        f"{_OWN}desiredConfig": RENDERED_NAME,
        f"{_OWN}state": "Done",
        f"{_OWN}reason": "",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "annotations": annotations if expected.release.pool else {}},
        "status": {CAPACITY: capacity, ALLOCATABLE: allocatable},
    }


def rendered(plan: ConfiguredPlan) -> dict[str, Any]:
    """The rendered MachineConfig of a pool, with what other objects of a cluster bring."""
    pool = next(iter(merged.of_cluster([plan])))
    spec: dict[str, Any] = json.loads(to_json(pool.rendered.spec))
    spec["kernelArguments"] = ["psi=0", *spec["kernelArguments"], "console=ttyS0"]
    storage = spec["config"]["storage"]
    storage["files"] = [file for file in storage["files"] if file["path"] not in GENERATED]
    configuration = kubelet.configuration(plan.settings.of(kubelet.NAME))
    moved = configuration.pop("systemReserved", {})
    sizing = "".join(
        f"SYSTEM_RESERVED_{name}={moved.get(key, value)}\n"
        for key, name, value in (("memory", "MEMORY", "1Gi"), ("cpu", "CPU", "500m"))
    )
    storage["files"] += [
        file(KUBELET_CONF, to_json({**configuration, "clusterDNS": ["172.30.0.10"]})),
        file(GENERATED[1], f"NODE_SIZING_ENABLED=false\n{sizing}"),
        file("/etc/chrony.conf", "pool 2.rhel.pool.ntp.org iburst\n"),
    ]
    return {
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfig",
        "metadata": {"name": RENDERED_NAME},
        "spec": spec,
    }


KUBELET_CONF = "/etc/kubernetes/kubelet.conf"
#: What the operator writes of a KubeletConfig.
GENERATED = (KUBELET_CONF, "/etc/node-sizing-enabled.env")


def file(path: str, text: str) -> dict[str, Any]:
    """A file as the operator renders it."""
    source = "data:text/plain;charset=utf-8;base64," + base64.b64encode(text.encode()).decode()
    return {"path": path, "mode": 0o644, "overwrite": True, "contents": {"source": source}}


def _live(data: Mapping[str, Any]) -> dict[str, Any]:
    """An object as a server gives it back: with defaults, status and bookkeeping."""
    made: dict[str, Any] = json.loads(to_json({**data}))
    made["metadata"] = {**made["metadata"], "uid": "0", "generation": 2, "resourceVersion": "9"}
    if made["kind"] == "MachineConfigPool":
        made["spec"] |= {"paused": False, "configuration": _configuration()}
        made["status"] = {
            "observedGeneration": 2,
            "machineCount": 2,
            "updatedMachineCount": 2,
            "configuration": _configuration(),
            "conditions": [
                {"type": "NodeDegraded", "status": "False", "message": ""},
                {"type": "Updated", "status": "True", "message": f"All nodes have {RENDERED_NAME}"},
            ],
        }
    if made["kind"] == "KubeletConfig":
        made["status"] = {
            "conditions": [{"type": "Success", "status": "True", "message": "Success"}]
        }
    if made["kind"] == "ValidatingAdmissionPolicy":
        for rule in made["spec"]["matchConstraints"]["resourceRules"]:
            rule["scope"] = "*"
        made["spec"]["matchConstraints"]["namespaceSelector"] = {}
    return made


def _configuration() -> dict[str, Any]:
    names = ("00-worker", *CONFIGS, "99-worker-cnf-generated-kubelet")
    return {"name": RENDERED_NAME, "source": [{"name": name} for name in names]}


def objects(listed: Sequence[Mapping[str, Any]]) -> Objects:
    """The objects as they are read of a file."""
    text = to_yaml({"apiVersion": "v1", "kind": "List", "items": list(listed)})
    sources, problems = yaml.parse("objects.yaml", text)
    assert not problems
    return Objects(read_objects(sources))

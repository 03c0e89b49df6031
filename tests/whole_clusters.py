"""Clusters of several pools, compiled, and what each node gets of all their objects together.

The objects in `out/` are rendered with the port of the machine config operator, next to those that
a Cluster document states, and compared with what the same class gets alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from cpuplan import pipeline
from cpuplan.components import cmdline
from cpuplan.components.openshift.pool import built_in_labels
from cpuplan.diagnostics import errors
from cpuplan.facts import versions
from cpuplan.upstream.mco.helpers import read_selector
from cpuplan.upstream.mco.kubelet_config_controller import KubeletConfigs
from tests.conformance.mco.effective import Effective, effective

ROLE = "machineconfiguration.openshift.io/role"
NODE_ROLE = "node-role.kubernetes.io/"
HARDWARE = {
    "vendor": "GenuineIntel",
    "regular": {
        "sockets": 2,
        "coresPerSocket": 4,
        "threadsPerCore": 2,
        "memoryPerNumaNode": "64Gi",
    },
}
_DEFAULTS = {"worker": {"maxPods": 250}, "master": {"maxPods": 250}}
_KERNEL_ARGUMENTS, _FILES, _UNITS = "kernelArguments", "files", "units"
Object = Mapping[str, Any]


class Member(NamedTuple):
    """A class of a cluster: its pool, and what its intent says.

    With a `profile`, its document is that PerformanceProfile, and `target` and `spec` describe it.
    """

    name: str
    target: Mapping[str, Any]
    spec: Mapping[str, Any]
    profile: Mapping[str, Any] | None = None

    @property
    def pool(self) -> str:
        """The MachineConfigPool of its node."""
        pool: str = self.target["pool"]
        return f"{pool}-server" if self.target.get("mixedHardware") == "split" else pool

    @property
    def labels(self) -> dict[str, str]:
        """The labels of its node."""
        roles = [self.pool] if self.pool == "master" else ["worker", self.pool]
        return {f"{NODE_ROLE}{role}": "" for role in roles}


def compiled(
    root: Path, members: Sequence[Member], facts: Mapping[str, Any] | None = None
) -> tuple[list[Object], set[str]]:
    """The objects of a cluster with these classes; or the codes of what is wrong with them."""
    _write(root, members, facts)
    project = pipeline.load(root)
    plan, diagnostics = pipeline.judge(project, allow_removal=True)
    codes = {problem.code for problem in errors(diagnostics)}
    return ([] if codes else list(_objects(pipeline.emit(project, plan).files))), codes


def _write(root: Path, members: Sequence[Member], facts: Mapping[str, Any] | None) -> None:
    documents = [_document("Hardware", "server", HARDWARE)]
    for member in members:
        nodes = [{"name": f"{member.name}-0"}]
        labels = {"class": member.name, **member.labels}
        spec = {"cluster": "edge", "hardware": "server", "labels": labels, "nodes": nodes}
        documents.append(_document("Nodes", member.name, spec))
        documents.append(_intent(member))
    if facts:
        documents.append(_document("Cluster", "edge", facts))
    for folder in ("inventories", "intents"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    kinds = ("Intent", "PerformanceProfile")
    intents = [document for document in documents if document["kind"] in kinds]
    others = [document for document in documents if document["kind"] not in kinds]
    (root / "intents/all.yaml").write_text(yaml.safe_dump_all(intents))
    (root / "inventories/all.yaml").write_text(yaml.safe_dump_all(others))


def _intent(member: Member) -> dict[str, Any]:
    """What says what a member's CPUs are for."""
    if member.profile:
        head = {"apiVersion": "performance.openshift.io/v2", "kind": "PerformanceProfile"}
        return {**head, "metadata": {"name": member.name}, "spec": dict(member.profile)}
    selector = {"matchLabels": {"class": member.name}}
    spec = {"selector": selector, "targets": [dict(member.target)], **member.spec}
    return _document("Intent", member.name, spec)


def _document(kind: str, name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    metadata = {"name": name}
    return {
        "apiVersion": "cpuplan.io/v1alpha1",
        "kind": kind,
        "metadata": metadata,
        "spec": dict(spec),
    }


def _objects(files: Mapping[str, bytes]) -> Iterator[Object]:
    """The objects that are synced, and those that operators make of them."""
    folders = ("manifests", "hosting/manifests", "expected/operator")
    for path, data in sorted(files.items()):
        is_object = path.startswith(tuple(f"clusters/edge/{folder}/" for folder in folders))
        if is_object and not path.endswith("/kustomization.yaml"):
            yield from filter(None, yaml.safe_load_all(data))


def stated(facts: Mapping[str, Any]) -> Iterator[Object]:
    """The objects that a Cluster document describes, with some contents."""
    for item in facts.get("machineConfigs", ()):
        files = [
            {"path": path, "mode": 420, "contents": {"source": "data:,foreign"}}
            for path in item.get(_FILES, ())
        ]
        config = {"ignition": {"version": "3.2.0"}, "storage": {"files": files}}
        spec = {"config": config, _KERNEL_ARGUMENTS: item.get(_KERNEL_ARGUMENTS, [])}
        spec["kernelType"] = item.get("kernelType", "default")
        yield _object("MachineConfig", item, spec)
    for item in facts.get("machineConfigPools", ()):
        selectors = {key: item[key] for key in ("machineConfigSelector", "nodeSelector")}
        yield _object("MachineConfigPool", item, selectors)
    for item in facts.get("kubeletConfigs", ()):
        key = "machineConfigPoolSelector"
        yield _object("KubeletConfig", item, {key: item[key], "kubeletConfig": {"maxPods": 77}})


def _object(kind: str, item: Mapping[str, Any], spec: Mapping[str, Any]) -> Object:
    metadata = {"name": item["name"], "labels": item.get("labels", {})}
    return {"kind": kind, "metadata": metadata, "spec": spec}


def gets(member: Member, objects: Sequence[Object]) -> dict[str, Any]:
    """What the node of a class gets: boot arguments, kernel, files, units, and TuneD's profile.

    Boot arguments are as the kernel reads them.
    """
    release = versions.from_text(member.target["version"])
    pools = [_built_in("master"), _built_in("worker"), *_of_kind(objects, "MachineConfigPool")]
    kubelet_configs = KubeletConfigs(pools, _DEFAULTS, release)
    for item in _of_kind(objects, "KubeletConfig"):
        kubelet_configs.create(item)
    kubelet_configs.restart()
    generated = [item.as_object() for item in kubelet_configs.machine_configs.values()]
    configs = [*_of_kind(objects, "MachineConfig"), *generated]
    node = {"metadata": {"name": member.name, "labels": member.labels}}
    of_node = effective(node, pools, configs, release)
    assert of_node.rendered
    config = of_node.rendered.config
    files = config.get("storage", {}).get("files") or ()
    units = config.get("systemd", {}).get("units") or ()
    return {
        _KERNEL_ARGUMENTS: cmdline.keyed(" ".join(of_node.rendered.kernel_arguments)),
        "kernelType": of_node.rendered.kernel_type,
        _FILES: {file["path"]: file["contents"] for file in files},
        _UNITS: {unit["name"]: unit for unit in units},
        "tuned": _tuned(of_node, objects),
    }


def _of_kind(objects: Sequence[Object], kind: str) -> list[Object]:
    return [item for item in objects if item.get("kind") == kind]


def _built_in(name: str) -> Object:
    spec = {
        "machineConfigSelector": {"matchLabels": {ROLE: name}},
        "nodeSelector": {"matchLabels": {f"{NODE_ROLE}{name}": ""}},
    }
    return {"metadata": {"name": name, "labels": built_in_labels(name)}, "spec": spec}


def _tuned(of_node: Effective, objects: Sequence[Object]) -> set[str]:
    """The texts of the profiles with the lowest priority among those for the node's pools."""
    selectors = [
        read_selector(pool["spec"]["machineConfigSelector"]) for pool in of_node.membership.pools
    ]
    by_priority: dict[int, set[str]] = {}
    for item in _of_kind(objects, "Tuned"):
        (recommended,) = item["spec"]["recommend"]
        labels = recommended["machineConfigLabels"]
        if any(selector.matches(labels) for selector in selectors):
            texts = by_priority.setdefault(recommended["priority"], set())
            texts.add(item["spec"]["profile"][0]["data"])
    return by_priority[min(by_priority)] if by_priority else set()


def differences(alone: Mapping[str, Any], together: Mapping[str, Any]) -> list[str]:
    """What a node should get and does not; and CPU lists that it gets besides."""
    differing = [key for key in ("kernelType", "tuned") if alone[key] != together[key]]
    for kind in (_KERNEL_ARGUMENTS, _FILES, _UNITS):
        own, all_of_them = alone[kind], together[kind]
        differing += [key for key in own if own[key] != all_of_them.get(key)]
    lists = cmdline.CPU_LISTS & together[_KERNEL_ARGUMENTS].keys()
    differing += sorted(lists - alone[_KERNEL_ARGUMENTS].keys())
    return differing

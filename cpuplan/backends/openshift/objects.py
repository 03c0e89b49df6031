"""Objects of OpenShift, and what the node tuning operator will make of a PerformanceProfile."""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from cpuplan.backends import rollouts
from cpuplan.backends.base import NODE_WAVE, POOL_WAVE, Manifest, NodeFile, metadata, of_others
from cpuplan.base.emit import Noted, to_yaml
from cpuplan.components import crio, kernel, kubelet, runtimeclass, slices
from cpuplan.components.host import partitions, rps
from cpuplan.components.openshift import (
    machineconfig,
    mixedcpus,
    operator_units,
    ovsdpdk,
    performanceprofile,
    pinning,
    pool,
    tuned,
)
from cpuplan.components.openshift.machineconfig import API_VERSION, OWNER, ROLE
from cpuplan.components.units import BIN, UNIT_FOLDER
from cpuplan.facts.settings.openshift import KERNEL_TYPE
from cpuplan.fleet import cluster_facts
from cpuplan.plan import ConfiguredPlan
from cpuplan.upstream.kubelet.config import codec

#: The node tuning operator's own path, so that a pool can move from one to the other.
CRIO_DROP_IN = "/etc/crio/crio.conf.d/99-runtimes.conf"
#: MachineConfig takes Ignition 3.2 since OpenShift 4.7.
IGNITION = "3.2.0"
#: Lower numbers win; the operator's own profiles have 30 and 40. Nodes of custom pools match the
#: profile of the pool worker too (pkg/operator/profilecalculator.go: their pools are both).
TUNED_PRIORITY, WORKER_TUNED_PRIORITY = 20, 25


def performance_profile(plan: ConfiguredPlan) -> dict[str, Any]:
    """The PerformanceProfile, from which the node tuning operator makes everything else."""
    return _profile(plan, metadata(plan.node_class.profile, NODE_WAVE))


def _profile(plan: ConfiguredPlan, metadata: dict[str, Any]) -> dict[str, Any]:
    """The profile with this metadata, and with the labels and annotations that are settings."""
    document = performanceprofile.document(plan.settings.of(performanceprofile.NAME))
    for key, texts in document["metadata"].items():
        metadata = metadata | {key: metadata.get(key, {}) | texts}
    return document | {"metadata": metadata}


def config_map(plan: ConfiguredPlan) -> dict[str, Any]:
    """The profile of a hosted cluster; its NodePool names the object in spec.tuningConfig.

    It is read from the namespace of the NodePool (openshift/hypershift,
    hypershift-operator/controllers/nodepool/nto.go).
    """
    name = plan.node_class.profile
    made = metadata(name, NODE_WAVE) | {"namespace": plan.node_class.target.hosting_namespace}
    tuning = to_yaml(_profile(plan, {"name": name}))
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": made, "data": {"tuning": tuning}}


def machine_config_pool(plan: ConfiguredPlan) -> dict[str, Any]:
    """A custom pool on top of `worker`."""
    name, made = plan.node_class.target.pool or "", pool.document(plan.settings.of(pool.NAME))
    made["metadata"] = metadata(name, POOL_WAVE, labels=made["metadata"]["labels"])
    return made | {"spec": made["spec"] | rollouts.of_pool(plan)}


def built_in_pool(plan: ConfiguredPlan) -> dict[str, Any]:
    """What the rollout says of a pool that every cluster has; the rest of it is the operator's."""
    name = plan.node_class.target.pool or ""
    made = {"name": name, "annotations": of_others(POOL_WAVE, "Validate=false")}
    spec = rollouts.of_pool(plan)
    return {"apiVersion": API_VERSION, "kind": "MachineConfigPool", "metadata": made, "spec": spec}


def kubelet_config(plan: ConfiguredPlan) -> dict[str, Any]:
    """KubeletConfig, which the operator merges over its defaults."""
    settings = plan.settings
    labels = settings.values(pool.NAME)[pool.LABELS]
    return {
        "apiVersion": API_VERSION,
        "kind": "KubeletConfig",
        "metadata": metadata(f"performance-{plan.node_class.profile}", NODE_WAVE),
        "spec": {
            "machineConfigPoolSelector": {"matchLabels": labels},
            "kubeletConfig": kubelet.configuration(settings.of(kubelet.NAME)),
        },
    }


@lru_cache(maxsize=256)
def machine_config(plan: ConfiguredPlan) -> dict[str, Any]:
    """MachineConfig: boot arguments, kernel, files and units.

    Made once for checks and output, which never change it.
    """
    settings = plan.settings
    own = settings.of(machineconfig.NAME)
    return {
        "apiVersion": API_VERSION,
        "kind": "MachineConfig",
        "metadata": metadata(
            f"50-performance-{plan.node_class.profile}",
            NODE_WAVE,
            labels=machineconfig.labels(own),
        ),
        "spec": {
            "config": _ignition_config(tuple(sorted(files(plan).items())), tuple(_units(plan))),
            "kernelArguments": kernel.arguments(settings.of(kernel.NAME)),
            **machineconfig.document(own)["spec"],
        },
    }


#: (mode, text) of a file; name, text and whether it is enabled of a unit.
_File: TypeAlias = tuple[int, str]
_Unit: TypeAlias = tuple[str, str, bool]


@lru_cache(maxsize=256)
def _ignition_config(
    files: tuple[tuple[str, _File], ...], units: tuple[_Unit, ...]
) -> dict[str, Any]:
    """Files and units of nodes: one value for all classes that have the same."""
    return {
        "ignition": {"version": IGNITION},
        "storage": {"files": [_ignition_file(*file) for file in files]},
        "systemd": {"units": [_ignition_unit(*unit) for unit in units]},
    }


def _ignition_unit(name: str, text: str, is_enabled: bool) -> dict[str, Any]:
    return {"name": name, **({"enabled": True} if is_enabled else {}), "contents": text}


def files(plan: ConfiguredPlan) -> dict[str, _File]:
    """(mode, text) of each file of a node, by absolute path."""
    made: dict[str, _File] = {}
    for _, texts in _by_component(plan):
        made |= texts
    return made


def _by_component(plan: ConfiguredPlan) -> Iterator[tuple[str, dict[str, _File]]]:
    settings = plan.settings
    yield crio.NAME, {CRIO_DROP_IN: (0o644, settings.text(crio.NAME, crio.render))}
    yield mixedcpus.NAME, mixedcpus.files(settings.of(mixedcpus.NAME))
    yield pinning.NAME, pinning.files(settings.of(pinning.NAME))
    yield rps.NAME, rps.files(settings.of(rps.NAME))
    yield ovsdpdk.NAME, ovsdpdk.files(settings.of(ovsdpdk.NAME))
    yield operator_units.NAME, operator_units.files(settings.of(operator_units.NAME))
    yield slices.NAME, _readable(slices.files(settings.of(slices.NAME)))
    yield partitions.NAME, _readable(partitions.files(settings.of(partitions.NAME)))


def _readable(texts: Mapping[str, str]) -> dict[str, _File]:
    return {path: (0o644, text) for path, text in texts.items()}


def _units(plan: ConfiguredPlan) -> Iterator[_Unit]:
    """Units in the order of their names; udev starts the template unit for network devices."""
    settings = plan.settings
    enabled = operator_units.units(settings.of(operator_units.NAME)) | ovsdpdk.units(
        settings.of(ovsdpdk.NAME)
    )
    started = rps.units(settings.of(rps.NAME))
    for name, text in sorted((enabled | started).items()):
        yield name, text, name in enabled


def on_node(plan: ConfiguredPlan) -> dict[str, NodeFile]:
    """Files and units of a node by absolute path; scripts that the operator writes are its own."""
    is_profile = plan.node_class.target.is_profile
    made = {
        path: NodeFile(text.encode(), mode, component)
        for component, texts in _by_component(plan)
        for path, (mode, text) in texts.items()
        if not (is_profile and path.startswith(f"{BIN}/"))
    }
    for name, text, _ in _units(plan):
        made[f"{UNIT_FOLDER}/{name}"] = NodeFile(text.encode(), component=operator_units.NAME)
    return made


def _ignition_file(path: str, content: _File) -> dict[str, Any]:
    mode, text = content
    source = "data:text/plain;charset=utf-8;base64," + b64encode(text.encode()).decode()
    return {
        "path": path,
        "mode": mode,
        "overwrite": True,
        "contents": {"source": Noted(source, text)},
    }


def runtime_class(plan: ConfiguredPlan) -> dict[str, Any]:
    """RuntimeClass: pods that name it get the high-performance hooks, on the pool's nodes only."""
    return runtimeclass.document(plan.settings.of(runtimeclass.NAME)) | {
        "metadata": metadata(f"performance-{plan.node_class.profile}", NODE_WAVE)
    }


def pinning_machine_config(pool: str) -> dict[str, Any]:
    """The defaults of workload partitioning for a pool, as the installer lays them down."""
    files = [_ignition_file(*file) for file in sorted(pinning.default_files().items())]
    return {
        "apiVersion": API_VERSION,
        "kind": "MachineConfig",
        "metadata": metadata(f"01-{pool}-cpu-partitioning", POOL_WAVE, labels={ROLE: pool}),
        "spec": {"config": {"ignition": {"version": IGNITION}, "storage": {"files": files}}},
    }


def _pool_labels(plan: ConfiguredPlan) -> dict[str, str]:
    """The labels by which TuneD finds the pool, without the mark of the MachineConfig."""
    labels = machineconfig.labels(plan.settings.of(machineconfig.NAME))
    return {key: value for key, value in labels.items() if key != OWNER}


def tuned_priority(plan: ConfiguredPlan) -> int:
    """The priority of the Tuned object; the operator gives all its objects the same."""
    labels = machineconfig.labels(plan.settings.of(machineconfig.NAME))
    return WORKER_TUNED_PRIORITY if OWNER in labels else TUNED_PRIORITY


def tuned_object(plan: ConfiguredPlan, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """Tuned: the profile, and the pool whose nodes get it from the node tuning operator.

    Options whose keys begin like one of `without` are left out.
    """
    name = tuned.of_operator(plan.node_class.profile)
    settings = plan.settings.of(tuned.NAME)
    profile = tuned.render([setting for setting in settings if not setting.key.startswith(without)])
    recommended = {
        "machineConfigLabels": _pool_labels(plan),
        "priority": tuned_priority(plan),
        "profile": name,
    }
    made = metadata(name, NODE_WAVE) | {"namespace": "openshift-cluster-node-tuning-operator"}
    return {
        "apiVersion": "tuned.openshift.io/v1",
        "kind": "Tuned",
        "metadata": made,
        "spec": {"profile": [{"name": name, "data": profile}], "recommend": [recommended]},
    }


PREDICTED_HEADER = (
    "What the node tuning operator will make of PerformanceProfile {name}. Its scripts "
    "and comments are left out."
)
#: What the operator says in other words: a summary, and boot arguments for TuneD to compute.
OWN_WORDS = ("main.summary", "bootloader.")

#: Before 4.16, the operator changes the whole cluster to cgroups v1.
_NODE = {
    "apiVersion": "config.openshift.io/v1",
    "kind": "Node",
    "metadata": {"name": "cluster"},
    "spec": {"cgroupMode": "v1"},
}


def predicted_manifests(plan: ConfiguredPlan) -> Iterator[Manifest]:
    """The operator's objects for a profile; none on hosted clusters, where they differ."""
    target, name = plan.node_class.target, plan.node_class.profile
    if target.is_hosted or not target.is_profile:
        return
    machine_config, arguments = _machine_configs(plan)
    made = {
        f"kubeletconfig-{name}": _kubelet_config(plan),
        f"machineconfig-50-performance-{name}": machine_config,
    }
    if plan.settings.of(runtimeclass.NAME):
        made[f"runtimeclass-{name}"] = _bare(runtime_class(plan))
    if kernel.is_tunable(plan):
        made[f"machineconfig-50-nto-{target.pool}"] = arguments
    if cluster_facts.sets_cgroups_v1(target):
        made["node-cluster"] = _NODE
    if plan.settings.of(tuned.NAME):
        made[f"tuned-{name}"] = _bare(tuned_object(plan, without=OWN_WORDS))
    comment = PREDICTED_HEADER.format(name=name)
    for file, data in sorted(made.items()):
        yield Manifest(f"{file}.yaml", data, comment)


def _bare(data: dict[str, Any]) -> dict[str, Any]:
    """An object without what only Argo CD reads."""
    own = {key: value for key, value in data["metadata"].items() if key != "annotations"}
    return {**data, "metadata": own}


def _kubelet_config(plan: ConfiguredPlan) -> dict[str, Any]:
    """The operator reads durations, and writes them in Go's form."""
    made = _bare(kubelet_config(plan))
    configuration = codec.normal_durations(made["spec"]["kubeletConfig"])
    return {**made, "spec": {**made["spec"], "kubeletConfig": configuration}}


def _machine_configs(plan: ConfiguredPlan) -> tuple[dict[str, Any], dict[str, Any]]:
    """The MachineConfig of files and units, and the operator's second one, of boot arguments."""
    made = _bare(machine_config(plan))
    spec, config = made["spec"], made["spec"]["config"]
    files = [file for file in config["storage"]["files"] if not file["path"].startswith(f"{BIN}/")]
    first = {**config, "storage": {"files": files}}
    second = {"ignition": config["ignition"]}
    name = f"50-nto-{plan.node_class.target.pool}"
    return (
        {**made, "spec": {"config": first, KERNEL_TYPE.key: spec[KERNEL_TYPE.key]}},
        {
            **made,
            "metadata": {**made["metadata"], "name": name},
            "spec": {"config": second, "kernelArguments": spec["kernelArguments"]},
        },
    )

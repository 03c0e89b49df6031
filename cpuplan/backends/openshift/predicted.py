"""What the node tuning operator will make of a PerformanceProfile: for reviews, never synced.

It is what mode `mco` writes for the same plan, except for three things that the operator does
differently: scripts, which have its text; boot arguments, which it writes to a MachineConfig once
TuneD has computed them on the nodes; and TuneD's section of them.
"""

from collections.abc import Iterator
from typing import Any

from cpuplan.backends.base import Manifest
from cpuplan.backends.openshift import objects
from cpuplan.components import kernel, runtimeclass
from cpuplan.components.openshift import tuned
from cpuplan.components.units import BIN
from cpuplan.fleet import cluster_facts
from cpuplan.plan import ConfiguredPlan
from cpuplan.upstream.kubelet.config import codec

HEADER = (
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


def manifests(plan: ConfiguredPlan) -> Iterator[Manifest]:
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
        made[f"runtimeclass-{name}"] = _bare(objects.runtime_class(plan))
    if kernel.is_tunable(plan):
        made[f"machineconfig-50-nto-{target.pool}"] = arguments
    if cluster_facts.sets_cgroups_v1(target):
        made["node-cluster"] = _NODE
    if plan.settings.of(tuned.NAME):
        made[f"tuned-{name}"] = _bare(objects.tuned_object(plan, without=OWN_WORDS))
    comment = HEADER.format(name=name)
    for file, data in sorted(made.items()):
        yield Manifest(f"{file}.yaml", data, comment)


def _bare(data: dict[str, Any]) -> dict[str, Any]:
    """An object without what only Argo CD reads."""
    own = {key: value for key, value in data["metadata"].items() if key != "annotations"}
    return {**data, "metadata": own}


def _kubelet_config(plan: ConfiguredPlan) -> dict[str, Any]:
    """The operator reads durations, and writes them in Go's form."""
    made = _bare(objects.kubelet_config(plan))
    configuration = codec.normal_durations(made["spec"]["kubeletConfig"])
    return {**made, "spec": {**made["spec"], "kubeletConfig": configuration}}


def _machine_configs(plan: ConfiguredPlan) -> tuple[dict[str, Any], dict[str, Any]]:
    """The MachineConfig of files and units, and the operator's second one, of boot arguments."""
    made = _bare(objects.machine_config(plan))
    spec, config = made["spec"], made["spec"]["config"]
    files = [file for file in config["storage"]["files"] if not file["path"].startswith(f"{BIN}/")]
    first = {**config, "storage": {"files": files}}
    second = {"ignition": config["ignition"]}
    name = f"50-nto-{plan.node_class.target.pool}"
    return (
        {**made, "spec": {"config": first, "kernelType": spec["kernelType"]}},
        {
            **made,
            "metadata": {**made["metadata"], "name": name},
            "spec": {"config": second, "kernelArguments": spec["kernelArguments"]},
        },
    )

"""A planned node and its pods as Koordinator finds them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from cpuplan.components.koordinator import colocation, node, scheduler
from cpuplan.facts.settings.kubelet import (
    CPU_MANAGER_OPTIONS,
    CPU_MANAGER_POLICY,
    KUBE_RESERVED,
    RESERVED_CPUS,
    SYSTEM_RESERVED,
    TOPOLOGY_MANAGER_POLICY,
    TOPOLOGY_MANAGER_SCOPE,
)
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.setting import Value, plain
from cpuplan.upstream.koordinator.extension.constants import AMPLIFICATION_RATIO, QOS
from cpuplan.upstream.koordinator.extension.node import ratios_json
from cpuplan.upstream.koordinator.extension.numa_aware import CpuInfo
from cpuplan.upstream.koordinator.extension.qos import PRIORITIES
from cpuplan.upstream.koordinator.koordlet import states_noderesourcetopology as koordlet
from cpuplan.upstream.kubelet.machine import Machine
from cpuplan.upstream.kubernetes.json import dump
from cpuplan.upstream.kubernetes.pod import CPU, Pod

#: The label of namespaces that every cluster sets.
_NAMESPACE = "kubernetes.io/metadata.name"
_NOTHING: Mapping[str, str] = MappingProxyType({})


class Inputs(NamedTuple):
    """Labels and annotations of the node, the plugin's arguments, and profiles of pods.

    Without any, they are those of a cluster in which nothing was configured.
    """

    labels: Mapping[str, str] = _NOTHING
    annotations: Mapping[str, str] = _NOTHING
    arguments: Mapping[str, Any] = MappingProxyType({})
    profiles: tuple[Mapping[str, Any], ...] = ()
    ratios: Mapping[str, float] = MappingProxyType({})

    @property
    def node_annotations(self) -> Mapping[str, str]:
        """With the ratios, as koord-manager writes them."""
        if not self.ratios:
            return self.annotations
        return {**self.annotations, AMPLIFICATION_RATIO: dump(ratios_json(dict(self.ratios)))}


def inputs(plan: ConfiguredPlan) -> Inputs:
    """What the plan gives to Koordinator.

    The settings are made here: beside other mechanisms, plans of every platform are asked, also of
    those whose backend writes none for Koordinator.
    """
    metadata = node.metadata(tuple(node.settings(plan)))
    ratio = plan.spec.koordinator.cpu_amplification_ratio
    return Inputs(
        metadata.get("labels", {}),
        metadata.get("annotations", {}),
        scheduler.arguments(tuple(scheduler.settings(plan))),
        tuple(_spec(setting.value) for setting in colocation.settings(plan)),
        {CPU: float(ratio)} if ratio else {},
    )


def _spec(value: Value) -> Mapping[str, Any]:
    spec: Mapping[str, Any] = plain(value)
    return spec


def machine_of(machine: Machine) -> koordlet.Machine:
    """The machine as koordlet finds it with lscpu, which counts cores in the order of their CPUs.

    CPUs without NUMA node are on node 0.
    """
    cores = sorted(
        (min(core.threads), core.threads, core.socket, place.id)
        for place in machine.nodes
        for core in place.cores
    )
    cpus = [
        CpuInfo(cpu, number, socket, numa_node)
        for number, (_, threads, socket, numa_node) in enumerate(cores)
        for cpu in threads
    ]
    return koordlet.Machine(tuple(sorted(cpus)), machine.memory)


def kubelet_of(config: Mapping[str, Any]) -> koordlet.Kubelet:
    """What a running kubelet says of its configuration."""
    return koordlet.Kubelet(
        config[CPU_MANAGER_POLICY.key],
        config.get(CPU_MANAGER_OPTIONS.head) or {},
        config.get(RESERVED_CPUS.key) or "",
        config.get(SYSTEM_RESERVED.head) or {},
        config.get(KUBE_RESERVED.head) or {},
        config[TOPOLOGY_MANAGER_POLICY.key],
        config[TOPOLOGY_MANAGER_SCOPE.key],
    )


def as_created(pod: Pod, profiles: tuple[Mapping[str, Any], ...]) -> Pod:
    """The pod with what ClusterColocationProfiles give to it, and the priority of its class.

    Of the labels of namespaces only their name is known.
    """
    for profile in profiles:
        if _matches(profile, "selector", pod.labels) and _matches(
            profile, "namespaceSelector", {_NAMESPACE: pod.namespace}
        ):
            pod = pod._replace(
                labels={**pod.labels, QOS: profile["qosClass"]},
                annotations={**pod.annotations, **profile.get("annotations", {})},
                priority_class=profile["priorityClassName"],
                priority=0,
            )
    if not pod.priority and pod.priority_class in PRIORITIES:
        return pod._replace(priority=PRIORITIES[pod.priority_class][2])
    return pod


def _matches(profile: Mapping[str, Any], selector: str, labels: Mapping[str, str]) -> bool:
    wanted = profile.get(selector, {}).get("matchLabels", {})
    return all(labels.get(key) == value for key, value in wanted.items())

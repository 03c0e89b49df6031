"""PerformanceProfiles as Intents: each field of the profile as a field of an Intent, with its line.

The operator's defaults are written out where cpuplan's differ, so that the Intent gives the same
outputs.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from cpuplan import API_VERSION
from cpuplan.base.cpuset import CpuSet, CpuSetError
from cpuplan.components.openshift.profile_annotations import PREFIX
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Field, Source
from cpuplan.fleet.cluster import Cluster
from cpuplan.language.model.roles import NODE_ROLE
from cpuplan.platforms import OPENSHIFT
from cpuplan.platforms.versions import operator_has
from cpuplan.profiles import kubelet
from cpuplan.profiles.draft import IntentDraft
from cpuplan.profiles.model import PerformanceProfileSpec

ROLE = "machineconfiguration.openshift.io/role"
_CGROUPS = "ignore-cgroups-version"
_OVS_BALANCING = "cpu-load-balancing-ovs-dpdk"
#: What the operator accepts as yes: Go's ParseBool, or its own list. It silently treats all other
#: values as no.
_TRUE, _FALSE = ("1", "t", "T", "true", "TRUE", "True"), ("0", "f", "F", "false", "FALSE", "False")
_SWITCHES: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "enable-physical-dev-rps": (("true",), ("false",), ("net", "physicalDeviceRps")),
    "dra-resource-management": (_TRUE, _FALSE, ("kubelet", "dynamicResourceAllocation")),
    "pause-reconcile": (("true",), ("false",), ("paused",)),
}
#: A word of the kernel command line; quotes keep blanks (kernel: lib/cmdline.c, next_arg).
_WORD = re.compile(r'(?:[^\s"]|"[^"]*"?)+')


class Translation(NamedTuple):
    """An Intent's data, and the field of the profile that each of its fields comes from."""

    data: dict[str, Any]
    places: dict[Field, Field]
    diagnostics: list[Diagnostic]

    def source(self, profile: Source) -> Source:
        """The Intent as a document whose values have their places in the profile."""
        return profile.retold(self.data, self.places)


def intent(
    name: str, spec: PerformanceProfileSpec, source: Source, cluster: Cluster
) -> Translation:
    """The Intent of the profile `name`, with the operator's values for missing fields."""
    draft = IntentDraft(source)
    _nodes(draft, spec, cluster)
    _cpus(draft, spec)
    _huge_pages(draft, spec)
    _kernel(draft, spec)
    _hints(draft, spec)
    _network(draft, spec)
    _steering(draft, spec, cluster.version)
    _annotations(draft)
    kubelet.add(draft, spec)
    data = {
        "apiVersion": API_VERSION,
        "kind": "Intent",
        "metadata": {"name": name},
        "spec": draft.spec,
    }
    draft.places["metadata", "name"] = ("metadata", "name")
    return Translation(data, draft.places, draft.diagnostics)


def _nodes(draft: IntentDraft, spec: PerformanceProfileSpec, cluster: Cluster) -> None:
    """The selector and the target. The operator derives the pool's role from the selector."""
    nodes, named = spec.node_selector, role(spec.node_selector)
    label = spec.machine_config_label or {}
    if not label and named and cluster.pool not in ("", named):
        label = {ROLE: named}
    pool = spec.machine_config_pool_selector or cluster.pool_labels
    target = {
        "platform": "openshift",
        "version": cluster.version,
        "featureSet": cluster.feature_set if cluster.feature_set != "Default" else "",
        "ociRuntime": cluster.oci_runtime,
        "pool": cluster.pool or named or label.get(ROLE),
        "nodeSelector": dict(nodes),
        "machineConfigLabel": dict(label),
        "machineConfigPoolSelector": dict(pool),
    }
    draft.put("selector.matchLabels", dict(nodes), "nodeSelector")
    draft.put("targets", [{key: value for key, value in target.items() if value}], "nodeSelector")
    draft.places["spec", "targets", 0, "machineConfigLabel"] = ("spec", "machineConfigLabel")
    draft.places["spec", "targets", 0, "machineConfigPoolSelector"] = (
        "spec",
        "machineConfigPoolSelector",
    )
    if draft.annotations.get(PREFIX + _CGROUPS) == "true":
        draft.spec["targets"][0]["ignoreCgroupsVersion"] = True
    if cluster.hosted:
        draft.spec["targets"][0]["controlPlaneTopology"] = "External"
        draft.spec["targets"][0]["mode"] = "performanceProfile"
    elif cluster.partitioned:
        topology: dict[str, Any] = {"cpuPartitioning": True}
        # The operator does not distinguish other topologies.
        if cluster.control_plane_topology in ("HighlyAvailableArbiter", "SingleReplica"):
            topology["controlPlaneTopology"] = cluster.control_plane_topology
        further = sorted(set(cluster.pools) - {"master", "worker", target["pool"]})
        if further:
            topology["pinnedPools"] = further
        draft.spec["targets"][0].update(topology)


def role(nodes: Mapping[str, str]) -> str | None:
    """The name of the pool that a node selector selects."""
    keys = sorted(
        (key for key in nodes if "/" in key), key=lambda key: (not key.startswith(NODE_ROLE), key)
    )
    return keys[0].partition("/")[2] if keys else None


def _cpus(draft: IntentDraft, spec: PerformanceProfileSpec) -> None:
    """Pools and isolation. Empty lists stay: the operator uses no CPUs outside the lists."""
    cpu = spec.cpu
    for name in ("reserved", "shared", "isolated", "offlined"):
        cpus: CpuSet | None = getattr(cpu, name)
        if cpus or name in ("reserved", "isolated"):
            draft.put(
                f"pools.{name}", {"cpus": str(cpus or ""), "wholeCores": False}, f"cpu.{name}"
            )
    if cpu.ovs_dpdk:
        draft.put("pools.isolcpus", {"cpus": str(cpu.ovs_dpdk), "wholeCores": False}, "cpu.ovsDpdk")
        draft.put("openVSwitch.dpdk", True, "cpu.ovsDpdk")
        if draft.annotations.get(PREFIX + _OVS_BALANCING) == "disable":
            draft.annotate(("openVSwitch", "loadBalancing"), False, PREFIX + _OVS_BALANCING)
    draft.put("isolation.domain", cpu.balance_isolated is False, "cpu.balanceIsolated")
    if spec.globally_disable_irq_load_balancing:
        draft.put(
            "isolation.globallyDisableIrqLoadBalancing", True, "globallyDisableIrqLoadBalancing"
        )


def _huge_pages(draft: IntentDraft, spec: PerformanceProfileSpec) -> None:
    huge = spec.hugepages
    if huge is None:
        return
    draft.put(
        "hugePages.defaultSize",
        huge.default_hugepages_size or None,
        "hugepages.defaultHugepagesSize",
    )
    if not huge.pages:
        return
    pages = [
        {"size": page.size, "count": page.count}
        | ({} if page.node is None else {"numaNode": page.node})
        for page in huge.pages
    ]
    draft.put("hugePages.pages", pages, "hugepages.pages")
    for index in range(len(pages)):
        origin = ("spec", "hugepages", "pages", index)
        draft.places["spec", "hugePages", "pages", index] = origin
        for ours, theirs in (("size", "size"), ("count", "count"), ("numaNode", "node")):
            draft.places["spec", "hugePages", "pages", index, ours] = (*origin, theirs)


def _kernel(draft: IntentDraft, spec: PerformanceProfileSpec) -> None:
    if spec.real_time_kernel:
        draft.put("kernel.realTime", spec.real_time_kernel.enabled, "realTimeKernel.enabled")
    draft.put("kernel.pageSize", spec.kernel_page_size or None, "kernelPageSize")
    words: list[str] = []
    for index, text in enumerate(spec.additional_kernel_args or ()):
        for word in _WORD.findall(text):
            if _is_reserved(spec, word):
                draft.put("isolation.irqAffinity", True, f"additionalKernelArgs.{index}")
                continue
            draft.places["spec", "kernel", "extraArguments", len(words)] = (
                "spec",
                "additionalKernelArgs",
                index,
            )
            words.append(word)
    draft.put("kernel.extraArguments", words or None, "additionalKernelArgs")


def _is_reserved(spec: PerformanceProfileSpec, word: str) -> bool:
    """Whether an argument sends interrupts to the reserved CPUs, unless DPDK uses others."""
    name, _, value = word.partition("=")
    if name != "irqaffinity" or spec.cpu.ovs_dpdk:
        return False
    try:
        return CpuSet.parse_kernel(value) == spec.cpu.reserved
    except CpuSetError:
        return False


def _hints(draft: IntentDraft, spec: PerformanceProfileSpec) -> None:
    hints = spec.workload_hints
    # An Intent mixes CPUs if there is a shared pool; the operator only with this hint.
    draft.put("runtime.mixedCpus", bool(hints and hints.mixed_cpus), "workloadHints.mixedCpus")
    if hints is None:
        return
    for name, value in (
        ("realTime", hints.real_time),
        ("highPowerConsumption", hints.high_power_consumption),
        ("perPodPowerManagement", hints.per_pod_power_management),
    ):
        draft.put(f"workloadHints.{name}", value, f"workloadHints.{name}")


def _network(draft: IntentDraft, spec: PerformanceProfileSpec) -> None:
    net, tuning = spec.net, spec.hardware_tuning
    if net and net.user_level_networking:
        draft.put("net.userLevelNetworking", True, "net.userLevelNetworking")
        devices = [
            device.model_dump(by_alias=True, exclude_none=True) for device in net.devices or ()
        ]
        draft.put("net.devices", devices or None, "net.devices")
    if tuning and tuning.isolated_cpu_freq and tuning.reserved_cpu_freq:
        draft.put(
            "hardwareTuning.isolatedCpuFreq",
            tuning.isolated_cpu_freq,
            "hardwareTuning.isolatedCpuFreq",
        )
        draft.put(
            "hardwareTuning.reservedCpuFreq",
            tuning.reserved_cpu_freq,
            "hardwareTuning.reservedCpuFreq",
        )


def _steering(draft: IntentDraft, spec: PerformanceProfileSpec, release: str) -> None:
    """Receive packet steering as the operator of the release decides on it."""
    is_new = operator_has(release, "rps.enable_is_yes") or release not in OPENSHIFT.releases
    yes, no = (("true", "enable"), ("false", "disable")) if is_new else (("true",), ("false",))
    name = PREFIX + "enable-rps"
    asked = _is_yes(draft, name, yes, no)
    by_default = operator_has(release, "rps.for_real_time") and is_real_time(spec)
    refused = operator_has(release, "rps.false_is_no") and draft.annotations.get(name) == "false"
    path = ("net", "receivePacketSteering")
    if name in draft.annotations and (asked or by_default):
        draft.annotate(path, asked or not refused, name)
    elif by_default:
        draft.put(".".join(path), True, "workloadHints.realTime")


def is_real_time(spec: PerformanceProfileSpec) -> bool:
    """Whether the operator takes the workloads for real-time ones: unless the hint says no."""
    return spec.workload_hints is None or spec.workload_hints.real_time is not False


def _annotations(draft: IntentDraft) -> None:
    """The operator's switches. Other annotations belong to whoever put them there."""
    for name, (yes, no, path) in _SWITCHES.items():
        if _is_yes(draft, PREFIX + name, yes, no):
            draft.annotate(path, True, PREFIX + name)
    if draft.annotations.get(PREFIX + "exec-cpu-affinity") == "disable":
        draft.annotate(("runtime", "execCpuAffinity"), "none", PREFIX + "exec-cpu-affinity")


def _is_yes(draft: IntentDraft, annotation: str, yes: tuple[str, ...], no: tuple[str, ...]) -> bool:
    value = draft.annotations.get(annotation)
    if value is not None and value not in (*yes, *no):
        place = draft.source.value_at(("metadata", "annotations", annotation))
        field, expected = f"metadata.annotations.{annotation}", '"true" or "false"'
        draft.diagnostics.append(
            diagnose("CP273", place, field=field, value=value or "empty", expected=expected)
        )
    return value in yes

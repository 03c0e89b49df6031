"""The PerformanceProfile with its annotations, which is written in mode `performanceProfile` alone.

Keys are paths below `spec`, or `annotations.` and the name of an annotation, for what the operator
has no field of its spec for. `profiles.reader` reads the same fields as an Intent.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.base import yaml_values
from cpuplan.base.cpuset import CpuSet
from cpuplan.base.emit import to_json, to_yaml
from cpuplan.base.text import quantity_text
from cpuplan.components import chosen, cmdline, isolation, kubelet, memory, mixedcpus
from cpuplan.components.chosen import DEFAULT, is_written, of_mode, stated, stated_or
from cpuplan.components.emission import emit
from cpuplan.components.openshift import machineconfig, ovsdpdk, pool
from cpuplan.diagnostics import Reason
from cpuplan.facts import versions
from cpuplan.facts.settings import openshift as rows
from cpuplan.facts.settings.kernel import IRQAFFINITY
from cpuplan.facts.settings.kubelet import (
    CPU_MANAGER_POLICY,
    RECONCILE_PERIOD,
    RESERVED_CPUS,
    RESERVED_MEMORY,
    TOPOLOGY_MANAGER_POLICY,
)
from cpuplan.language.model.tuning import Kubelet
from cpuplan.language.model.vocabulary import ALIGNING
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting, Value, from_plain, plain

#: Prefix of the operator's annotations.
PREFIX = "performance.openshift.io/"
#: The annotation with a KubeletConfiguration as JSON.
SNIPPET = "kubeletconfig.experimental"
#: Fields of the kubelet that the operator sets, even if the snippet has them; with DRA drivers,
#: only the policies.
_POLICIES = (CPU_MANAGER_POLICY.key, TOPOLOGY_MANAGER_POLICY.key)
_OPERATORS = (*_POLICIES, RECONCILE_PERIOD.key, RESERVED_CPUS.key)


#: The annotations that the operator reads, and that are fields of an intent.
OWN_ANNOTATIONS = (
    SNIPPET,
    *(
        PREFIX + name
        for name in (
            "cpu-load-balancing-ovs-dpdk",
            "dra-resource-management",
            "enable-physical-dev-rps",
            "enable-rps",
            "exec-cpu-affinity",
            "ignore-cgroups-version",
            "pause-reconcile",
        )
    ),
)


class Annotation(NamedTuple):
    """One annotation; the value of the snippet is its fields."""

    name: str
    value: Value
    reasons: tuple[Reason, ...]


def annotations(plan: NodePlan) -> Iterator[Annotation]:
    """The annotations that the plan needs, in the order in which they are written."""
    for name, text in plan.node_class.target.profile.annotations.items():
        yield Annotation(name, text, (_kept(plan, "annotations"),))
    yield from _switches(plan)
    yield from _without_steering(plan)
    if chosen.exec_affinity(plan) == "none":
        reason = stated(plan, "exec probes run on all CPUs", "runtime.execCpuAffinity")
        yield Annotation(f"{PREFIX}exec-cpu-affinity", "disable", (reason,))
    node_class = plan.node_class
    if node_class.target.ignore_cgroups_version:
        field = node_class.target_field("ignoreCgroupsVersion")
        reason = node_class.reason("the cluster keeps its version of cgroups", field)
        yield Annotation(f"{PREFIX}ignore-cgroups-version", "true", (reason,))
    if ovsdpdk.cpus(plan) and not plan.spec.open_v_switch.load_balancing:
        text = "the scheduler does not move the threads"
        reason = stated(plan, text, "openVSwitch.loadBalancing")
        yield Annotation(f"{PREFIX}cpu-load-balancing-ovs-dpdk", "disable", (reason,))
    yield from _snippet(plan)


def _kept(plan: NodePlan, name: str) -> Reason:
    field = plan.node_class.target_field(f"profile.{name}")
    return plan.node_class.reason("the profile has it, whoever reads it", field)


def _switches(plan: NodePlan) -> Iterator[Annotation]:
    """What is on because the intent says so."""
    net, drivers = plan.spec.net, plan.spec.kubelet.dynamic_resource_allocation
    rows = (
        ("enable-rps", net.receive_packet_steering, "net.receivePacketSteering"),
        ("enable-physical-dev-rps", net.physical_device_rps, "net.physicalDeviceRps"),
        ("dra-resource-management", drivers, "kubelet.dynamicResourceAllocation"),
    )
    for name, is_on, field in rows:
        if is_on:
            yield Annotation(PREFIX + name, "true", (stated(plan, "asked for", field),))


def _without_steering(plan: NodePlan) -> Iterator[Annotation]:
    """Receive packet steering is switched off where a release has it on for real-time nodes."""
    node_class = plan.node_class
    is_default = versions.ships(node_class.target, "rps.for_real_time")
    if is_default and not plan.spec.net.receive_packet_steering:
        text = f"the node tuning operator of {node_class.target.version} steers packets by default"
        by_release = node_class.reason(text, node_class.target_field("version"))
        reason = stated_or(
            plan, "received packets are not steered", "net.receivePacketSteering", by_release
        )
        yield Annotation(f"{PREFIX}enable-rps", "false", (reason,))


def _snippet(plan: NodePlan) -> Iterator[Annotation]:
    """The kubelet's settings for which the operator would set another value."""
    settings = list(kubelet.settings(plan))
    fields = kubelet.configuration(settings)
    by_operator = _by_operator(plan)
    drivers = plan.spec.kubelet.dynamic_resource_allocation
    ignored = _POLICIES if drivers else _OPERATORS
    different: dict[str, Value] = {
        name: value
        for name, value in fields.items()
        if by_operator.get(name) != value and name not in ignored
    }
    if different:
        needed = of_mode(plan, "the operator would set other values")
        yield Annotation(SNIPPET, different, (needed, *_statements(settings, different)))


def _statements(settings: list[Setting], fields: Mapping[str, Value]) -> tuple[Reason, ...]:
    """The statements behind the fields, each once; defaults are explained with their settings."""
    reasons: dict[Reason, None] = {}
    for setting in settings:
        if setting.key.partition(".")[0] in fields:
            reasons |= dict.fromkeys(setting.reasons)
    return tuple(reason for reason in reasons if reason.origin != DEFAULT)


def _by_operator(plan: NodePlan) -> dict[str, Any]:
    """The fields that the operator sets for the same profile without the annotation."""
    spec = plan.spec.kubelet
    known = Kubelet(
        topology_manager_policy=spec.topology_manager_policy,
        dynamic_resource_allocation=spec.dynamic_resource_allocation,
    )
    same = plan.with_spec(plan.spec.model_copy(update={"kubelet": known}))
    fields = kubelet.configuration(list(kubelet.settings(same)))
    # The operator reserves memory on NUMA node 0 only, where it reserves any.
    if chosen.topology_policy(plan) in ALIGNING:
        reservation = {"memory": quantity_text(memory.reservation(plan))}
        fields[RESERVED_MEMORY.key] = [{"numaNode": 0, "limits": reservation}]
    return fields


NAME = rows.PROFILE
API_VERSION = "performance.openshift.io/v2"
KIND = "PerformanceProfile"
_ANNOTATIONS, _METADATA_LABELS = "annotations", "labels"
#: Fields of `spec` whose keys are settings; other maps are labels.
_SECTIONS = (
    "cpu",
    "hardwareTuning",
    "hugepages",
    "realTimeKernel",
    "numa",
    "net",
    "workloadHints",
)
_POOLS = ("reserved", "isolated", "shared", "offlined")
_CPU_SETS = (*_POOLS, "ovsDpdk")
_AFFINITY = IRQAFFINITY.key
_DEFAULT = "the operator's default, which cpuplan states"


def settings(plan: NodePlan) -> Iterator[Setting]:
    """The fields in the order of the CRD, then the annotations; none in mode `mco`."""
    if not plan.node_class.target.is_profile:
        return
    yield from _cpus(plan)
    yield from _frequencies(plan)
    yield from _huge_pages(plan)
    yield from _kernel(plan)
    yield from _topology_policy(plan)
    yield from _net(plan)
    if plan.spec.isolation.globally_disable_irq_load_balancing:
        text = "irqbalance never uses the isolated CPUs"
        field = "isolation.globallyDisableIrqLoadBalancing"
        yield from _stated(plan, "globallyDisableIrqLoadBalancing", True, text, field)
    yield from _hints(plan)
    yield from _labels(plan)
    for name, text in plan.node_class.target.profile.labels.items():
        yield from _field(plan, f"{_METADATA_LABELS}.{name}", text, (_kept(plan, "labels"),))
    for annotation in annotations(plan):
        key = f"{_ANNOTATIONS}.{annotation.name}"
        yield from _field(plan, key, annotation.value, annotation.reasons)


def _stated(plan: NodePlan, key: str, value: Value, text: str, field: str) -> Iterator[Setting]:
    """A setting of the field of the intent that states it."""
    yield from _field(plan, key, value, (stated(plan, text, field),))


def _field(
    plan: NodePlan, key: str, value: Value, because: tuple[Reason, ...]
) -> Iterator[Setting]:
    yield from emit(plan, rows.PROFILE_FIELD, value, because, field=key)


def _cpus(plan: NodePlan) -> Iterator[Setting]:
    for name in _POOLS:
        members = plan.pool(name)
        if members.cpus:
            cpus = chosen.as_listed(plan, name, members.cpus)
            yield from _field(plan, f"cpu.{name}", cpus, members.because)
    dpdk = ovsdpdk.cpus(plan)
    if dpdk:
        because = (*plan.pool("isolcpus").because, ovsdpdk.reason(plan))
        listed = chosen.as_listed(plan, "ovs_dpdk", dpdk)
        yield from _field(plan, "cpu.ovsDpdk", listed, because)
    if plan.spec.isolation.domain:
        yield from _stated(
            plan, "cpu.balanceIsolated", False, "no load balancing", "isolation.domain"
        )


def _frequencies(plan: NodePlan) -> Iterator[Setting]:
    tuning = plan.spec.hardware_tuning
    if tuning is None:
        return
    for name, frequency in tuning.model_dump(by_alias=True).items():
        key = f"hardwareTuning.{name}"
        yield from _stated(plan, key, frequency, f"at most {frequency} kHz", key)


def _huge_pages(plan: NodePlan) -> Iterator[Setting]:
    """The default size is that of the first entry, unless the intent gives one."""
    spec = plan.spec.huge_pages
    default = spec.default_size or (spec.pages[0].size if spec.pages else None)
    if default is None:
        return
    field = "hugePages.defaultSize" if spec.default_size else "hugePages.pages.0"
    reason = stated(plan, f"huge pages are {default} by default", field)
    pages: list[Value] = []
    reasons = []
    for index, entry in enumerate(spec.pages):
        page: dict[str, Value] = {"size": entry.size, "count": entry.count}
        if entry.numa_node is not None:
            page["node"] = entry.numa_node
        pages.append(page)
        text = f"{entry.count} pages of {entry.size}"
        reasons.append(stated(plan, text, f"hugePages.pages.{index}"))
    yield from _field(plan, "hugepages.defaultHugepagesSize", default, (reason,))
    yield from _field(plan, "hugepages.pages", tuple(pages), tuple(reasons) or (reason,))


def _kernel(plan: NodePlan) -> Iterator[Setting]:
    """The kernel and its further arguments; releases without page sizes have 4k only."""
    kernel_type, because = machineconfig.kernel_type(plan)
    if kernel_type == machineconfig.REAL_TIME:
        yield from _field(plan, "realTimeKernel.enabled", True, because)
    size = plan.spec.kernel.page_size
    if size and versions.ships(plan.node_class.target, "profile.kernel_page_size"):
        yield from _stated(plan, "kernelPageSize", size, f"pages have {size}", "kernel.pageSize")
    yield from _arguments(plan)


def _arguments(plan: NodePlan) -> Iterator[Setting]:
    """The arguments of the intent, and `irqaffinity=`, for which a profile has no other field."""
    words = list(plan.spec.kernel.extra_arguments)
    reasons = [
        stated(plan, "asked for", f"kernel.extraArguments.{index}") for index in range(len(words))
    ]
    pool = isolation.interrupts(plan)
    reason = isolation.why_interrupts(plan, IRQAFFINITY.default)
    # With DPDK, the operator sets it.
    is_wanted = reason is not None and not ovsdpdk.cpus(plan)
    if reason and is_wanted and _AFFINITY not in cmdline.keyed(" ".join(words)):
        words.append(f"{_AFFINITY}={pool.cpus}")
        reasons += [*pool.because, reason]
    if words:
        yield from _field(plan, "additionalKernelArgs", tuple(words), tuple(reasons))


def _topology_policy(plan: NodePlan) -> Iterator[Setting]:
    text, field = "how resources are aligned", TOPOLOGY_MANAGER_POLICY.field
    reason = stated_or(plan, text, field, of_mode(plan, _DEFAULT))
    yield from _field(plan, "numa.topologyPolicy", chosen.topology_policy(plan), (reason,))


def _net(plan: NodePlan) -> Iterator[Setting]:
    net = plan.spec.net
    if not net.user_level_networking:
        return
    text, field = "one queue for each reserved CPU", "net.userLevelNetworking"
    yield from _stated(plan, "net.userLevelNetworking", True, text, field)
    if net.devices:
        devices = tuple(
            device.model_dump(by_alias=True, exclude_none=True) for device in net.devices
        )
        yield from _stated(plan, "net.devices", devices, "these devices", "net.devices")


def _hints(plan: NodePlan) -> Iterator[Setting]:
    """All of them, true or false."""
    hints = plan.spec.workload_hints
    hinted: tuple[tuple[str, bool], ...] = (
        ("realTime", chosen.real_time(plan)),
        ("highPowerConsumption", hints.high_power_consumption),
        ("perPodPowerManagement", hints.per_pod_power_management),
    )
    default = of_mode(plan, _DEFAULT)
    for name, value in hinted:
        key = f"workloadHints.{name}"
        yield from _field(plan, key, value, (stated_or(plan, "asked for", key, default),))
    are_shared = mixedcpus.are_wanted(plan)
    because = plan.pool("shared").because if are_shared else (default,)
    if is_written(plan, "runtime.mixedCpus"):
        because = (*because, stated(plan, "asked for", "runtime.mixedCpus"))
    yield from _field(plan, "workloadHints.mixedCpus", are_shared, because)


def _labels(plan: NodePlan) -> Iterator[Setting]:
    """The labels of the pool; of several, the operator finds those of the pool by itself."""
    node_class, target = plan.node_class, plan.node_class.target
    if target.machine_config_label:
        field = node_class.target_field("machineConfigLabel")
        reason = node_class.reason("the pool takes MachineConfigs with this label", field)
        yield from _field(plan, "machineConfigLabel", {**target.machine_config_label}, (reason,))
    if len(target.machine_config_pool_selector) == 1:
        field = node_class.target_field("machineConfigPoolSelector")
        reason = node_class.reason("a KubeletConfig finds the pool by it", field)
        labels: Value = {**target.machine_config_pool_selector}
        yield from _field(plan, "machineConfigPoolSelector", labels, (reason,))
    selector, because = pool.node_selector(plan)
    yield from _field(plan, pool.NODE_SELECTOR, selector, because)


def document(settings: Sequence[Setting]) -> dict[str, Any]:
    """The object without a name."""
    annotations: dict[str, Any] = {}
    labels: dict[str, Any] = {}
    spec: dict[str, Any] = {}
    for setting in settings:
        section, _, name = setting.key.partition(".")
        if section == _ANNOTATIONS:
            annotations[name] = _annotation(setting.value)
        elif section == _METADATA_LABELS:
            labels[name] = setting.value
        elif name:
            spec.setdefault(section, {})[name] = plain(setting.value)
        else:
            spec[section] = plain(setting.value)
    texts = {_METADATA_LABELS: labels, _ANNOTATIONS: annotations}
    metadata = {key: value for key, value in texts.items() if value}
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": spec}


def _annotation(value: Value) -> str:
    """The text of an annotation, whose values are text."""
    return value if isinstance(value, str) else to_json(plain(value)).strip()


def render(settings: Sequence[Setting]) -> str:
    """The object's YAML, without a name."""
    return to_yaml(document(settings))


def parse(text: str) -> dict[str, Value]:
    """The same fields of an object's YAML."""
    data = next(yaml_values.load_yaml11(text))
    values: dict[str, Value] = {}
    for section, value in data["spec"].items():
        if section not in _SECTIONS:
            values[section] = from_plain(value)
            continue
        for name, item in value.items():
            is_cpus = section == "cpu" and name in _CPU_SETS
            values[f"{section}.{name}"] = CpuSet.parse(item) if is_cpus else from_plain(item)
    for name, item in data["metadata"].get("labels", {}).items():
        values[f"{_METADATA_LABELS}.{name}"] = item
    for name, item in data["metadata"].get("annotations", {}).items():
        values[f"{_ANNOTATIONS}.{name}"] = from_plain(json.loads(item)) if name == SNIPPET else item
    return values

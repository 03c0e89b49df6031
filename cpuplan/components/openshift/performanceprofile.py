"""The PerformanceProfile, which is written in mode `performanceProfile` alone.

Keys are paths below `spec`, or `annotations.` and the name of an annotation. `profiles.reader`
reads the same fields as an Intent.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from cpuplan.base import yaml_values
from cpuplan.base.cpuset import CpuSet
from cpuplan.base.emit import to_json, to_yaml
from cpuplan.components import chosen, cmdline, isolation, mixedcpus
from cpuplan.components.emission import emit
from cpuplan.components.openshift import machineconfig, ovsdpdk, pool, profile_annotations
from cpuplan.components.openshift.profile_annotations import SNIPPET
from cpuplan.components.reasons import is_written, of_mode, stated, stated_or
from cpuplan.diagnostics import Reason
from cpuplan.facts import versions
from cpuplan.facts.settings import openshift as rows
from cpuplan.facts.settings.kernel import IRQAFFINITY
from cpuplan.facts.settings.kubelet import TOPOLOGY_MANAGER_POLICY
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting, Value, from_plain, plain

NAME = rows.PROFILE
API_VERSION = "performance.openshift.io/v2"
KIND = "PerformanceProfile"
_ANNOTATIONS = "annotations"
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
    for annotation in profile_annotations.annotations(plan):
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
            yield from _field(plan, f"cpu.{name}", members.cpus, members.because)
    dpdk = ovsdpdk.cpus(plan)
    if dpdk:
        because = (*plan.pool("isolcpus").because, ovsdpdk.reason(plan))
        yield from _field(plan, "cpu.ovsDpdk", dpdk, because)
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
    spec: dict[str, Any] = {}
    for setting in settings:
        section, _, name = setting.key.partition(".")
        if section == _ANNOTATIONS:
            annotations[name] = _annotation(setting.value)
        elif name:
            spec.setdefault(section, {})[name] = plain(setting.value)
        else:
            spec[section] = plain(setting.value)
    metadata = {"annotations": annotations} if annotations else {}
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
    for name, item in data["metadata"].get("annotations", {}).items():
        values[f"{_ANNOTATIONS}.{name}"] = from_plain(json.loads(item)) if name == SNIPPET else item
    return values

"""The PerformanceProfile of an intent in mode `performanceProfile`.

`profiles.reader` reads it back, with the same outputs. A field of the Intent that no profile has is
a diagnostic, because the operator would not apply it.
"""

from collections.abc import Iterator
from typing import Any

from cpuplan import versions
from cpuplan.components import chosen, kernel, kubelet, memory, mixedcpus
from cpuplan.components.openshift import machineconfig, ovsdpdk, pool, rps
from cpuplan.components.reasons import is_written
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.emit import to_json
from cpuplan.model.intent import IntentSpec
from cpuplan.model.tuning import ALIGNING, Kubelet
from cpuplan.plan import ConfiguredPlan, NodePlan
from cpuplan.profiles.api import ANNOTATION_PREFIX, API_VERSION, KIND, SNIPPET
from cpuplan.quantity import to_text
from cpuplan.source import Locate

MODE = "performanceProfile"
#: Fields of the kubelet that the operator sets, even if the snippet has them; with DRA drivers,
#: only
#: the policies.
_POLICIES = ("cpuManagerPolicy", "topologyManagerPolicy")
_OPERATORS = (*_POLICIES, "cpuManagerReconcilePeriod", kubelet.RESERVED_CPUS)


def profile(plan: ConfiguredPlan, metadata: dict[str, Any]) -> dict[str, Any]:
    """The PerformanceProfile of a plan with this metadata, and the annotations that it needs."""
    annotations = _annotations(plan)
    if annotations:
        metadata = metadata | {"annotations": metadata.get("annotations", {}) | annotations}
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": _spec(plan)}


def _spec(plan: ConfiguredPlan) -> dict[str, Any]:
    target, spec, settings = plan.node_class.target, plan.spec, plan.settings
    kernel_type = settings.values(machineconfig.NAME)[machineconfig.KERNEL_TYPE]
    pool_labels = target.machine_config_pool_selector
    body = {
        "cpu": _cpu(plan),
        "hardwareTuning": spec.hardware_tuning and spec.hardware_tuning.model_dump(by_alias=True),
        "hugepages": _huge_pages(spec),
        "realTimeKernel": {"enabled": True} if kernel_type == machineconfig.REAL_TIME else None,
        "kernelPageSize": _page_size(plan),
        "additionalKernelArgs": _arguments(plan),
        "numa": {"topologyPolicy": chosen.topology_policy(plan)},
        "net": _net(spec),
        "globallyDisableIrqLoadBalancing": spec.isolation.globally_disable_irq_load_balancing,
        "workloadHints": _hints(plan),
        "machineConfigLabel": target.machine_config_label,
        # The operator refuses several labels here, and takes all those of the pool by itself.
        "machineConfigPoolSelector": pool_labels if len(pool_labels) == 1 else {},
        "nodeSelector": settings.values(pool.NAME)[pool.NODE_SELECTOR],
    }
    return {key: value for key, value in body.items() if value not in (None, False, [], {})}


def _page_size(plan: NodePlan) -> str | None:
    """Omit the default of 4k, because earlier releases do not have the field."""
    has_field = versions.ships(plan.node_class.target, "profile.kernel_page_size")
    return plan.spec.kernel.page_size if has_field else None


def _cpu(plan: NodePlan) -> dict[str, Any]:
    names = ("reserved", "isolated", "shared", "offlined")
    cpu: dict[str, Any] = {
        name: str(plan.pool(name).cpus) for name in names if plan.pool(name).cpus
    }
    dpdk = ovsdpdk.cpus(plan)
    if dpdk:
        cpu["ovsDpdk"] = str(dpdk)
    return cpu | ({"balanceIsolated": False} if plan.spec.isolation.domain else {})


def _arguments(plan: ConfiguredPlan) -> list[str]:
    """Those of the intent, and one for which a profile has no other field."""
    given = list(plan.spec.kernel.extra_arguments)
    cpus = plan.settings.values(kernel.NAME).get("irqaffinity")
    if plan.spec.isolation.irq_affinity and cpus and not ovsdpdk.cpus(plan):
        given.append(f"irqaffinity={cpus}")
    return given


def _huge_pages(spec: IntentSpec) -> dict[str, Any]:
    pages = [
        {"size": page.size, "count": page.count}
        | ({} if page.numa_node is None else {"node": page.numa_node})
        for page in spec.huge_pages.pages
    ]
    default = spec.huge_pages.default_size or (pages[0]["size"] if pages else None)
    return {"defaultHugepagesSize": default, "pages": pages} if default else {}


def _net(spec: IntentSpec) -> dict[str, Any]:
    if not spec.net.user_level_networking:
        return {}
    devices = [device.model_dump(by_alias=True, exclude_none=True) for device in spec.net.devices]
    return {"userLevelNetworking": True} | ({"devices": devices} if devices else {})


def _hints(plan: NodePlan) -> dict[str, bool]:
    hints = plan.spec.workload_hints
    return {
        "realTime": chosen.real_time(plan),
        "highPowerConsumption": hints.high_power_consumption,
        "perPodPowerManagement": hints.per_pod_power_management,
        "mixedCpus": mixedcpus.are_wanted(plan),
    }


def _annotations(plan: ConfiguredPlan) -> dict[str, str]:
    spec = plan.spec
    switches = {
        "enable-rps": spec.net.receive_packet_steering,
        "enable-physical-dev-rps": spec.net.physical_device_rps,
        "dra-resource-management": spec.kubelet.dynamic_resource_allocation,
    }
    annotations = {ANNOTATION_PREFIX + name: "true" for name, on in switches.items() if on}
    by_default = versions.ships(plan.node_class.target, "rps.for_real_time")
    if by_default and not spec.net.receive_packet_steering:
        annotations[ANNOTATION_PREFIX + "enable-rps"] = "false"
    if spec.runtime.exec_cpu_affinity == "none":
        annotations[ANNOTATION_PREFIX + "exec-cpu-affinity"] = "disable"
    if plan.node_class.target.ignore_cgroups_version:
        annotations[ANNOTATION_PREFIX + "ignore-cgroups-version"] = "true"
    if ovsdpdk.cpus(plan) and not spec.open_v_switch.load_balancing:
        annotations[ANNOTATION_PREFIX + "cpu-load-balancing-ovs-dpdk"] = "disable"
    snippet = _snippet(plan)
    if snippet:
        annotations[SNIPPET] = to_json(snippet).strip()
    return annotations


def _snippet(plan: ConfiguredPlan) -> dict[str, Any]:
    """The kubelet's fields for which the operator would set another value."""
    fields = kubelet.configuration(plan.settings.of(kubelet.NAME))
    usual = kubelet.configuration(list(kubelet.settings(_usual(plan))))
    # The operator reserves memory on NUMA node 0 only, where it reserves any.
    if chosen.topology_policy(plan) in ALIGNING:
        reservation = {"memory": to_text(memory.reservation(plan))}
        usual["reservedMemory"] = [{"numaNode": 0, "limits": reservation}]
    operators = _POLICIES if plan.spec.kubelet.dynamic_resource_allocation else _OPERATORS
    return {
        name: value
        for name, value in fields.items()
        if usual.get(name) != value and name not in operators
    }


def _usual(plan: NodePlan) -> NodePlan:
    """The plan with only the fields of the kubelet that a profile has."""
    policy = plan.spec.kubelet.topology_manager_policy
    drivers = plan.spec.kubelet.dynamic_resource_allocation
    plain = Kubelet(topology_manager_policy=policy, dynamic_resource_allocation=drivers)
    return plan.with_spec(plan.spec.model_copy(update={"kubelet": plain}))


def check(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP548: fields of the intent that no profile has."""
    if plan.node_class.target.mode != MODE:
        return
    for name in ("reserved", "isolated"):
        if not plan.pool(name).cpus:
            yield diagnose("CP564", locate(plan.node_class.place(f"pools.{name}")), pool=name)
    spec = plan.spec
    drivers = spec.kubelet.dynamic_resource_allocation
    rows = (
        *_steering(plan),
        ("isolation.managedIrq", spec.isolation.managed_irq, True),
        ("isolation.nohzFull", spec.isolation.nohz_full, True),
        ("isolation.rcuNocbs", spec.isolation.rcu_nocbs, True),
        ("kubelet.cpuManagerPolicy", spec.kubelet.cpu_manager_policy, "static"),
        ("kubelet.cpuManagerReconcilePeriod", chosen.reconcile_period(plan), "5s"),
        ("runtime.handler", spec.runtime.handler, "high-performance"),
        ("runtime.containersLimit", spec.runtime.containers_limit, 256),
        ("pools.isolcpus", str(plan.pool("isolcpus").cpus - ovsdpdk.cpus(plan)), ""),
    )
    for field, value, only in (*rows, *_labels(plan)):
        if value != only and not (drivers and field.startswith("kubelet.")):
            position = locate(plan.node_class.place(field))
            shown, wanted = (
                str(item).lower() if isinstance(item, bool) else item for item in (value, only)
            )
            yield diagnose("CP548", position, field=field, value=shown, only=wanted)


def _steering(plan: NodePlan) -> Iterator[tuple[str, bool, bool]]:
    """Receive packet steering, which the operator of an old release does not switch off."""
    field = "net.receivePacketSteering"
    if rps.is_used(plan) and is_written(plan, field):
        yield field, plan.spec.net.receive_packet_steering, True


def _labels(plan: NodePlan) -> Iterator[tuple[str, str, str]]:
    """(field, labels, what a profile has) of labels of which the operator's webhook takes one."""
    target = plan.node_class.target
    for name, labels in (
        ("nodeSelector", target.node_selector),
        ("machineConfigLabel", target.machine_config_label),
    ):
        if len(labels) > 1:
            shown = ", ".join(f"{key}={value}" for key, value in labels.items())
            yield plan.node_class.target_field(name), shown, "one label"

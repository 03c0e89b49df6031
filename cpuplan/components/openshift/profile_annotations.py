"""The annotations of a PerformanceProfile: what the operator has no field of its spec for."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from cpuplan.base.text import quantity_text
from cpuplan.components import chosen, kubelet, memory
from cpuplan.components.openshift import ovsdpdk
from cpuplan.components.reasons import DEFAULT, of_mode, stated, stated_or
from cpuplan.diagnostics import Reason
from cpuplan.facts import versions
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
from cpuplan.plan.setting import Setting, Value

#: Prefix of the operator's annotations.
PREFIX = "performance.openshift.io/"
#: The annotation with a KubeletConfiguration as JSON.
SNIPPET = "kubeletconfig.experimental"
#: Fields of the kubelet that the operator sets, even if the snippet has them; with DRA drivers,
#: only the policies.
_POLICIES = (CPU_MANAGER_POLICY.key, TOPOLOGY_MANAGER_POLICY.key)
_OPERATORS = (*_POLICIES, RECONCILE_PERIOD.key, RESERVED_CPUS.key)


class Annotation(NamedTuple):
    """One annotation; the value of the snippet is its fields."""

    name: str
    value: Value
    reasons: tuple[Reason, ...]


def annotations(plan: NodePlan) -> Iterator[Annotation]:
    """The annotations that the plan needs, in the order in which they are written."""
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

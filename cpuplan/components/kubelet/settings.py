"""What the kubelet is told: the settings of a plan, and the CPUs that no container gets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from cpuplan import platforms
from cpuplan.base.cpuset import CpuSet, union
from cpuplan.base.text import quantity_text
from cpuplan.components import chosen, memory, mixedcpus
from cpuplan.components.dra import driver
from cpuplan.components.kubelet.text import RESERVED_CPUS
from cpuplan.components.reasons import is_written, of_mechanism, stated, stated_or, unasked
from cpuplan.diagnostics import Reason
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Cost, Effect, Setting, Value, from_plain
from cpuplan.upstream.kubelet.config.types import fits, is_fraction
from cpuplan.upstream.kubelet.policy_options import (
    DISTRIBUTE_ACROSS_CORES,
    FULL_PCPUS_ONLY,
    STRICT_RESERVATION,
    switched_on,
)

if TYPE_CHECKING:
    from cpuplan.language.model.intent import Target

NAME = "kubelet"
EFFECT: Effect | None = Effect(
    "kubectl get --raw /api/v1/nodes/NODE/proxy/configz", Cost.KUBELET_RESTART
)
#: A file for `--config-dir`; the kubelet reads `*.conf` in the order of their names (KEP-3983).
DROP_IN = "90-cpuplan.conf"


def drop_in(target: Target) -> str:
    """The absolute path of the drop-in."""
    return f"{platforms.of(target).kubelet_folder}/{DROP_IN}"


def settings(plan: NodePlan) -> Iterator[Setting]:
    """Fields by name; entries of maps by `field.key`, so that each has its own reasons."""
    yield from _further(plan)
    if plan.spec.kubelet.dynamic_resource_allocation:
        yield from _left_to_drivers(plan)
        yield from _beside_drivers(plan)
        return
    yield from _gates_of_driver(plan)
    yield from _cpu_manager(plan)
    yield from _topology_manager(plan)
    yield from _reservations(plan)
    yield from _memory_manager(plan)


def _further(plan: NodePlan) -> Iterator[Setting]:
    """Fields that no other field of the intent gives; `checks.kubelet` refuses the rest."""
    for field, value in sorted(plan.spec.kubelet.configuration.items()):
        because = (plan.node_class.reason("asked for", f"kubelet.configuration.{field}"),)
        if isinstance(value, dict):
            for key, item in sorted(value.items()):
                yield Setting(NAME, f"{field}.{key}", from_plain(item), because)
        elif isinstance(value, str) and is_fraction(field) and fits(field, value):
            yield Setting(NAME, field, float(value), because)
        else:
            yield Setting(NAME, field, from_plain(value), because)


def _left_to_drivers(plan: NodePlan) -> Iterator[Setting]:
    """A DRA driver gives out CPUs and memory; a manager that pinned too would contradict it."""
    because = (
        stated(plan, "a DRA driver gives out CPUs and memory", "kubelet.dynamicResourceAllocation"),
    )
    yield Setting(NAME, "cpuManagerPolicy", "none", because)
    yield Setting(NAME, "memoryManagerPolicy", "None", because)
    yield Setting(NAME, "topologyManagerPolicy", "none", because)


def _beside_drivers(plan: NodePlan) -> Iterator[Setting]:
    """What the intent itself says beside; of a DRA driver's node nothing is known by default.

    The options of a CPU manager without a policy are the only ones that a kubelet refuses.
    """
    further = (
        *_reservations(plan),
        *_topology_manager(plan),
        *_given_reservation(plan),
        *_reconcile_period(plan),
    )
    yield from (
        setting
        for setting in further
        if setting.key not in ("topologyManagerPolicy", RESERVED_CPUS)
        and is_written(plan, f"kubelet.{setting.key.partition('.')[0]}")
    )


def _gates_of_driver(plan: NodePlan) -> Iterator[Setting]:
    """What the DRA CPU driver needs of this release; the API server and the scheduler need it too.

    The intent's own `featureGates` stand above it.
    """
    given = plan.spec.kubelet.configuration.get("featureGates") or {}
    for gate, why in driver.gates(plan).items():
        if gate not in given:
            yield Setting(NAME, f"featureGates.{gate}", True, (of_mechanism(plan, why),))


def _cpu_manager(plan: NodePlan) -> Iterator[Setting]:
    policy = plan.node_class.cpu_manager_policy
    text = "pods get exclusive CPUs" if policy == "static" else "no pod gets exclusive CPUs"
    target = plan.node_class.target
    if target.has_nri_policy:
        yield Setting(NAME, "cpuManagerPolicy", policy, (of_mechanism(plan),))
    elif target.has_dra:
        because = of_mechanism(plan, "the DRA CPU driver gives CPUs to containers")
        yield Setting(NAME, "cpuManagerPolicy", policy, (because,))
    elif target.has_koordinator and policy == "none":
        text = "koord-scheduler chooses the CPUs of pods, and koordlet sets them"
        because = stated_or(plan, text, "kubelet.cpuManagerPolicy", of_mechanism(plan, text))
        yield Setting(NAME, "cpuManagerPolicy", policy, (because,))
    else:
        yield _given(plan, "cpuManagerPolicy", policy, text, "static-policy")
    for option, (value, reason) in sorted(cpu_options(plan).items()):
        yield Setting(NAME, f"cpuManagerPolicyOptions.{option}", value, (reason,))
    yield from _reconcile_period(plan)


def _reconcile_period(plan: NodePlan) -> Iterator[Setting]:
    if period := chosen.reconcile_period(plan):
        text = "how often cpusets are compared"
        yield _given(plan, "cpuManagerReconcilePeriod", period, text, "reconcile-period")


def cpu_options(plan: NodePlan) -> dict[str, tuple[str, Reason]]:
    """The CPU manager's policy options and their reasons.

    On OpenShift, a container gets whole cores with single-numa-node unless the intent says
    otherwise. The policy none refuses every option, and distribute-cpus-across-cores this one.
    """
    spec = plan.spec.kubelet
    given = spec.cpu_manager_policy_options
    options = {
        option: (
            value,
            plan.node_class.reason("asked for", f"kubelet.cpuManagerPolicyOptions.{option}"),
        )
        for option, value in given.items()
    }
    excluded = {FULL_PCPUS_ONLY, DISTRIBUTE_ACROSS_CORES} & given.keys()
    strict = (
        plan.node_class.cpu_manager_policy == "static"
        and spec.topology_manager_policy == "single-numa-node"
    )
    if strict and not excluded and chosen.is_on(plan, "whole-cores"):
        reason = unasked(plan, "whole-cores", NAME, f"cpuManagerPolicyOptions.{FULL_PCPUS_ONLY}")
        options[FULL_PCPUS_ONLY] = ("true", reason)
    return options


def true_cpu_options(plan: NodePlan) -> set[str]:
    """The CPU manager's policy options that are true."""
    return switched_on({option: value for option, (value, _) in cpu_options(plan).items()})


def _topology_manager(plan: NodePlan) -> Iterator[Setting]:
    spec = plan.spec.kubelet
    if spec.topology_manager_policy or chosen.is_on(plan, "topology-policy"):
        policy = chosen.topology_policy(plan)
        yield _given(
            plan, "topologyManagerPolicy", policy, "how resources are aligned", "topology-policy"
        )
    if spec.topology_manager_scope:
        together = stated(plan, "what is aligned together", "kubelet.topologyManagerScope")
        yield Setting(NAME, "topologyManagerScope", spec.topology_manager_scope, (together,))
    for option, value in sorted(spec.topology_manager_policy_options.items()):
        reason = stated(plan, "asked for", f"kubelet.topologyManagerPolicyOptions.{option}")
        yield Setting(NAME, f"topologyManagerPolicyOptions.{option}", value, (reason,))


def _reservations(plan: NodePlan) -> Iterator[Setting]:
    amounts: tuple[tuple[str, Mapping[str, str], str, str], ...] = (
        (
            "kubeReserved",
            chosen.kube_reserved(plan),
            "kept for the kubelet and the runtime",
            "kube-reserved",
        ),
        (
            "systemReserved",
            chosen.system_reserved(plan),
            "kept for system services",
            "system-reserved",
        ),
        ("evictionHard", chosen.eviction_hard(plan), "pods are evicted below this", "eviction"),
    )
    for field, given, text, name in amounts:
        for key, value in sorted(given.items()):
            yield _given(plan, f"{field}.{key}", value, text, name)
    cpus = reserved_cpus(plan)
    if cpus:
        because = plan.pool("reserved").because
        if mixedcpus.are_used(plan):
            because = (*because, *plan.pool("shared").because, mixedcpus.reason(plan))
        for name, hidden in hidden_cpus(plan).items():
            because = (*because, *plan.pool(name).because) if hidden else because
        yield Setting(NAME, RESERVED_CPUS, cpus, because)


def reserved_cpus(plan: NodePlan) -> CpuSet:
    """The CPUs that no container gets exclusively: reserved, shared, and kept from pods.

    reserved + shared + isolcpus + (bestEffort - other): allocatable is then min(ALL - reserved,
    #OTHER) of KEP-30.
    """
    shared = plan.pool("shared").cpus if mixedcpus.are_used(plan) else CpuSet()
    return plan.pool("reserved").cpus | shared | union(hidden_cpus(plan).values())


def is_static(plan: NodePlan) -> bool:
    """Whether the CPU manager gives out exclusive CPUs."""
    spec = plan.spec.kubelet
    return plan.node_class.cpu_manager_policy == "static" and not spec.dynamic_resource_allocation


def default_cpus(plan: NodePlan) -> CpuSet:
    """The CPUs of containers without exclusive ones, while no container has exclusive ones.

    OpenShift's kubelet excludes reserved CPUs with workload partitioning too.
    """
    online = plan.topology.online - plan.pool("offlined").cpus
    is_pinned = plan.node_class.platform.forks_kubelet and plan.node_class.target.cpu_partitioning
    is_strict = is_pinned or STRICT_RESERVATION in true_cpu_options(plan)
    return online - reserved_cpus(plan) if is_static(plan) and is_strict else online


def hidden_cpus(plan: NodePlan) -> dict[str, CpuSet]:
    """isolcpus, and what only BestEffort pods may use; by the set that says so.

    A QoS set that is left out has all CPUs.
    """
    qos = plan.spec.qos
    best_effort = plan.topology.online - plan.pool("isolcpus").cpus - plan.pool("offlined").cpus
    if qos.best_effort:
        best_effort = plan.pool("bestEffort").cpus
    only = best_effort - plan.pool("other").cpus if qos.other else CpuSet()
    return {"isolcpus": plan.pool("isolcpus").cpus, "other": only}


def _memory_manager(plan: NodePlan) -> Iterator[Setting]:
    spec = plan.spec.kubelet
    if not memory.uses_memory_manager(plan):
        if spec.memory_manager_policy:
            reason = stated(plan, "memory is not aligned", "kubelet.memoryManagerPolicy")
            yield Setting(NAME, "memoryManagerPolicy", spec.memory_manager_policy, (reason,))
        yield from _given_reservation(plan)
        return
    default = unasked(plan, "memory-manager", NAME, "memoryManagerPolicy")
    because = (
        stated_or(plan, "memory is aligned with CPUs", "kubelet.memoryManagerPolicy", default),
    )
    yield Setting(NAME, "memoryManagerPolicy", "Static", because)
    if spec.reserved_memory:
        yield from _given_reservation(plan)
    elif reserved := memory.reserved(plan):
        needed = (*because, unasked(plan, "reserved-memory", NAME, "reservedMemory"))
        yield Setting(NAME, "reservedMemory", tuple(map(_reserved_entry, reserved.items())), needed)


def _given_reservation(plan: NodePlan) -> Iterator[Setting]:
    """What the intent says to reserve, with or without a memory manager that reads it."""
    if given := memory.given(plan):
        because = (plan.node_class.reason("asked for", "kubelet.reservedMemory"),)
        yield Setting(NAME, "reservedMemory", tuple(map(_reserved_entry, given.items())), because)


def _reserved_entry(item: tuple[int, int]) -> Value:
    node, size = item
    return {"numaNode": node, "limits": {"memory": quantity_text(size)}}


def _given(plan: NodePlan, key: str, value: str, text: str, default: str) -> Setting:
    """A setting of the field of the same name in the intent, or of a default."""
    return Setting(
        NAME,
        key,
        value,
        (stated_or(plan, text, f"kubelet.{key}", unasked(plan, default, NAME, key)),),
    )

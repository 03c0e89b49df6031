"""The kubelet: KubeletConfiguration, as the node tuning operator's controller renders it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import yaml

from cpuplan.base import yaml_values
from cpuplan.base.cpuset import CpuSet, CpuSetError, union
from cpuplan.base.emit import to_yaml
from cpuplan.base.text import quantity_text
from cpuplan.components import chosen, memory, mixedcpus
from cpuplan.components.chosen import asked_or, is_written, of_mechanism, stated, stated_or, unasked
from cpuplan.components.dra import driver
from cpuplan.components.emission import emit, given_or
from cpuplan.diagnostics import Reason
from cpuplan.facts import platforms, versions
from cpuplan.facts.settings import kubelet as rows
from cpuplan.facts.settings.crio import MIXED_CPUS
from cpuplan.facts.settings.kubelet import RESERVED_CPUS
from cpuplan.facts.settings.row import Row
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting, Value, from_plain, plain
from cpuplan.upstream.kubelet.config.types import API_VERSION, KIND, with_fractions
from cpuplan.upstream.kubelet.policy_options import (
    DISTRIBUTE_ACROSS_CORES,
    FULL_PCPUS_ONLY,
    STRICT_RESERVATION,
    switched_on,
)

if TYPE_CHECKING:
    from cpuplan.language.model.intent import Target


NAME = rows.NAME
#: A file of the folder; the kubelet reads `*.conf` in the order of their names (KEP-3983).
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
    yield from _no_cgroups(plan)
    yield from _memory_manager(plan)


def _further(plan: NodePlan) -> Iterator[Setting]:
    """Fields that no other field of the intent gives; `checks.kubelet` refuses the rest."""
    for field, value in sorted(with_fractions(plan.spec.kubelet.configuration).items()):
        because = (plan.node_class.reason("asked for", f"kubelet.configuration.{field}"),)
        if isinstance(value, dict):
            for key, item in sorted(value.items()):
                yield from emit(
                    plan, rows.FURTHER, from_plain(item), because, field=f"{field}.{key}"
                )
        else:
            yield from emit(plan, rows.FURTHER, from_plain(value), because, field=field)


def _left_to_drivers(plan: NodePlan) -> Iterator[Setting]:
    """A DRA driver gives out CPUs and memory; a manager that pinned too would contradict it."""
    because = (
        stated(plan, "a DRA driver gives out CPUs and memory", "kubelet.dynamicResourceAllocation"),
    )
    yield from emit(plan, rows.CPU_MANAGER_POLICY, "none", because)
    yield from emit(plan, rows.MEMORY_MANAGER_POLICY, "None", because)
    yield from emit(plan, rows.TOPOLOGY_MANAGER_POLICY, "none", because)


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
        if setting.key not in (rows.TOPOLOGY_MANAGER_POLICY.key, rows.RESERVED_CPUS.key)
        and is_written(plan, f"kubelet.{setting.key.partition('.')[0]}")
    )


def _gates_of_driver(plan: NodePlan) -> Iterator[Setting]:
    """What the DRA CPU driver needs of this release; the API server and the scheduler need it too.

    Gates of the intent itself stand above it.
    """
    given = plan.spec.kubelet.configuration.get(rows.FEATURE_GATES.head) or {}
    for gate, why in driver.gates(plan).items():
        if gate not in given:
            because = (of_mechanism(plan, why),)
            yield from emit(plan, rows.FEATURE_GATES, True, because, gate=gate)


def _cpu_manager(plan: NodePlan) -> Iterator[Setting]:
    policy = plan.node_class.cpu_manager_policy
    yield from emit(plan, rows.CPU_MANAGER_POLICY, policy, (_why_policy(plan, policy),))
    for option, (value, reason) in sorted(cpu_options(plan).items()):
        yield from emit(plan, rows.CPU_MANAGER_OPTIONS, value, (reason,), option=option)
    yield from _reconcile_period(plan)


def _why_policy(plan: NodePlan, policy: str) -> Reason:
    """Why the CPU manager has its policy: by a mechanism, by the intent, or by default."""
    target = plan.node_class.target
    if target.has_nri_policy:
        return of_mechanism(plan)
    if target.has_dra:
        return of_mechanism(plan, "the DRA CPU driver gives CPUs to containers")
    if target.has_koordinator and policy == "none":
        text = "koord-scheduler chooses the CPUs of pods, and koordlet sets them"
        return stated_or(plan, text, rows.CPU_MANAGER_POLICY.field, of_mechanism(plan, text))
    text = "pods get exclusive CPUs" if policy == "static" else "no pod gets exclusive CPUs"
    return given_or(plan, rows.CPU_MANAGER_POLICY, text)


def _reconcile_period(plan: NodePlan) -> Iterator[Setting]:
    if period := chosen.reconcile_period(plan):
        why = given_or(plan, rows.RECONCILE_PERIOD, "how often cpusets are compared")
        yield from emit(plan, rows.RECONCILE_PERIOD, period, (why,))


def cpu_options(plan: NodePlan) -> dict[str, tuple[str, Reason]]:
    """The CPU manager's policy options and their reasons.

    On OpenShift, a container gets whole cores with single-numa-node unless the intent says
    otherwise. The policy none refuses every option, and distribute-cpus-across-cores this one.
    """
    spec = plan.spec.kubelet
    given = spec.cpu_manager_policy_options
    field = rows.CPU_MANAGER_OPTIONS.field
    options = {
        option: (value, plan.node_class.reason("asked for", field.format(option=option)))
        for option, value in given.items()
    }
    excluded = {FULL_PCPUS_ONLY, DISTRIBUTE_ACROSS_CORES} & given.keys()
    strict = (
        plan.node_class.cpu_manager_policy == "static"
        and spec.topology_manager_policy == "single-numa-node"
    )
    whole_cores = rows.CPU_MANAGER_OPTIONS.default
    if strict and not excluded and chosen.is_on(plan, whole_cores):
        options[FULL_PCPUS_ONLY] = ("true", unasked(plan, whole_cores))
    return options


def true_cpu_options(plan: NodePlan) -> set[str]:
    """The CPU manager's policy options that are true."""
    return switched_on({option: value for option, (value, _) in cpu_options(plan).items()})


def _topology_manager(plan: NodePlan) -> Iterator[Setting]:
    spec, policy = plan.spec.kubelet, rows.TOPOLOGY_MANAGER_POLICY
    if spec.topology_manager_policy or chosen.is_on(plan, policy.default):
        why = given_or(plan, policy, "how resources are aligned")
        yield from emit(plan, policy, chosen.topology_policy(plan), (why,))
    if scope := spec.topology_manager_scope:
        why = stated(plan, "what is aligned together", rows.TOPOLOGY_MANAGER_SCOPE.field)
        yield from emit(plan, rows.TOPOLOGY_MANAGER_SCOPE, scope, (why,))
    options = rows.TOPOLOGY_MANAGER_OPTIONS
    for option, value in sorted(spec.topology_manager_policy_options.items()):
        why = stated(plan, "asked for", options.field.format(option=option))
        yield from emit(plan, options, value, (why,), option=option)


def _reservations(plan: NodePlan) -> Iterator[Setting]:
    yield from _amounts(plan, rows.KUBE_RESERVED, "kept for the kubelet and the runtime")
    yield from _amounts(plan, rows.SYSTEM_RESERVED, "kept for system services")
    yield from _amounts(plan, rows.EVICTION_HARD, "pods are evicted below this")
    if cpus := reserved_cpus(plan):
        because = plan.pool("reserved").because
        if mixedcpus.are_used(plan):
            because = (*because, *plan.pool("shared").because, asked_or(plan, MIXED_CPUS))
        for name, hidden in hidden_cpus(plan).items():
            because = (*because, *plan.pool(name).because) if hidden else because
        if versions.ships(plan.node_class.target, "profile.reserved_as_written"):
            cpus = chosen.as_listed(plan, "reserved", cpus)
        yield from emit(plan, rows.RESERVED_CPUS, cpus, because)


def _no_cgroups(plan: NodePlan) -> Iterator[Setting]:
    """Empty cgroups of reservations, where those of the base would stop the kubelet."""
    node_class = plan.node_class
    base, own = node_class.platform.base(), plan.spec.kubelet.configuration
    if not reserved_cpus(plan) or not node_class.platform.takes_files:
        return
    text = f"a base with this cgroup would stop a kubelet with {rows.RESERVED_CPUS.key}"
    because = (node_class.reason(text, node_class.target_field("platform")),)
    for reserver in ("kube", "system"):
        key = rows.RESERVED_CGROUP.of(reserver=reserver)
        if key in base and key not in own:
            yield from emit(plan, rows.RESERVED_CGROUP, "", because, reserver=reserver)
    if rows.ENFORCED.key in base and rows.ENFORCED.key not in own:
        text = f"a base that enforces more would stop a kubelet with {rows.RESERVED_CPUS.key}"
        because = (node_class.reason(text, node_class.target_field("platform")),)
        yield from emit(plan, rows.ENFORCED, ("pods",), because)


def _amounts(plan: NodePlan, row: Row, text: str) -> Iterator[Setting]:
    for name, amount in sorted(chosen.amounts(plan, row).items()):
        why = given_or(plan, row, text, resource=name, signal=name)
        yield from emit(plan, row, amount, (why,), resource=name, signal=name)


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
    spec, policy = plan.spec.kubelet, rows.MEMORY_MANAGER_POLICY
    if not memory.uses_memory_manager(plan):
        if spec.memory_manager_policy:
            reason = stated(plan, "memory is not aligned", policy.field)
            yield from emit(plan, policy, spec.memory_manager_policy, (reason,))
        yield from _given_reservation(plan)
        return
    because = (asked_or(plan, policy.default),)
    yield from emit(plan, policy, "Static", because)
    if spec.reserved_memory:
        yield from _given_reservation(plan)
    elif reserved := memory.reserved(plan):
        entries = tuple(map(_reserved_entry, reserved.items()))
        needed = (*because, unasked(plan, rows.RESERVATION))
        yield from emit(plan, rows.RESERVED_MEMORY, entries, needed)


def _given_reservation(plan: NodePlan) -> Iterator[Setting]:
    """What the intent says to reserve, with or without a memory manager that reads it."""
    if given := memory.given(plan):
        because = (plan.node_class.reason("asked for", rows.RESERVED_MEMORY.field),)
        entries = tuple(map(_reserved_entry, given.items()))
        yield from emit(plan, rows.RESERVED_MEMORY, entries, because)


def _reserved_entry(item: tuple[int, int]) -> Value:
    node, size = item
    return {"numaNode": node, "limits": {"memory": quantity_text(size)}}


HEAD = {"apiVersion": API_VERSION, "kind": KIND}


def configuration(settings: Sequence[Setting]) -> dict[str, Any]:
    """The settings as a KubeletConfiguration, fields in the order of their names."""
    fields: dict[str, Any] = {}
    for setting in settings:
        field, _, key = setting.key.partition(".")
        if key:
            fields.setdefault(field, {})[key] = plain(setting.value)
        else:
            fields[field] = plain(setting.value)
    return HEAD | dict(sorted(fields.items()))


def render(settings: Sequence[Setting]) -> str:
    """The configuration's YAML."""
    return to_yaml(configuration(settings))


def parse(text: str) -> dict[str, Value]:
    """The fields of a KubeletConfiguration (YAML or JSON), also one that says more than cpuplan's.

    ValueError for text that is neither.
    """
    try:
        documents = list(yaml_values.load_yaml11(text))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        raise ValueError(f"{error.problem or error.context}{place}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise ValueError(" ".join(str(error).split())) from error
    if len(documents) > 1:
        raise ValueError("it holds more than one document")
    data = documents[0] if documents else None
    values: dict[str, Value] = {}
    for field, value in (data if isinstance(data, dict) else {}).items():
        if field in HEAD or value is None:
            continue
        if isinstance(value, dict):
            values |= {
                f"{field}.{key}": from_plain(item)
                for key, item in value.items()
                if item is not None
            }
        else:
            values[field] = _cpus(value) if field == RESERVED_CPUS.key else from_plain(value)
    return values


def _cpus(value: Any) -> Value:
    try:
        return CpuSet.parse(value) if isinstance(value, str) else from_plain(value)
    except CpuSetError:
        return str(value)


__all__ = [
    "DROP_IN",
    "HEAD",
    "NAME",
    "configuration",
    "cpu_options",
    "default_cpus",
    "drop_in",
    "hidden_cpus",
    "is_static",
    "parse",
    "render",
    "reserved_cpus",
    "settings",
    "true_cpu_options",
]

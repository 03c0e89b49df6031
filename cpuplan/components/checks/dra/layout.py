"""Pools and settings for which the DRA CPU driver has no place."""

from collections.abc import Iterator

from cpuplan.base.cpuset import cpus_text
from cpuplan.components import isolation
from cpuplan.components.dra import driver, names
from cpuplan.components.reasons import is_written, stated
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.facts import versions
from cpuplan.facts.settings.kubelet import (
    CPU_MANAGER_POLICY,
    FEATURE_GATES,
    MEMORY_MANAGER_POLICY,
    TOPOLOGY_MANAGER_POLICY,
)
from cpuplan.language.model.vocabulary import PARTITION
from cpuplan.plan import NodePlan
from cpuplan.upstream.dra.api import GROUPED, INDIVIDUAL

#: (field of the intent, what is wrong with it, what to do).
Problem = tuple[str, str, str]
_KUBELET = "or use mechanism: kubelet"
_BALLOONS = "or use mechanism: balloons"
#: Characters of a label's value (apimachinery, pkg/util/validation).
_LABEL = 63


def check(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP508 at each statement that cannot hold."""
    for find in (_of_target, _of_driver, _of_kubelet, _of_pools, _of_partitions, _of_kernel):
        for field, problem, hint in find(plan):
            position = locate(plan.node_class.place(field))
            yield diagnose(
                "CP508", position, field=field, mechanism="dra", problem=problem, hint=hint
            )


def check_unread(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP508 for words for the driver where something else gives out CPUs."""
    target, field = plan.node_class.target, plan.node_class.target_field("dra")
    if is_written(plan, field):
        yield diagnose(
            "CP508",
            locate(plan.node_class.place(field, of_key=True)),
            field=field,
            mechanism=target.mechanism,
            problem="only the DRA CPU driver reads it",
            hint="let the target have mechanism: dra, or leave it out",
        )


def _of_target(plan: NodePlan) -> Iterator[Problem]:
    node_class = plan.node_class
    target = node_class.target
    if not node_class.platform.has_runtime_choice:
        title = node_class.platform.title
        text = f"cpuplan does not configure NRI in the container runtime of {title}"
        hint = "use mechanism: kubelet, or the platform kubernetes for these nodes"
        yield node_class.target_field("platform"), text, hint
    elif not versions.has(target, "api.device_classes"):
        since = versions.to_text(versions.FEATURES["api.device_classes"])
        text = f"{target.version} has no resource.k8s.io/v1, in which the driver publishes CPUs"
        yield node_class.target_field("version"), text, f"use version {since} or later, {_KUBELET}"
    if len(node_class.name) > _LABEL:
        text = (
            f"class {node_class.name} would be the value of a label, which has {_LABEL} characters"
        )
        yield node_class.target_field("mechanism"), text, "use shorter names"


def _of_driver(plan: NodePlan) -> Iterator[Problem]:
    """Fields of `dra` that contradict the release or each other."""
    dra, is_grouped = plan.node_class.target.dra, names.mode(plan) == GROUPED
    if dra.accounting == "mapping":
        field, hint = driver.target_field(plan, "accounting"), "use requests or podResources"
        if not driver.reads_file(plan):
            yield field, f"driver {dra.release} publishes no mapping", f"use release 0.3, or {hint}"
        if not versions.has(plan.node_class.target, "api.node_allocatable_resources"):
            yield field, "Kubernetes before 1.37 drops the mapping", hint
    if dra.align == "cache" and is_grouped:
        text = "in mode grouped the driver prefers one cache, and promises nothing"
        yield driver.target_field(plan, "align"), text, "use mode: individual"
    if dra.align == "numaNode" and is_grouped and dra.group_by == "socket":
        text = "a device of groupBy socket may have several NUMA nodes"
        yield driver.target_field(plan, "align"), text, "use groupBy: numanode"
    known = _partitions(plan)
    for name in dra.namespaces:
        if name not in known:
            text = f"the isolated pool has no partition {name}"
            yield driver.target_field(plan, f"namespaces.{name}"), text, "leave it out"


def _partitions(plan: NodePlan) -> set[str]:
    isolated = plan.spec.pools.isolated
    return set(isolated.partitions) if isolated else set()


def _of_kubelet(plan: NodePlan) -> Iterator[Problem]:
    kubelet = plan.spec.kubelet
    if is_written(plan, CPU_MANAGER_POLICY.field) and kubelet.cpu_manager_policy == "static":
        text = "both would give CPUs to containers"
        yield CPU_MANAGER_POLICY.field, text, f"use none, {_KUBELET}"
    if kubelet.dynamic_resource_allocation:
        text = "it is for drivers that cpuplan knows nothing of"
        yield "kubelet.dynamicResourceAllocation", text, "leave it out"
    gates = kubelet.configuration.get(FEATURE_GATES.head) or {}
    for gate in driver.needed(plan):
        if gates.get(gate) is False:
            field = f"kubelet.configuration.{FEATURE_GATES.head}.{gate}"
            yield field, f"the driver needs {gate}", "use true, or leave it out"
    if kubelet.memory_manager_policy == "Static":
        text = "memory would be pinned to NUMA nodes that the CPUs of claims do not follow"
        yield MEMORY_MANAGER_POLICY.field, text, f"use None, {_KUBELET}"
    if (kubelet.topology_manager_policy or "none") != "none":
        text = "the kubelet's topology manager gets no hints of claims"
        hint = "leave it out, and use align: numaNode of the target's dra"
        yield TOPOLOGY_MANAGER_POLICY.field, text, hint


def _of_pools(plan: NodePlan) -> Iterator[Problem]:
    if plan.pool("shared").cpus:
        text = "no container has shared CPUs beside those of its claims (dra-driver-cpu #103)"
        yield "pools.shared", text, f"give its CPUs to another pool, {_KUBELET}"
    for field, is_asked in (
        ("qos.bestEffort", plan.spec.qos.best_effort),
        ("qos.other", plan.spec.qos.other),
    ):
        if is_asked:
            text = "all containers without a claim have the same CPUs, of whatever QoS class"
            yield field, text, f"leave it out, {_BALLOONS}"


def _of_partitions(plan: NodePlan) -> Iterator[Problem]:
    """In mode grouped a device is a whole NUMA node or socket."""
    if names.mode(plan) == INDIVIDUAL:
        return
    for pool in plan.sets:
        if pool.name.startswith(PARTITION) and pool.cpus:
            name = pool.name.removeprefix(PARTITION)
            text = "a claim of mode grouped gets any CPUs of a NUMA node or socket"
            hint = f"use mode: individual, leave the partition out, {_BALLOONS}"
            yield f"pools.isolated.partitions.{name}", text, hint


def _of_kernel(plan: NodePlan) -> Iterator[Problem]:
    """Containers without claims run on isolated CPUs while no claim has them."""
    because = stated(plan, "no load balancing", "isolation.domain")
    cpus = isolation.kept_off(plan, "domain", because).cpus & plan.pool("isolated").cpus
    if cpus:
        text = f"unclaimed, {cpus_text(cpus)} are for all containers, which need load balancing"
        hint = f"use false, or the pool isolcpus, which no container gets, {_KUBELET}"
        yield "isolation.domain", text, hint

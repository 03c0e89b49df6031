"""What the NRI balloons policy would make of a plan, and partitions that nothing enforces."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cpuplan import versions
from cpuplan.components import chosen, containerd
from cpuplan.components.nri import balloons, types
from cpuplan.components.reasons import is_written
from cpuplan.cpuset import CpuSet, cpus_text
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.kubelet.errors import PanicError
from cpuplan.model.intent import Target
from cpuplan.model.words import ALIGNING, PARTITION
from cpuplan.nri.errors import NriError
from cpuplan.nri.names import RESERVED
from cpuplan.plan import NodePlan
from cpuplan.source import Locate

if TYPE_CHECKING:
    from cpuplan.nri.balloons.policy import Policy

#: Characters of a label's value (apimachinery, pkg/util/validation).
_LABEL = 63
#: (field of the intent, what is wrong with it, what to do).
Problem = tuple[str, str, str]
_KUBELET = "or use mechanism: kubelet"


def check(plan: NodePlan, locate: Locate) -> list[Diagnostic]:
    """Statements that balloons cannot keep, else what the policy gets wrong."""
    target = plan.node_class.target
    if not target.has_other_mechanism:
        return list(_check_unenforced(plan, locate))
    if not target.has_balloons:
        return []
    wrong = [
        diagnose(
            "CP590", locate(plan.node_class.place(field)), field=field, problem=text, hint=hint
        )
        for field, text, hint in _contradictions(plan)
    ]
    return wrong or [
        *_check_policy(plan, locate),
        *_check_left(plan, locate),
        *_check_runtime(plan, locate),
    ]


def _contradictions(plan: NodePlan) -> Iterator[Problem]:
    node_class, spec = plan.node_class, plan.spec
    platform = node_class.platform
    if not platform.has_runtime_choice:
        field = node_class.target_field("platform")
        text = f"cpuplan does not configure NRI in the container runtime of {platform.title}"
        yield field, text, "use mechanism: kubelet, or the platform kubernetes for these nodes"
    if is_written(plan, "kubelet.cpuManagerPolicy") and spec.kubelet.cpu_manager_policy == "static":
        text = "both would give CPUs to containers"
        yield "kubelet.cpuManagerPolicy", text, f"use none, {_KUBELET}"
    if spec.kubelet.dynamic_resource_allocation:
        text = "a DRA driver gives out CPUs too"
        yield "kubelet.dynamicResourceAllocation", text, f"use false, {_KUBELET}"
    if plan.pool("shared").cpus:
        text = "no container has shared CPUs beside those of its balloon"
        yield "pools.shared", text, f"give its CPUs to another pool, {_KUBELET}"
    if len(node_class.name) > _LABEL:
        text = (
            f"class {node_class.name} would be the value of a label, which has {_LABEL} characters"
        )
        yield node_class.target_field("mechanism"), text, "use shorter names"
    yield from _qos_problems(plan)


def _qos_problems(plan: NodePlan) -> Iterator[Problem]:
    """QoS sets that share CPUs, or of which nothing is left."""
    qos = plan.spec.qos
    if not (qos.best_effort or qos.other):
        return
    field = "qos.bestEffort" if qos.best_effort else "qos.other"
    own = types.available(plan) - plan.pool("reserved").cpus
    sets = {"bestEffort": own, "other": own}
    sets |= {pool.name: pool.cpus & own for pool in plan.sets if pool.name in sets}
    if common := sets["bestEffort"] & sets["other"]:
        text = f"{cpus_text(common)} would be for all pods, and a CPU is in one balloon"
        yield field, text, f"give both sets, without common CPUs, {_KUBELET}"
    elif not all(one.cpus for one in types.fixed(plan)):
        text = "partitions and reserved CPUs leave nothing of the set"
        yield field, text, f"give it CPUs of its own, {_KUBELET}"


def _check_policy(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """Ask the port of the policy which CPUs the balloons of the planned machine get."""
    name = plan.node_class.name
    try:
        policy = started(plan)
    except (NriError, PanicError) as error:
        position = locate(plan.node_class.place(plan.node_class.target_field("mechanism")))
        problem = f"the balloons policy does not start: {error}"
        yield diagnose("CP591", position, name=name, problem=problem, hint="use mechanism: kubelet")
        return
    got = {balloon.name: CpuSet.from_bits(balloon.cpus) for balloon in policy.state.balloons}
    reserved = plan.pool("reserved")
    for one in [types.Fixed(RESERVED, reserved.cpus, reserved.because), *types.fixed(plan)]:
        cpus = got.get(f"{one.name}[0]", CpuSet())
        if cpus != one.cpus:
            problem = f"the balloon of {one.name} gets {cpus_text(cpus)} instead of {one.cpus}"
            position, hint = locate(_place(plan, one.name)), f"give it whole cores, {_KUBELET}"
            yield diagnose("CP591", position, name=name, problem=problem, hint=hint)


def started(plan: NodePlan) -> "Policy":
    """The policy on the planned machine; NriError or PanicError where it does not start."""
    from cpuplan.nri.balloons.policy import Policy  # for few plans

    return Policy(*balloons.policy_inputs(plan))


def _place(plan: NodePlan, name: str) -> str:
    if name.startswith(PARTITION):
        return plan.node_class.place(f"pools.isolated.partitions.{name.removeprefix(PARTITION)}")
    return plan.node_class.place("qos.bestEffort" if name == types.BEST_EFFORT else f"pools.{name}")


def _check_left(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    if not types.unassigned(plan):
        yield diagnose(
            "CP593", locate(plan.node_class.place("pools.isolated")), name=plan.node_class.name
        )


def _check_runtime(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """A runtime that does not wait for the plugin, and machines on which it may not start."""
    node_class = plan.node_class
    refuses, field, runtime, since = validator(node_class.target)
    if not refuses:
        position = locate(node_class.place(node_class.target_field(field)))
        problem = f"{runtime} starts containers on all CPUs while the plugin is away"
        hint = (
            f"use version {versions.to_text(since)} or later, where containers wait for the plugin"
        )
        yield diagnose("CP594", position, problem=problem, hint=hint)
    caches = plan.topology.kubelet.caches
    if node_class.architecture != "x86_64" and any(cache.id is None for cache in caches):
        position = locate(node_class.hardware_place("topology.caches", of_key=True))
        problem = f"hardware {node_class.hardware} has caches without ids: the plugin may not start"
        hint = "look for /sys/devices/system/cpu/cpu0/cache/index0/id, and give caches their ids"
        yield diagnose("CP594", position, problem=problem, hint=hint)


def validator(target: Target) -> tuple[bool, str, str, versions.Version]:
    """Whether the runtime refuses containers without a required plugin: (it does, field of its
    release, its name, the first release that does).
    """
    if target.runtime == containerd.NAME:
        name = f"containerd {target.containerd}"
        return containerd.requires_plugins(target), "containerd", name, containerd.HAS_VALIDATOR
    feature = "crio.nri_validator"
    name = f"CRI-O {target.version}"
    return versions.has(target, feature), "version", name, versions.FEATURES[feature]


def _check_unenforced(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """Partitions whose pods may come to other isolated CPUs."""
    isolated = plan.pool("isolated").cpus
    for pool in plan.sets:
        if not pool.name.startswith(PARTITION) or not pool.cpus or pool.cpus == isolated:
            continue
        if not _is_aligned(plan, pool.name, pool.cpus):
            yield diagnose("CP592", locate(_place(plan, pool.name)), partition=pool.name)


def _is_aligned(plan: NodePlan, name: str, cpus: CpuSet) -> bool:
    """Whether the kubelet keeps pods there: by their device, on NUMA nodes that are its own."""
    if plan.node_class.cpu_manager_policy != "static" or plan.spec.pools.isolated is None:
        return False
    partition = plan.spec.pools.isolated.partitions.get(name.removeprefix(PARTITION))
    nodes = (there for there in plan.topology.numa_nodes.values() if there & cpus)
    inside = all(there & plan.pool("isolated").cpus <= cpus for there in nodes)
    near = partition is not None and partition.near is not None
    return inside and near and chosen.topology_policy(plan) in ALIGNING

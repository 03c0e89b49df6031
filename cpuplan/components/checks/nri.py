"""What the NRI resource policies would make of a plan, and partitions that nothing enforces."""

from collections.abc import Iterable, Iterator

from cpuplan.base.cpuset import CpuSet, cpus_text
from cpuplan.components import chosen
from cpuplan.components.checks import base
from cpuplan.components.checks.base import Problem
from cpuplan.components.nri import balloons, policies, topologyaware
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.facts.settings.kubelet import CPU_MANAGER_OPTIONS
from cpuplan.language.model.vocabulary import ALIGNING, PARTITION
from cpuplan.plan import NodePlan
from cpuplan.upstream.kubelet.policy_options import FULL_PCPUS_ONLY
from cpuplan.upstream.kubernetes.errors import PanicError
from cpuplan.upstream.nri.api import RESERVED, NriError
from cpuplan.upstream.nrt.api import NRI_POLICY


def _refused(plan: NodePlan, locate: Locate, problems: Iterable[Problem]) -> list[Diagnostic]:
    """CP590 for each problem."""
    mechanism = plan.node_class.target.mechanism
    return [
        diagnose(
            "CP590",
            locate(plan.node_class.place(field)),
            field=field,
            mechanism=mechanism,
            problem=text,
            hint=hint,
        )
        for field, text, hint in problems
    ]


def _contradicting_both(plan: NodePlan, without_shared: str) -> Iterator[Problem]:
    """Statements that neither policy can keep; the text says why there are no shared CPUs."""
    yield from base.unconfigured_runtime(plan)
    yield from base.static_policy(plan)
    yield from base.other_drivers(plan)
    yield from base.shared_pool(plan, without_shared)
    yield from base.long_name(plan)


def _not_started(plan: NodePlan, locate: Locate, error: Exception) -> Diagnostic:
    """CP591 for a machine on which the plugin ends at once."""
    target = plan.node_class.target
    problem = f"the {target.mechanism} policy does not start: {error}"
    position = locate(plan.node_class.place(plan.node_class.target_field("mechanism")))
    name, hint = plan.node_class.name, "use mechanism: kubelet"
    return diagnose("CP591", position, name=name, problem=problem, hint=hint)


def check_runtime(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP579: a runtime that does not wait for the plugin; CP5320: where it may not start."""
    yield from base.waiting_runtime(plan, locate, "the plugin")
    node_class = plan.node_class
    files = plan.topology.kubelet
    lacks_ids = any(cache.id is None for cache in files.caches)
    is_without = node_class.architecture != "x86_64" and lacks_ids
    if is_without or files.unread_caches & plan.topology.online:
        position = locate(node_class.hardware_place("topology.caches", of_key=True))
        yield diagnose("CP5320", position, hardware=node_class.hardware)


def _check_fields(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP732 and CP733: what only the policies do, of nodes without one."""
    node_class = plan.node_class
    if node_class.target.has_nri_policy:
        return
    mechanism = node_class.target.mechanism
    if node_class.cluster_facts.node_resource_topology.exporter == NRI_POLICY:
        position = locate(node_class.cluster_place("nodeResourceTopology.exporter"))
        yield diagnose("CP732", position, name=node_class.name, mechanism=mechanism)
    if node_class.target.reserved_namespaces:
        field = node_class.target_field("reservedNamespaces")
        position = locate(node_class.place(field))
        yield diagnose("CP733", position, field=field, mechanism=mechanism)


def _check_balloons(plan: NodePlan, locate: Locate) -> list[Diagnostic]:
    """Statements that balloons cannot keep, else what the policy gets wrong."""
    wrong = _refused(plan, locate, _contradicting_balloons(plan))
    return wrong or [
        *_check_balloons_policy(plan, locate),
        *_check_left(plan, locate),
        *check_runtime(plan, locate),
    ]


def _contradicting_balloons(plan: NodePlan) -> Iterator[Problem]:
    without = "no container has shared CPUs beside those of its balloon"
    yield from _contradicting_both(plan, without)
    yield from _qos_problems(plan)


def _qos_problems(plan: NodePlan) -> Iterator[Problem]:
    """QoS sets that share CPUs, or of which nothing is left."""
    field = next(base.qos_fields(plan), None)
    if field is None:
        return
    own = policies.available(plan) - plan.pool("reserved").cpus
    sets = {"bestEffort": own, "other": own}
    sets |= {pool.name: pool.cpus & own for pool in plan.sets if pool.name in sets}
    if common := sets["bestEffort"] & sets["other"]:
        text = f"{cpus_text(common)} would be for all pods, and a CPU is in one balloon"
        yield field, text, f"give both sets, without common CPUs, {base.KUBELET}"
    elif not all(fixed.cpus for fixed in balloons.fixed(plan)):
        text = "partitions and reserved CPUs leave nothing of the set"
        yield field, text, f"give it CPUs of its own, {base.KUBELET}"


def _check_balloons_policy(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """Ask the port of the policy which CPUs the balloons of the planned machine get."""
    name = plan.node_class.name
    try:
        policy = balloons.started(plan)
    except (NriError, PanicError) as error:
        yield _not_started(plan, locate, error)
        return
    got = {balloon.name: CpuSet.from_bits(balloon.cpus) for balloon in policy.state.balloons}
    wanted = {RESERVED: plan.pool("reserved").cpus}
    wanted |= {fixed.name: fixed.cpus for fixed in balloons.fixed(plan)}
    for set_name, planned in wanted.items():
        cpus = got.get(f"{set_name}[0]", CpuSet())
        if cpus != planned:
            problem = f"the balloon of {set_name} gets {cpus_text(cpus)} instead of {planned}"
            position, hint = locate(_place(plan, set_name)), f"give it whole cores, {base.KUBELET}"
            yield diagnose("CP591", position, name=name, problem=problem, hint=hint)


def _place(plan: NodePlan, name: str) -> str:
    if name.startswith(PARTITION):
        return plan.node_class.place(f"pools.isolated.partitions.{name.removeprefix(PARTITION)}")
    return plan.node_class.place(
        "qos.bestEffort" if name == balloons.BEST_EFFORT else f"pools.{name}"
    )


def _check_left(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    if not balloons.unassigned(plan):
        position = locate(plan.node_class.place("pools.isolated"))
        pods = "pods of no partition and no namespace of reserved CPUs"
        yield diagnose(
            "CP593",
            position,
            name=plan.node_class.name,
            pods=pods,
            hint="make a partition smaller, so that the isolated pool has more CPUs than its "
            "partitions",
        )


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


def _check_topology_aware(plan: NodePlan, locate: Locate) -> list[Diagnostic]:
    """Statements that the policy cannot keep, else what it gets wrong."""
    wrong = _refused(plan, locate, _contradicting_topology_aware(plan))
    return wrong or [*_check_topology_aware_policy(plan, locate), *check_runtime(plan, locate)]


def _contradicting_topology_aware(plan: NodePlan) -> Iterator[Problem]:
    without = "what containers share is what no container has alone: its size is not fixed"
    yield from _contradicting_both(plan, without)
    for field in base.partition_fields(plan):
        text = "its pools are the parts of the machine, and none has a name"
        yield field, text, f"leave it out, {base.BALLOONS}"
    for field in base.qos_fields(plan):
        text = "it keeps no QoS class to CPUs of its own"
        yield field, text, f"leave it out, {base.BALLOONS}"
    options = plan.spec.kubelet.cpu_manager_policy_options
    if options.get(FULL_PCPUS_ONLY) == "true":
        text = "it prefers whole cores, but promises none"
        yield f"kubelet.{CPU_MANAGER_OPTIONS.head}", text, f"leave the option out, {base.KUBELET}"


def _check_topology_aware_policy(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """Ask the port of the policy which CPUs are reserved on the planned machine, and shared."""
    node_class = plan.node_class
    try:
        policy = topologyaware.started(plan)
    except (NriError, PanicError) as error:
        yield _not_started(plan, locate, error)
        return
    root = policy.state.root
    reserved = plan.pool("reserved").cpus
    got = CpuSet.from_bits(root.reserved)
    if got != reserved:
        problem = f"{cpus_text(got)} are reserved instead of {cpus_text(reserved)}"
        position = locate(node_class.place("pools.reserved"))
        hint = f"change the pool, {base.KUBELET}"
        yield diagnose("CP591", position, name=node_class.name, problem=problem, hint=hint)
    if not root.sharable:
        yield diagnose(
            "CP593",
            locate(node_class.place("pools.isolated")),
            name=node_class.name,
            pods="containers that share CPUs",
            hint=_hint_to_share(plan),
        )


def _hint_to_share(plan: NodePlan) -> str:
    if policies.isolated(plan) & policies.available(plan):
        return "leave load balancing on for some CPUs: no container shares those without it"
    return "give pods more CPUs than the reserved ones"


def check(plan: NodePlan, locate: Locate) -> list[Diagnostic]:
    """CP579, CP590 to CP593, CP732, CP733 and CP5320."""
    target = plan.node_class.target
    problems = list(_check_fields(plan, locate))
    if not target.has_other_mechanism:
        problems += _check_unenforced(plan, locate)
    elif target.has_balloons:
        problems += _check_balloons(plan, locate)
    elif target.has_topology_aware:
        problems += _check_topology_aware(plan, locate)
    return problems

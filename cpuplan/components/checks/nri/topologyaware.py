"""What the topology-aware policy would make of a plan, and what it has nothing for."""

from collections.abc import Iterator

from cpuplan.base.cpuset import CpuSet, cpus_text
from cpuplan.components.checks.nri import shared
from cpuplan.components.checks.nri.shared import KUBELET, Problem
from cpuplan.components.nri import policies, topologyaware
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.facts.settings.kubelet import CPU_MANAGER_OPTIONS
from cpuplan.language.model.vocabulary import PARTITION
from cpuplan.plan import NodePlan
from cpuplan.upstream.kubelet.policy_options import FULL_PCPUS_ONLY
from cpuplan.upstream.kubernetes.errors import PanicError
from cpuplan.upstream.nri.api import NriError

_BALLOONS = "or use mechanism: balloons"


def check(plan: NodePlan, locate: Locate) -> list[Diagnostic]:
    """Statements that the policy cannot keep, else what it gets wrong."""
    wrong = shared.refused(plan, locate, _contradictions(plan))
    return wrong or [*_check_policy(plan, locate), *shared.check_runtime(plan, locate)]


def _contradictions(plan: NodePlan) -> Iterator[Problem]:
    without = "what containers share is what no container has alone: its size is not fixed"
    yield from shared.contradictions(plan, without)
    for pool in plan.sets:
        if pool.name.startswith(PARTITION) and pool.cpus:
            name = pool.name.removeprefix(PARTITION)
            text = "its pools are the parts of the machine, and none has a name"
            yield f"pools.isolated.partitions.{name}", text, f"leave it out, {_BALLOONS}"
    qos = plan.spec.qos
    for field, given in (("bestEffort", qos.best_effort), ("other", qos.other)):
        if given:
            text = "it keeps no QoS class to CPUs of its own"
            yield f"qos.{field}", text, f"leave it out, {_BALLOONS}"
    options = plan.spec.kubelet.cpu_manager_policy_options
    if options.get(FULL_PCPUS_ONLY) == "true":
        text = "it prefers whole cores, but promises none"
        yield f"kubelet.{CPU_MANAGER_OPTIONS.head}", text, f"leave the option out, {KUBELET}"


def _check_policy(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """Ask the port of the policy which CPUs are reserved on the planned machine, and shared."""
    node_class = plan.node_class
    try:
        policy = topologyaware.started(plan)
    except (NriError, PanicError) as error:
        yield shared.not_started(plan, locate, error)
        return
    root = policy.state.root
    reserved = plan.pool("reserved").cpus
    got = CpuSet.from_bits(root.reserved)
    if got != reserved:
        problem = f"{cpus_text(got)} are reserved instead of {cpus_text(reserved)}"
        position, hint = locate(node_class.place("pools.reserved")), f"change the pool, {KUBELET}"
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

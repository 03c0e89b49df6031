"""Workloads of intents: pods with exclusive CPUs that the kubelet of each node must admit."""

from collections.abc import Iterable, Iterator, Sequence

from cpuplan.base.cpuset import CpuSet, cpus_text, union
from cpuplan.base.text import joined
from cpuplan.components.nri import balloons
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.facts.settings.kubelet import MEMORY_MANAGER_POLICY, TOPOLOGY_MANAGER_POLICY
from cpuplan.language.model.allocators import BOUND
from cpuplan.language.model.pools import Workload
from cpuplan.language.model.vocabulary import PARTITION
from cpuplan.plan import NodePlan
from cpuplan.simulate import admission, room
from cpuplan.simulate.admission import Outcome
from cpuplan.simulate.allocators.base import (
    NOT_SIMULATED,
    TOO_MANY_NODES,
    Allocator,
    Refusal,
    Restarting,
    probe,
)
from cpuplan.solve import budget
from cpuplan.solve.budget import UndecidedError
from cpuplan.solve.layout import Scope
from cpuplan.solve.rules import sizes
from cpuplan.solve.rules.rule import Statements
from cpuplan.upstream.koordinator.extension import qos
from cpuplan.upstream.koordinator.extension.constants import QOS
from cpuplan.upstream.kubernetes.bits import MOST_NODES
from cpuplan.upstream.kubernetes.pod import Pod

#: Seconds of work that `validate` spends on the orders of a class, of its limit.
_ORDERS = 0.5

#: The usual remedy for a pod that is refused.
_MORE_CPUS = (
    "give `isolated` more CPUs where they are missing, request fewer, or use a less strict "
    f"{TOPOLOGY_MANAGER_POLICY.key}"
)
#: The name of their containers, which the intent does not contain.
_CONTAINER = "main"


def pods_of(plan: NodePlan) -> list[Pod]:
    """The pods of the workloads, in the order of the intent: `upf-1`, `upf-2`."""
    return [pod for pod, _ in _pods(plan)]


def _pods(plan: NodePlan) -> Iterator[tuple[Pod, int]]:
    for index, workload in enumerate(plan.spec.workloads):
        pod = sizes.pod_of_workload(workload) or probe(workload.cpus or 0, container=_CONTAINER)
        for number in range(workload.pods * len(_parts(plan, workload))):
            name = f"{workload.name}-{number + 1}"
            yield _annotated(plan, workload, pod._replace(uid=name, name=name)), index


def _annotated(plan: NodePlan, workload: Workload, pod: Pod) -> Pod:
    """The pod as what gives it CPUs knows it: by its claims, its balloon or its QoS class."""
    if plan.node_class.target.has_dra:
        from cpuplan.simulate.dra import with_claims  # for few plans

        return with_claims(plan, workload, pod)
    if plan.node_class.target.has_koordinator:
        labels = {QOS: qos.LSR}
        return pod._replace(labels=labels, priority_class=qos.PROD)
    if not plan.node_class.target.has_balloons or not workload.pool.startswith(PARTITION):
        return pod
    return pod._replace(annotations={balloons.ANNOTATION: workload.pool, **pod.annotations})


def _parts(plan: NodePlan, workload: Workload) -> Sequence[Scope]:
    return sizes.parts_of_workload(Statements(plan.node_class), workload)


def check(plan: NodePlan, locate: Locate, allocator: Restarting) -> Iterator[Diagnostic]:
    """Pods that are refused: in the order of the intent, in another order, or after a restart.

    UndecidedError where the limit of work ends before it is known whether the order of the intent
    works.
    """
    name, origin = plan.node_class.name, plan.node_class.place("workloads")
    made = list(_pods(plan))
    pods = [pod for pod, _ in made]
    written = {pod.uid: f"{origin}.{index}" for pod, index in made}
    if not pods:
        return
    start = allocator.take()
    outcomes = admission.admit(allocator, pods)
    crowded = room.refusal_of_smallest(plan, allocator)
    spread = list(_spread(plan, locate, allocator, zip(outcomes, made, strict=True)))
    again = allocator.restart()
    allocator.restore(start)
    for outcome in outcomes:
        if outcome.refused and outcome.refused.reason == NOT_SIMULATED:
            raise UndecidedError
        if outcome.refused:
            problem = outcome.refused.words
            yield diagnose(
                "CP712",
                locate(written[outcome.pod.uid]),
                name=name,
                pod=outcome.pod.uid,
                problem=problem,
                remedy=_remedy(allocator, outcome.refused),
            )
            return
    for running, refused in again[:1]:
        who, place = (
            (running.uid, written[running.uid]) if running else ("its own state file", origin)
        )
        node, problem = f"a node of class {name}", refused.words
        yield diagnose("CP708", locate(place), node=node, pod=who, problem=problem)
    yield from spread[:1]
    if crowded:
        yield diagnose("CP7648", locate(origin), name=name, problem=crowded.words)
    with budget.part(_ORDERS):
        answer = admission.any_order(allocator, pods)
    if answer.refused:
        came = ", ".join(failing.uid for failing in answer.failing)
        yield diagnose(
            "CP713", locate(origin), name=name, order=came, problem=answer.refused.message
        )


def _remedy(allocator: Allocator, refused: Refusal) -> str:
    """What lets the pod in: where the kubelet looks at too many sets, CPUs are no remedy."""
    if refused.reason != TOO_MANY_NODES:
        return _MORE_CPUS
    kubelet = allocator.kubelet
    managers = []
    if kubelet.memory.policy is not None and len(kubelet.machine.memory) > MOST_NODES:
        managers.append(f"{MEMORY_MANAGER_POLICY.key} to None")
    policy = kubelet.cpus.policy
    if policy is not None and len(policy.topology.numa_nodes) > MOST_NODES:
        managers.append(f"{TOPOLOGY_MANAGER_POLICY.key} to none")
    if managers:
        return f"set {joined(managers)}"
    policy_key = TOPOLOGY_MANAGER_POLICY.key
    return f"set {policy_key} to none, or remove its option prefer-closest-numa-nodes"


def _spread(
    plan: NodePlan,
    locate: Locate,
    allocator: Restarting,
    outcomes: Iterable[tuple[Outcome, tuple[Pod, int]]],
) -> Iterator[Diagnostic]:
    """CP319: pods for a NUMA node that are on several."""
    for outcome, (pod, index) in outcomes:
        workload = plan.spec.workloads[index]
        if workload.per != "numaNode" or outcome.refused:
            continue
        containers = admission.place(allocator, outcome).containers
        cpus = union(CpuSet.from_bits(own.cpus) for own in containers if own.is_exclusive)
        if not any(cpus <= part.cpus for part in _parts(plan, workload)):
            yield diagnose(
                "CP319",
                locate(plan.node_class.place(f"workloads.{index}.per")),
                name=plan.node_class.name,
                pod=pod.uid,
                cpus=cpus_text(cpus),
            )


def check_profiled(plan: NodePlan, locate: Locate, allocator: Allocator) -> Iterator[Diagnostic]:
    """CP731: LSE and LSR pods of profiles for which koord-scheduler finds no CPUs."""
    start = allocator.take()
    for index, workload in enumerate(plan.spec.koordinator.workloads):
        if workload.qos_class not in BOUND or not workload.cpus:
            continue
        from cpuplan.components.koordinator import colocation  # for few plans

        pod = probe(workload.cpus, uid=workload.name)._replace(
            labels={**workload.match_labels, QOS: workload.qos_class},
            annotations=colocation.annotations(plan, workload),
            priority_class=colocation.priority_class(workload),
        )
        refused = allocator.admit(pod).refused
        allocator.restore(start)
        if refused:
            yield diagnose(
                "CP731",
                locate(plan.node_class.place(f"koordinator.workloads.{index}.cpus")),
                name=plan.node_class.name,
                workload=workload.name,
                cpus=workload.cpus,
                problem=refused.message.removeprefix("koord-scheduler: "),
            )

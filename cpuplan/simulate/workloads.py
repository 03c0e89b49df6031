"""Workloads of intents: pods with exclusive CPUs that the kubelet of each node must admit."""

from collections.abc import Iterator

from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.kubelet.pods.pod import Pod
from cpuplan.plan import NodePlan
from cpuplan.simulate import admission, orders
from cpuplan.simulate.allocators.kubelet import KubeletAllocator
from cpuplan.simulate.allocators.probes import probe
from cpuplan.source import Locate

#: Admissions that `validate` spends on the orders of a class: half a second on the largest
#: machines.
_LIMIT = 500

#: The name of their containers, which the intent does not contain.
_CONTAINER = "main"


def pods_of(plan: NodePlan) -> list[Pod]:
    """The pods of the workloads, in the order of the intent: `upf-1`, `upf-2`."""
    return [pod for pod, _ in _pods(plan)]


def _pods(plan: NodePlan) -> Iterator[tuple[Pod, int]]:
    for index, workload in enumerate(plan.spec.workloads):
        for number in range(workload.pods):
            yield probe(workload.cpus, f"{workload.name}-{number + 1}", _CONTAINER), index


def check(plan: NodePlan, locate: Locate, allocator: KubeletAllocator) -> Iterator[Diagnostic]:
    """Pods that are refused: in the order of the intent, in another order, or after a restart."""
    name, origin = plan.node_class.name, plan.node_class.place("workloads")
    made = list(_pods(plan))
    pods = [pod for pod, _ in made]
    written = {pod.uid: f"{origin}.{index}" for pod, index in made}
    if not pods:
        return
    start = allocator.take()
    outcomes = admission.admit(allocator, pods)
    again = allocator.restart()
    allocator.restore(start)
    for outcome in outcomes:
        if outcome.refused:
            problem = f"{outcome.refused.reason}: {outcome.refused.message}"
            yield diagnose(
                "CP712",
                locate(written[outcome.pod.uid]),
                name=name,
                pod=outcome.pod.uid,
                problem=problem,
            )
            return
    for running, refused in again[:1]:
        who, place = (
            (running.uid, written[running.uid]) if running else ("its own state file", origin)
        )
        node, problem = f"a node of class {name}", f"{refused.reason}: {refused.message}"
        yield diagnose("CP708", locate(place), node=node, pod=who, problem=problem)
    answer = orders.any_order(allocator, pods, _LIMIT)
    if answer.refused:
        came = ", ".join(failing.uid for failing in answer.failing)
        yield diagnose(
            "CP713", locate(origin), name=name, order=came, problem=answer.refused.message
        )

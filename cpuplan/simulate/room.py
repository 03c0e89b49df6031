"""Whether an empty node leaves pods anything: CPUs to request, and CPUs of their own.

What gives out the CPUs is asked with the smallest pods that there are. A layout may be right in all
its statements, and leave nothing: `rest` of a machine whose CPUs others have is empty.
"""

from collections.abc import Iterator

from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.language.model.pools import POOLS, Pools, partitions_of
from cpuplan.plan import NodePlan
from cpuplan.simulate.allocators.base import ENDS, Allocator, Refusal, probe
from cpuplan.simulate.allocators.kubelet import KubeletAllocator
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.pod import CPU, Container, Pod

#: The pod of a DaemonSet that requests next to nothing. It is Burstable.
_SMALLEST = Pod(
    "smallest", (), (Container("main", {CPU: quantity.parse("1m")}, {}),), name="smallest"
)


def check(plan: NodePlan, locate: Locate, allocator: Allocator) -> Iterator[Diagnostic]:
    """CP7645 to CP7647: an empty node that admits no pod with a request, or none with its own CPU.

    The allocator is left as it was.
    """
    yield from _empty_rests(plan, locate)
    name = plan.node_class.name
    place = locate(plan.node_class.place("pools.isolated")) or locate(
        plan.node_class.place("pools", of_key=True)
    )
    if refused := refusal_of_smallest(plan, allocator):
        yield diagnose("CP7645", place, name=name, problem=refused.words)
    elif refused := _refusal_of_own(plan, allocator):
        yield diagnose("CP7646", place, name=name, problem=refused.words)


def refusal_of_smallest(plan: NodePlan, allocator: Allocator) -> Refusal | None:
    """Why a pod that requests a thousandth of a CPU is not admitted beside those that are there.

    Schedulers that bind all pods refuse parts of a CPU: then a whole core is requested.
    """
    refused = _refusal(allocator, _SMALLEST)
    return refused if refused and _refusal(allocator, probe(_threads(plan))) else None


def _refusal_of_own(plan: NodePlan, allocator: Allocator) -> Refusal | None:
    """Why no container gets CPUs of its own from the kubelet's static policy."""
    policy = allocator.kubelet.cpus.policy
    if not isinstance(allocator, KubeletAllocator) or policy is None:
        return None
    return _refusal(allocator, probe(_threads(plan) if policy.options.full_pcpus_only else 1))


def _threads(plan: NodePlan) -> int:
    """The CPUs of the machine's widest core, which every policy gives out together."""
    return max(map(len, plan.topology.cores.values()))


def _refusal(allocator: Allocator, pod: Pod) -> Refusal | None:
    """Why a pod is refused, where that is known: other findings name what nobody simulates."""
    start = allocator.take()
    refused = allocator.admit(pod).refused
    allocator.restore(start)
    return None if refused is None or refused.reason in ENDS else refused


def _rests(spec: Pools) -> Iterator[tuple[str, str]]:
    """The pools and partitions that take what others leave, and their fields."""
    for name in POOLS:
        pool = getattr(spec, name)
        if pool is not None and pool.rest:
            yield name, f"pools.{name}.rest"
    for name, partition in partitions_of(spec).items():
        if partition.rest:
            host, _, own = name.partition(".")
            yield name, f"pools.{host}.partitions.{own}.rest"


def _empty_rests(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """Pools, partitions and QoS sets that are to take what others leave, which is nothing.

    An empty isolated pool is what the kubelet is asked about.
    """
    for name, field in _rests(plan.spec.pools):
        if not plan.pool(name).cpus and name != "isolated":
            place = locate(plan.node_class.place(field))
            yield diagnose("CP7647", place, name=plan.node_class.name, pool=name)

"""What `simulate` asks of an allocator: of whatever gives CPUs to the pods of one node.

Also what is asked of every allocator alike: the largest container that it would still admit, and
how much work an admission is.
"""

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from cpuplan.facts.settings.kubelet import TOPOLOGY_MANAGER_POLICY
from cpuplan.simulate.runtimes import Started
from cpuplan.solve import budget
from cpuplan.upstream.kubelet.kubelet import Kubelet
from cpuplan.upstream.kubelet.topologymanager.policy import (
    NONE,
    SINGLE,
    ProviderHints,
    TopologyHint,
)
from cpuplan.upstream.kubelet.topologymanager.scope import AFFINITY_ERROR
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.bits import MOST_NODES
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import CPU, MEMORY, Container, Pod
from cpuplan.upstream.kubernetes.qos import GUARANTEED, pod_qos

if TYPE_CHECKING:
    from cpuplan.simulate.planned import Planned

#: The reason of a refusal by the scheduler, not the kubelet.
UNSCHEDULABLE = "Unschedulable"
#: Reasons of refusals that are not the kubelet's: it does not survive the pod.
HANG, PANIC = "HangError", "PanicError"
#: The kubelet may come to an end, but what it does then is not known here.
TOO_MANY_NODES = "TooManyNumaNodes"
#: The limit of work was reached before: nothing is known of the pod.
NOT_SIMULATED = "NotSimulated"
ENDS = (HANG, PANIC, TOO_MANY_NODES, NOT_SIMULATED)


class UnfitError(Exception):
    """A planned node on which the allocator cannot be simulated, and why."""


class Refusal(NamedTuple):
    """Reason and message of the pod's status, or the end of the kubelet (ENDS)."""

    reason: str
    message: str

    @property
    def words(self) -> str:
        """Reason and message as the pod's status shows them."""
        return f"{self.reason}: {self.message}"


class Move(NamedTuple):
    """A new cpuset of a running container; `is_exclusive`: of its own, not the shared pool's."""

    pod: str
    container: str
    old: int
    new: int
    is_exclusive: bool


class Admission(NamedTuple):
    """Whether a pod is refused, and the cpusets that change for it, in order.

    Without `is_exact` fewer CPUs might have to move, or a refused pod might have room.
    """

    refused: Refusal | None = None
    moves: tuple[Move, ...] = ()
    is_exact: bool = True


class Placed(NamedTuple):
    """An admitted container: its CPUs (exclusive, or the shared pool) and memory NUMA nodes."""

    name: str
    cpus: int
    is_exclusive: bool
    numa_nodes: tuple[int, ...]
    started: Started


class Left(NamedTuple):
    """The free exclusive CPUs, and the largest request of one container that is still admitted.

    By NUMA node it is that of a container with a device there, all CPUs on the node; None where
    nothing aligns them.
    """

    cpus: int
    largest: int
    by_numa_node: dict[int, tuple[int, int | None]]  # free CPUs, as a set, and the largest request
    because: str = ""  # what refuses larger requests, if more CPUs are free


class Overlap(NamedTuple):
    """A CPU that two pods have exclusively; `other` is empty where the CPU is a reserved one."""

    pod: str
    cpu: int
    other: str


class Remainder(NamedTuple):
    """A node after all pods have come."""

    shared_pool: int  # where all containers without exclusive CPUs run
    left: Left | None = None  # None if no container has exclusive CPUs, and after the end
    overlap: Overlap | None = None
    #: Who is refused when the kubelet restarts; None: the kubelet itself does not come up again.
    after_restart: tuple[tuple[Pod | None, Refusal], ...] = ()
    #: What else is wrong: codes of diagnostics, each with an example.
    findings: tuple[tuple[str, str], ...] = ()
    #: Empty, or the limit of work that ended before what is left and a restart were known.
    limit: str = ""


class Allocator(Protocol):
    """One node: pods are admitted one after the other."""

    facts: "Planned"
    gates: Gates
    kubelet: Kubelet

    def admit(self, pod: Pod) -> Admission:
        """Admit a pod as the API server stores it."""

    def remove(self, uid: str) -> tuple[Move, ...]:
        """Remove a pod that has ended, and say which exclusive CPUs move."""

    def place(self, pod: Pod) -> tuple[Placed, ...]:
        """Where the containers of an admitted pod run now."""

    def qos(self, pod: Pod) -> str:
        """The pod's class, for its reader."""

    def sees(self, pod: Pod) -> Hashable:
        """What it heeds of a pod besides its resources: names, labels, annotations."""

    def remainder(self, *, ended: bool = False) -> Remainder:
        """What all pods leave; `ended`: the kubelet did not survive one of them."""

    def take(self) -> Any:
        """This moment between two pods, for `restore`."""

    def restore(self, moment: Any) -> None:
        """Go back to a moment that was taken."""

    def key(self) -> Hashable:
        """The part of the state that decides about the next pod, without requested resources.

        States with equal keys have equal futures.
        """


@runtime_checkable
class Ranking(Allocator, Protocol):
    """An allocator whose scheduler sends a pod to the best node, whatever its kubelet will say."""

    def rank(self, pod: Pod) -> int | None:
        """The score of the node for a pod, the higher the better; None where it is filtered out."""


class Restarting(Allocator, Protocol):
    """An allocator that nodes have, which restarts while pods run."""

    def restart(self) -> list[tuple[Pod | None, Refusal]]:
        """Who is refused then; None stands for the program itself."""


#: Seconds of work, measured on machines of 2 to 16 NUMA nodes: for any pod, for each set of NUMA
#: nodes that a manager looks at, and for a search among layouts that ended at its own limit.
_POD, _SET, _LONG_SEARCH = 0.0002, 0.000_001, 0.2
#: Sets of the memory manager take twice as long as those of the CPU manager.
_MEMORY_SETS = 2


def count_admission(kubelet: Kubelet, pod: Pod) -> None:
    """Count the admission of a pod; UndecidedError when nothing is left of the limit."""
    seconds = _POD
    if pod_qos(pod, kubelet.gates) == GUARANTEED:
        seconds += len(pod.all_containers) * _sets(kubelet) * _SET
    budget.current().step(seconds)


def count_long_search() -> None:
    """Count a search that ended at a limit of its own."""
    current = budget.current()
    if not current.is_over:
        current.step(_LONG_SEARCH)


def _sets(kubelet: Kubelet) -> int:
    """How many sets of NUMA nodes the managers look at for a container."""
    sets = 0
    policy = kubelet.cpus.policy
    if policy is not None:
        by_hints = kubelet.topology_manager.policy.name != NONE
        searches = by_hints + policy.options.distribute_cpus_across_numa
        sets += searches << _counted(len(policy.topology.numa_nodes))
    if kubelet.memory.policy is not None:
        sets += _MEMORY_SETS << _counted(len(kubelet.machine.memory))
    return sets


def _counted(nodes: int) -> int:
    """The NUMA nodes of which all sets are looked at; of more than so many, none are."""
    return nodes if nodes <= MOST_NODES else 0


_PROBE = "probe"
#: Requests above the largest one that are tried to explain it: more than the threads of a core.
_SIZES = 8
#: How the kubelet's text about a part of a core begins, for which a whole one may be admitted.
_PART_OF_CORE = "SMT Alignment Error: requested"
#: Next to no memory.
_MEMORY = quantity.of(1)


def probe(cpus: int, uid: str = _PROBE, container: str = _PROBE) -> Pod:
    """A Guaranteed pod of one container."""
    resources = {CPU: quantity.of(cpus), MEMORY: _MEMORY}
    return Pod(uid, (), (Container(container, resources, resources),), name=uid)


def largest_admitted(
    allocator: Allocator, most: int, within: int, make: Callable[[int], Pod] = probe
) -> int:
    """The largest request from `most` down whose CPUs come from `within`, by pods of `make`."""
    moment = allocator.take()
    for count in range(most, 0, -1):
        fits = _fits(allocator, make(count), within)
        allocator.restore(moment)
        if fits:
            return count
    return 0


def _fits(allocator: Allocator, pod: Pod, within: int) -> bool:
    if allocator.admit(pod).refused:
        return False
    (placed,) = allocator.place(pod)
    return not (placed.is_exclusive and placed.cpus & ~within)


def refusal_above(allocator: Allocator, kubelet: Kubelet, size: int, free: int) -> str:
    """What refuses a request above `size`, the largest; empty if no more CPUs are free.

    Requests of a part of a core are only tried if no larger one is refused for another reason.
    """
    moment = allocator.take()
    reason = ""
    for count in range(size + 1, min(size + _SIZES, free.bit_count()) + 1):
        refused = allocator.admit(probe(count)).refused
        allocator.restore(moment)
        if refused:
            reason = _reason(kubelet, refused, count)
        if refused and not refused.message.startswith(_PART_OF_CORE):
            return reason
    return reason


def _reason(kubelet: Kubelet, refused: Refusal, count: int) -> str:
    """A refusal in words of the configuration."""
    policy = kubelet.topology_manager.policy.name
    if refused.message.startswith(_PART_OF_CORE):
        return f"full-pcpus-only admits whole cores only, not {count} CPUs"
    if refused.reason == AFFINITY_ERROR and policy == SINGLE:
        required = f"{TOPOLOGY_MANAGER_POLICY.key} {SINGLE} requires"
        return f"no NUMA node has {count} free CPUs, which {required}"
    if refused.reason == AFFINITY_ERROR:
        nodes = "as few NUMA nodes as on an empty machine"
        return f"{TOPOLOGY_MANAGER_POLICY.key} {policy} requires {count} free CPUs on {nodes}"
    if refused.reason == f"OutOf{CPU}":
        return f"the requests of all pods leave fewer CPUs: {refused.message}"
    return refused.words


def left_for_probes(allocator: Allocator, kubelet: Kubelet, free: int) -> Left:
    """What further containers could have of the CPUs `free`."""
    policy = kubelet.cpus.policy
    nodes = policy.topology.numa_nodes if policy else {}
    manager = kubelet.topology_manager.policy.name
    sizes = {node: (free & cpus).bit_count() for node, cpus in nodes.items()}
    most = max(sizes.values(), default=0) if manager == SINGLE else free.bit_count()
    by_node: dict[int, tuple[int, int | None]] = {
        node: (
            free & cpus,
            _largest_on(allocator, kubelet, sizes[node], cpus, node) if manager != NONE else None,
        )
        for node, cpus in nodes.items()
    }
    size = largest_admitted(allocator, most, free)
    return Left(free, size, by_node, refusal_above(allocator, kubelet, size, free))


def _largest_on(allocator: Allocator, kubelet: Kubelet, most: int, within: int, node: int) -> int:
    """The same for a container with a device on a NUMA node."""
    hint: ProviderHints = {"device": [TopologyHint(1 << node, preferred=True)]}
    devices = kubelet.devices
    devices.hints[_PROBE, _PROBE], devices.pod_hints[_PROBE] = hint, hint
    try:
        return largest_admitted(allocator, most, within)
    finally:
        devices.hints.clear()
        devices.pod_hints.clear()
        kubelet.topology_manager.forget(_PROBE)

"""What `simulate` asks of an allocator: of whatever gives CPUs to the pods of one node."""

from collections.abc import Hashable
from typing import Any, NamedTuple, Protocol, runtime_checkable

from cpuplan.simulate.runtimes import Started
from cpuplan.upstream.kubelet.kubelet import Kubelet
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import Pod

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

"""What the scheduler wants of a node for a pod (resource_manager.go, ResourceOptions)."""

from typing import NamedTuple

from cpuplan.upstream.koordinator.annotations.pod import FULL_PCPUS, NumaNodeResource
from cpuplan.upstream.koordinator.scheduler.cpus.cpu_accumulator import Wish
from cpuplan.upstream.kubelet.pods.pod import Resources


class Request(NamedTuple):
    """A pod's resources and CPUs, with what it may have of the node.

    `requests` count CPUs amplified where they are bound, `original` never does. `hint` is a mask
    of NUMA nodes, None for no preference. `preferred` and `preemptible` CPUs are given back first.
    """

    uid: str
    requests: Resources
    original: Resources
    cpus: int
    binds_cpus: bool
    wish: Wish
    is_required: bool
    strategy: str
    zones: tuple[NumaNodeResource, ...]
    ratio: float = 0
    hint: int | None = None
    preferred: int = 0
    preemptible: int = 0

    @property
    def needed(self) -> Resources:
        """What is taken of NUMA nodes: bound CPUs as they are."""
        return self.original if self.binds_cpus else self.requests

    @property
    def is_of_cores(self) -> bool:
        """Whether CPUs are given as whole cores or not at all."""
        return self.binds_cpus and self.is_required and self.wish.bind_policy == FULL_PCPUS

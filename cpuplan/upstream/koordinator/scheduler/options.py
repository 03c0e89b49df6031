"""What the scheduler knows of a node's hardware (topology_options.go, TopologyOptions)."""

from collections.abc import Mapping
from typing import NamedTuple

from cpuplan.upstream.koordinator.annotations.pod import NumaNodeResource
from cpuplan.upstream.koordinator.annotations.topology import CpuManagerPolicy
from cpuplan.upstream.koordinator.scheduler.cpus.topology import CPUTopology


class TopologyOptions(NamedTuple):
    """A node's CPUs, those that pods do not get, and its resources by NUMA node.

    Without a NodeResourceTopology there is no topology at all, which is not the same as one without
    CPUs. `ratios` amplify resources; None where the NodeResourceTopology says nothing.
    """

    topology: CPUTopology | None = None
    reserved: int = 0
    numa_nodes: tuple[NumaNodeResource, ...] = ()
    numa_policy: str = ""
    kubelet: CpuManagerPolicy | None = None
    ratios: Mapping[str, float] | None = None
    max_ref_count: int = 1

    @property
    def has_cpus(self) -> bool:
        return self.topology is not None and self.topology.is_valid

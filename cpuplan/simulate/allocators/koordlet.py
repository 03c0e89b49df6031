"""koordlet on a simulated node: what it reports, and which CPUs it writes for pods."""

from collections.abc import Mapping

from cpuplan.simulate.koordinator import Inputs, kubelet_of, machine_of
from cpuplan.upstream.koordinator.koordlet import cpuset, states_noderesourcetopology
from cpuplan.upstream.koordinator.koordlet.states_noderesourcetopology import (
    Node,
    NodeTopology,
    manifest,
)
from cpuplan.upstream.koordinator.nodenumaresource.topology_options import (
    TopologyOptions,
    read_topology_options,
)
from cpuplan.upstream.koordinator.util import parse_cpus
from cpuplan.upstream.kubelet.kubelet import Kubelet
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.pod import Pod

NAME = "node"


class Koordlet:
    """The agent beside a kubelet; pods carry the annotations of the scheduler."""

    def __init__(self, kubelet: Kubelet, inputs: Inputs) -> None:
        self.kubelet, self.inputs = kubelet, inputs
        self.machine = machine_of(kubelet.machine)

    def reported(self, pods: Mapping[str, Pod]) -> NodeTopology | None:
        """The NodeResourceTopology now; None where koordlet cannot make one."""
        kubelet, inputs = self.kubelet, self.inputs
        node = Node(inputs.labels, inputs.node_annotations, kubelet.capacity, kubelet.allocatable)
        config, state = kubelet_of(kubelet.config), kubelet.cpus.dump() or ""
        try:
            return states_noderesourcetopology.compute_node_topology(
                self.machine, node, list(pods.values()), config, state
            )
        except KubeletError:
            return None

    def options(self, pods: Mapping[str, Pod]) -> TopologyOptions:
        """What the scheduler makes of it."""
        reported = self.reported(pods)
        if reported is None:
            return TopologyOptions()
        return read_topology_options(manifest(NAME, self.machine, reported))

    def shared(self, pods: Mapping[str, Pod]) -> int:
        """The CPU shared pool of all NUMA nodes."""
        reported = self.reported(pods)
        pools = reported.ls_pools if reported else ()
        return sum(parse_cpus(pool.cpuset) for pool in pools) or self.kubelet.machine.cpus

    def cpus_of(self, pod: Pod, pods: Mapping[str, Pod]) -> tuple[int, bool] | None:
        """(CPUs, whether they are the pod's own) as koordlet writes them for all its containers.

        None where the kubelet's are left.
        """
        reported = self.reported(pods)
        if reported is None:
            return None
        try:
            given = cpuset.pod_cpus(pod, reported)
            cpus = parse_cpus(_without_gaps(given.cpuset or ""))
        except KubeletError:  # an annotation that somebody wrote
            return None
        if given.source == cpuset.LEFT:
            return None
        if given.source == cpuset.CLEARED:
            return cpuset.be_cgroup(self.machine, reported, pods.values()), False
        return cpus, given.source == cpuset.RESOURCE_STATUS


def _without_gaps(cpus: str) -> str:
    """The list as the kernel and runc read it: the pool of a full NUMA node is empty."""
    return ",".join(filter(None, cpus.split(",")))

"""The work of simulated admissions, by what a kubelet looks at for a pod.

It is computed from the machine and the pod: what was kept in memory of earlier pods makes an
admission faster, but the same input must end at the same pod everywhere.
"""

from cpuplan.solve import effort
from cpuplan.upstream.kubelet.kubelet import Kubelet
from cpuplan.upstream.kubelet.topologymanager.policy import NONE
from cpuplan.upstream.kubernetes.bits import MOST_NODES
from cpuplan.upstream.kubernetes.pod import Pod
from cpuplan.upstream.kubernetes.qos import GUARANTEED, pod_qos

#: Seconds of work, measured on machines of 2 to 16 NUMA nodes: for any pod, for each set of NUMA
#: nodes that a manager looks at, and for a search among layouts that ended at its own limit.
_POD, _SET, _LONG_SEARCH = 0.0002, 0.000_001, 0.2
#: Sets of the memory manager take twice as long as those of the CPU manager.
_MEMORY = 2


def begin(kubelet: Kubelet, pod: Pod) -> None:
    """Count the admission of a pod; UndecidedError when nothing is left of the limit."""
    seconds = _POD
    if pod_qos(pod, kubelet.gates) == GUARANTEED:
        seconds += len(pod.all_containers) * _sets(kubelet) * _SET
    effort.current().step(seconds)


def count_long_search() -> None:
    """Count a search that ended at a limit of its own."""
    current = effort.current()
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
        sets += _MEMORY << _counted(len(kubelet.machine.memory))
    return sets


def _counted(nodes: int) -> int:
    """The NUMA nodes of which all sets are looked at; of more than so many, none are."""
    return nodes if nodes <= MOST_NODES else 0

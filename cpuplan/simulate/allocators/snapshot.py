"""The state of a kubelet at one moment, to restore it and to recognise it."""

from collections.abc import Hashable
from typing import NamedTuple

from cpuplan.upstream.kubelet.cpumanager.state import CPUState
from cpuplan.upstream.kubelet.kubelet import Kubelet
from cpuplan.upstream.kubelet.memorymanager.state import MemoryState, NodeState
from cpuplan.upstream.kubernetes.pod import Pod


class Snapshot(NamedTuple):
    """The states of the managers, and the pods that run."""

    cpus: CPUState
    memory: MemoryState
    active: tuple[Pod, ...]


def take(kubelet: Kubelet) -> Snapshot:
    """The moment between two pods: nothing stale, nothing to reuse."""
    kubelet.cpus.remove_stale_state()
    kubelet.memory.remove_stale_state()
    return Snapshot(
        _copy_cpus(kubelet.cpus.state), _copy_memory(kubelet.memory.state), tuple(kubelet.active)
    )


def restore(kubelet: Kubelet, moment: Snapshot) -> None:
    """Restores the moment, without what init containers left to reuse.

    That is only for the pod that came last.
    """
    if kubelet.cpus.policy:
        kubelet.cpus.policy.cpus_to_reuse = {}
    if kubelet.memory.policy:
        kubelet.memory.policy.reusable = {}
    kubelet.cpus.state, kubelet.memory.state = _copy_cpus(moment.cpus), _copy_memory(moment.memory)
    kubelet.active = list(moment.active)
    kubelet.topology_manager.forget_all()


def key(kubelet: Kubelet) -> Hashable:
    """What the next pod's admission depends on beside its requests; equal moments have one key.

    Who has which CPUs is not in it, only which are left: nobody gives any back.
    """
    nodes = sorted(kubelet.memory.state.machine.items())
    machine = tuple((node, kept.assignments, kept.cells, _free(kept)) for node, kept in nodes)
    return kubelet.cpus.state.default, machine


def _free(node: NodeState) -> tuple[tuple[str, int], ...]:
    """The free bytes of a NUMA node by type."""
    return tuple((kind, table.free) for kind, table in sorted(node.memory.items()))


def _copy_cpus(state: CPUState) -> CPUState:
    return CPUState(state.default, state.entries, state.pod_entries)


def _copy_memory(state: MemoryState) -> MemoryState:
    copied = MemoryState()
    copied.machine = {node: kept.copy() for node, kept in state.machine.items()}
    copied.entries = {pod: dict(containers) for pod, containers in state.entries.items()}
    copied.pod_entries = dict(state.pod_entries)
    return copied

"""Memory for a whole pod, on one group of NUMA nodes (AllocatePod; KEP-5526).

From memorymanager/policy_static.go.
"""

from cpuplan.upstream.kubelet.bits import members
from cpuplan.upstream.kubelet.errors import AdmissionError, KubeletError
from cpuplan.upstream.kubelet.memory.hints import UINT64, Sizes, choose_affinity
from cpuplan.upstream.kubelet.memory.policy_static import StaticPolicy, take_block
from cpuplan.upstream.kubelet.memory.requests import (
    container_requests,
    pod_requests,
    validate_pod_scope_resources,
)
from cpuplan.upstream.kubelet.memory.state import Block, Blocks, MemoryState
from cpuplan.upstream.kubelet.pods.pod import Pod
from cpuplan.upstream.kubelet.pods.qos import GUARANTEED, pod_qos
from cpuplan.upstream.kubelet.topology.hints import TopologyHint


def allocate_pod(
    policy: StaticPolicy, state: MemoryState, pod: Pod, affinity: TopologyHint
) -> None:
    """One block a type for the pod, divided among its containers; KubeletError refuses the pod."""
    if pod_qos(pod, policy.gates) != GUARANTEED:
        return
    try:
        total = pod_requests(pod, policy.gates)
    except KubeletError:
        return
    try:
        validate_pod_scope_resources(pod, policy.gates)
    except KubeletError as error:
        raise AdmissionError("EmptyPodSharedPoolError", str(error)) from None
    reusable = policy.reusable.get(pod.uid, {})
    mask = choose_affinity(
        state.machine, total, reusable, affinity, keep_groups=policy.keeps_groups
    )
    nodes = tuple(members(mask))
    machine = {node: kept.copy() for node, kept in state.machine.items()}
    assigned = _partition(policy, pod, total, nodes)
    state.pod_entries[pod.uid] = _blocks(nodes, total, keep_empty=True)
    for block in state.pod_entries[pod.uid]:
        take_block(machine, block, block.size)
    for name, blocks in assigned.items():
        state.set_blocks(pod.uid, name, blocks)
    state.machine = machine


def _blocks(nodes: tuple[int, ...], sizes: Sizes, *, keep_empty: bool = False) -> Blocks:
    return tuple(
        Block(nodes, kind, size) for kind, size in sorted(sizes.items()) if size or keep_empty
    )


def _partition(
    policy: StaticPolicy, pod: Pod, total: Sizes, nodes: tuple[int, ...]
) -> dict[str, Blocks]:
    """The blocks of each container; containers without exclusive memory share the rest."""
    own = {
        container.name: container_requests(pod, container, policy.gates)
        for container in pod.all_containers
    }
    assigned: dict[str, Blocks] = {}
    left = dict(total)
    for container in pod.init_containers:
        if own[container.name]:
            assigned[container.name] = _blocks(nodes, own[container.name])
        elif not container.is_restartable:
            assigned[container.name] = _blocks(nodes, left)
        if container.is_restartable:
            left = _less(left, own[container.name])
    for container in pod.containers:
        if own[container.name]:
            assigned[container.name] = _blocks(nodes, own[container.name])
            left = _less(left, own[container.name])
    shared = _blocks(nodes, left)
    return {
        container.name: assigned.get(container.name, shared) for container in pod.all_containers
    }


def _less(sizes: Sizes, taken: Sizes) -> dict[str, int]:
    """What is left, without a sign: more than there is leaves a huge amount."""
    return {kind: (sizes.get(kind, 0) - taken.get(kind, 0)) & UINT64 for kind in {**sizes, **taken}}

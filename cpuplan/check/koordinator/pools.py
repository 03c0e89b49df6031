"""Pools of a node, and the CPUs that its pods are bound to."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from cpuplan.check.koordinator.subject import Subject
from cpuplan.cpuset import CpuSet, cpus_text
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.koordinator import keys, qos
from cpuplan.koordinator.annotations.topology import (
    SharedPool,
    kubelet_bound,
    read_pod_cpu_allocs,
    read_shared_pools,
)
from cpuplan.koordinator.cpulists import parse_cpus
from cpuplan.koordinator.koordlet.nodetopology import NodeTopology, bound_cpus
from cpuplan.koordinator.koordlet.reserved import exclusive_system_cpus
from cpuplan.kubelet.errors import KubeletError
from cpuplan.kubelet.pods.pod import Pod
from cpuplan.simulate.koordinatorfiles.objects import Object

_ANNOTATIONS = ("metadata", "annotations")


def pools(subject: Subject, found: Object, wanted: NodeTopology) -> Iterator[Diagnostic]:
    """CP883 by NUMA node. Without the pods, a pool may be smaller, but never larger."""
    try:
        by_kubelet = kubelet_bound(read_pod_cpu_allocs(found.annotations) or ())
        kinds = (
            (keys.CPU_SHARED_POOLS, False, wanted.ls_pools),
            (keys.BE_CPU_SHARED_POOLS, True, wanted.be_pools),
        )
        rows = [
            (key, _sets(read_shared_pools(found.annotations, best_effort=is_be) or ()), _sets(made))
            for key, is_be, made in kinds
            if key in found.annotations
        ]
    except KubeletError as error:
        place = found.source.value_at((*found.at, *_ANNOTATIONS))
        yield diagnose(
            "CP882",
            place,
            node=subject.name,
            key="a pool or list of pods",
            found=f"a value that cannot be read ({error})",
            wanted="what it can read",
        )
        return
    for key, actual, expected in rows:
        yield from _pool(subject, found, key, actual, _less(expected, by_kubelet))


def _less(pools: Mapping[int, int], cpus: int) -> dict[int, int]:
    return {node: members & ~cpus for node, members in pools.items()}


def _pool(
    subject: Subject,
    found: Object,
    key: str,
    actual: Mapping[int, int],
    expected: Mapping[int, int],
) -> Iterator[Diagnostic]:
    has_pods = subject.found.pods is not None
    for node in sorted({*actual, *expected}):
        there, full = actual.get(node, 0), expected.get(node, 0)
        if there == full or (not has_pods and not there & ~full):
            continue
        yield diagnose(
            "CP883",
            found.source.value_at((*found.at, *_ANNOTATIONS, key)),
            key=key,
            numa_node=node,
            found=_text(there),
            wanted=_text(full),
            pods="the pods of the node" if has_pods else "no pod at all",
        )


def _sets(pools: Iterable[SharedPool]) -> dict[int, int]:
    return {pool.node: parse_cpus(pool.cpuset) for pool in pools}


def _text(bits: int) -> str:
    return cpus_text(CpuSet.from_bits(bits))


def bound(
    subject: Subject, pods: Sequence[tuple[Object, Pod]], wanted: NodeTopology
) -> Iterator[Diagnostic]:
    """CP884 for pods whose CPUs are kept back, are not there, or belong to another pod."""
    everything = sum(1 << cpu.cpu for cpu in subject.plan.topology.cpus)
    online = everything & ~subject.plan.pool("offlined").cpus.bits
    kept = parse_cpus(wanted.reservation.reserved_cpus)
    system = exclusive_system_cpus(wanted.system_qos) & ~kept
    taken: list[tuple[str, int]] = []
    for found, pod in pods:
        cpus = bound_cpus(pod)
        rows = [
            (cpus & ~online, "not online"),
            (cpus & kept, "reserved"),
            (cpus & system, f"of pods of the class {qos.SYSTEM}"),
            *((cpus & others, f"also of Pod {name}") for name, others in taken),
        ]
        place = found.source.value_at((*found.at, *_ANNOTATIONS, keys.RESOURCE_STATUS))
        for both, problem in rows:
            if both:
                yield diagnose("CP884", place, pod=_name(pod), cpus=_text(both), problem=problem)
        if cpus:
            taken.append((_name(pod), cpus))


def _name(pod: Pod) -> str:
    return f"{pod.namespace or 'default'}/{pod.name}"

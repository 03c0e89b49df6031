"""Pools of a node, and the CPUs that its pods are bound to."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from cpuplan.base.cpuset import CpuSet, cpus_text
from cpuplan.check.cluster.subject import Subject
from cpuplan.plan.expected.answer import Answer, Heals
from cpuplan.simulate.koordinatorfiles.objects import Object
from cpuplan.upstream.koordinator.extension import constants, qos
from cpuplan.upstream.koordinator.extension.numa_aware import (
    SharedPool,
    kubelet_bound,
    read_pod_cpu_allocs,
    read_shared_pools,
)
from cpuplan.upstream.koordinator.koordlet.states_noderesourcetopology import (
    NodeTopology,
    bound_cpus,
    exclusive_system_cpus,
)
from cpuplan.upstream.koordinator.util import parse_cpus
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.pod import Pod

_ANNOTATIONS = ("metadata", "annotations")


def pools(subject: Subject, found: Object, wanted: NodeTopology) -> Iterator[Answer]:
    """CP883 by NUMA node. Without the pods, a pool may be smaller, but never larger."""
    try:
        by_kubelet = kubelet_bound(read_pod_cpu_allocs(found.annotations) or ())
        kinds = (
            (constants.CPU_SHARED_POOLS, False, wanted.ls_pools),
            (constants.BE_CPU_SHARED_POOLS, True, wanted.be_pools),
        )
        rows = [
            (key, _sets(read_shared_pools(found.annotations, best_effort=is_be) or ()), _sets(made))
            for key, is_be, made in kinds
            if key in found.annotations
        ]
    except KubeletError as error:
        observed = f"a value that cannot be read ({error})"
        yield subject.differs(
            "koordlet pools",
            "CP882",
            (found, _ANNOTATIONS),
            observed=observed,
            expected="what it can read",
            node=subject.node,
            key="a pool or list of pods",
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
) -> Iterator[Answer]:
    has_pods = subject.objects.is_known("Pod")
    for node in sorted({*actual, *expected}):
        there, full = actual.get(node, 0), expected.get(node, 0)
        fact = f"koordlet {key} of NUMA node {node}"
        if there == full or (not has_pods and not there & ~full):
            yield subject.held(fact, found, _text(there))
            continue
        yield subject.differs(
            fact,
            "CP883",
            (found, (*_ANNOTATIONS, key)),
            observed=_text(there),
            expected=_text(full),
            heals=Heals.LIVE,
            key=key,
            numa_node=node,
            pods="the pods of the node" if has_pods else "no pod at all",
        )


def _sets(pools: Iterable[SharedPool]) -> dict[int, int]:
    return {pool.node: parse_cpus(pool.cpuset) for pool in pools}


def _text(bits: int) -> str:
    return cpus_text(CpuSet.from_bits(bits))


def bound(
    subject: Subject, pods: Sequence[tuple[Object, Pod]], wanted: NodeTopology
) -> Iterator[Answer]:
    """CP884 for pods whose CPUs are kept back, are not there, or belong to another pod."""
    expected = subject.expected
    everything = sum(1 << cpu.cpu for cpu in expected.topology.cpus)
    online = everything & ~expected.pool("offlined").cpus.bits
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
        yield from _wrong(subject, found, _name(pod), [row for row in rows if row[0]])
        if cpus:
            taken.append((_name(pod), cpus))


def _wrong(
    subject: Subject, found: Object, pod: str, rows: Sequence[tuple[int, str]]
) -> Iterator[Answer]:
    fact = f"koordlet CPUs of Pod {pod}"
    if not rows:
        yield subject.held(fact, found)
    for cpus, problem in rows:
        yield subject.differs(
            fact,
            "CP884",
            (found, (*_ANNOTATIONS, constants.RESOURCE_STATUS)),
            observed=_text(cpus),
            expected="",
            heals=Heals.LIVE,
            pod=pod,
            cpus=_text(cpus),
            problem=problem,
        )


def _name(pod: Pod) -> str:
    return f"{pod.namespace or 'default'}/{pod.name}"

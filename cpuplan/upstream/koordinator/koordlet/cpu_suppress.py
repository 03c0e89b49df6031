"""Squeezing best-effort pods into fewer CPUs.

Upstream: koordinator-sh/koordinator pkg/koordlet/qosmanager/plugins/cpusuppress/cpu_suppress.go
  @ 989ca85c62abcca92b303aa12fd2ccff2ed30fed
"""

import contextlib
from collections.abc import Iterable, Sequence
from itertools import pairwise

from cpuplan.upstream.koordinator.extension import qos
from cpuplan.upstream.koordinator.extension.node import reserved_cpus
from cpuplan.upstream.koordinator.extension.numa_aware import CpuInfo
from cpuplan.upstream.koordinator.koordlet.states_noderesourcetopology import (
    bound_cpus,
    exclusive_system_cpus,
    node_system_qos,
)
from cpuplan.upstream.koordinator.util import Annotations, parse_cpus
from cpuplan.upstream.kubernetes.errors import KubeletError, PanicError
from cpuplan.upstream.kubernetes.pod import Pod

_LEAST_CPUS = 2
#: The set grows by at most a tenth of the machine at a time.
_STEPS = 10


def suppress(
    cpus: Sequence[CpuInfo],
    pods: Iterable[Pod],
    annotations: Annotations,
    milli: int,
    old: int,
) -> list[int]:
    """The CPUs of best-effort pods, in the order in which they are chosen (adjustByCPUSet).

    `milli` is what they may use in thousandths of a CPU, `old` the set that they have, and
    `annotations` those of the NodeResourceTopology. CPUs of LSR pods and others are taken by their
    share; those of LSE pods never. PanicError where no CPU is left: koordlet crashes.
    """
    lsr, others = _candidates(cpus, pods, annotations)
    wanted = max(-(-milli // 1000), _LEAST_CPUS)
    wanted = min(wanted, old.bit_count() + -(-len(cpus) // _STEPS))
    if not lsr and not others:
        raise PanicError("runtime error: integer divide by zero")
    of_lsr = wanted * len(lsr) // (len(lsr) + len(others))
    return choose(of_lsr, lsr) + choose(wanted - of_lsr, others)


def _candidates(
    cpus: Sequence[CpuInfo], pods: Iterable[Pod], annotations: Annotations
) -> tuple[list[CpuInfo], list[CpuInfo]]:
    classes: dict[int, str] = {}
    for pod in pods:
        bound = bound_cpus(pod)
        classes |= {cpu.id: qos.given_qos(pod) for cpu in cpus if bound >> cpu.id & 1}
    kept = _kept_back(annotations)
    free = [cpu for cpu in cpus if not kept >> cpu.id & 1]
    lsr = [cpu for cpu in free if classes.get(cpu.id) == qos.LSR]
    return lsr, [cpu for cpu in free if classes.get(cpu.id) not in (qos.LSE, qos.LSR)]


def _kept_back(annotations: Annotations) -> int:
    """Reserved CPUs and those of system pods; what cannot be read keeps nothing back."""
    kept = 0
    with contextlib.suppress(KubeletError):
        kept |= parse_cpus(reserved_cpus(annotations)[0])
    with contextlib.suppress(KubeletError):
        kept |= exclusive_system_cpus(node_system_qos(annotations))
    return kept


def choose(count: int, cpus: Sequence[CpuInfo]) -> list[int]:
    """`count` CPUs, pairs of siblings first, from NUMA nodes in turn; none where too few are there.

    calculateBESuppressCPUSetPolicy: nodes with more CPUs come first.
    """
    if count < 1 or len(cpus) < count:
        return []
    nodes = _by_node(cpus)
    chosen, turn = _pairs(nodes, count)
    return chosen + _singles(nodes, set(chosen), count - len(chosen), turn)


def _by_node(cpus: Sequence[CpuInfo]) -> list[list[CpuInfo]]:
    """Nodes by the number that upstream makes of node and socket, which can fall together."""
    groups: dict[int, list[CpuInfo]] = {}
    for cpu in cpus:
        groups.setdefault((cpu.node + len(cpus)) * (cpu.socket + 1), []).append(cpu)
    nodes = [sorted(group, key=lambda cpu: (cpu.core, cpu.id)) for group in groups.values()]
    return sorted(nodes, key=lambda node: (-len(node), node[0].id))


def _pairs(nodes: Sequence[Sequence[CpuInfo]], count: int) -> tuple[list[int], int]:
    """Siblings that follow each other, and the node whose turn is next."""
    chosen: list[int] = []
    turn, before = 0, -1
    while count - len(chosen) > 1:
        if turn == 0:
            if before == len(chosen):
                break
            before = len(chosen)
        chosen += _next_pair(nodes[turn], chosen)
        turn = (turn + 1) % len(nodes)
    return chosen, turn


def _next_pair(node: Sequence[CpuInfo], used: Sequence[int]) -> list[int]:
    """The second CPU of a pair may be used already: only the first is looked at."""
    for first, second in pairwise(node):
        if first.id not in used and first.core == second.core:
            return [first.id, second.id]
    return []


def _singles(
    nodes: Sequence[Sequence[CpuInfo]], used: set[int], count: int, turn: int
) -> list[int]:
    chosen: list[int] = []
    left = sum(cpu.id not in used for node in nodes for cpu in node)
    while len(chosen) < min(count, left):
        for cpu in nodes[turn]:
            if cpu.id not in used:
                chosen.append(cpu.id)
                used.add(cpu.id)
                break
        turn = (turn + 1) % len(nodes)
    return chosen

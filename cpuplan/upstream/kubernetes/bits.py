"""Sets as bits of integers: CPUs (utils/cpuset) and masks of NUMA nodes (bitmask).

Upstream: kubernetes/kubernetes vendor/k8s.io/utils/cpuset/cpuset.go
  pkg/kubelet/cm/topologymanager/bitmask/bitmask.go @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

from collections.abc import Iterable
from functools import cache
from itertools import chain, combinations

from cpuplan.base.cpuset import CpuSet
from cpuplan.upstream.kubernetes.errors import (
    NIL_DEREFERENCE,
    KubeletError,
    PanicError,
    TooManySetsError,
)
from cpuplan.upstream.kubernetes.strconv import atoi, quote

#: The kubelet lists every CPU of a range: no machine has the memory for more than this.
_MOST = 1 << 24
#: NUMA nodes of which all sets are looked at here: a tenth of a second for each request.
MOST_NODES = 16


def bits_of(members: Iterable[int]) -> int:
    """The set of `members`.

    A NUMA node has a negative number where cAdvisor takes that of a package that has none: the
    kubelet's bitmask refuses it, and whoever asked for the mask uses what it did not get.
    """
    bits = 0
    try:
        for member in members:
            bits |= 1 << member
    except ValueError:
        raise PanicError(NIL_DEREFERENCE) from None
    return bits


def members(bits: int) -> list[int]:
    """The members, ascending."""
    numbers = []
    while bits:
        low = bits & -bits
        numbers.append(low.bit_length() - 1)
        bits ^= low
    return numbers


def union(sets: Iterable[int]) -> int:
    """What is in any of the sets."""
    together = 0
    for bits in sets:
        together |= bits
    return together


def to_text(bits: int) -> str:
    """`0-3,8`, as the kubelet prints CPU sets."""
    return str(CpuSet.from_bits(bits))


def parse_cpus(text: str) -> int:
    """cpuset.Parse: unlike CpuSet.parse it takes CPUs twice, in any order and with a plus sign.

    KubeletError with the text of the kubelet.
    """
    bits = 0
    for item in text.split(",") if text else ():
        first, dash, rest = item.partition("-")
        start = end = atoi(first)
        if dash:
            end = atoi(rest)
        if start > end:
            raise KubeletError(f"invalid range {quote(item)} ({start} > {end})")
        if end > _MOST:
            raise PanicError("runtime: out of memory")
        bits |= (1 << end + 1) - (1 << start)
    return bits


@cache
def masks_over(nodes: tuple[int, ...]) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Pairs (mask, its nodes), smaller masks first (bitmask.IterateBitMasks).

    Masks of one size come in the order of the given nodes. TooManySetsError for many nodes.
    """
    if len(nodes) > MOST_NODES:
        raise TooManySetsError(1 << len(nodes), len(nodes))
    sizes = range(1, len(nodes) + 1)
    groups = chain.from_iterable(combinations(nodes, size) for size in sizes)
    return tuple((bits_of(group), group) for group in groups)


def narrower(mask: int, other: int) -> bool:
    """Fewer nodes or, of as many, the smaller number (bitmask.IsNarrowerThan)."""
    return (mask.bit_count(), mask) < (other.bit_count(), other)

"""The CPUs of init and of kernel threads after a boot of Linux 6.12."""

from collections.abc import Iterator
from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet
from cpuplan.upstream.linux.housekeeping import Housekeeping, Work


class Hardware(NamedTuple):
    """The machine that boots, as bits: all CPUs that it may ever have, the first thread of each
    core, and NUMA node 0, on which kswapd0 runs.
    """

    possible: int
    first_threads: int
    node0: int
    #: The CPU that boots the others.
    boot: int = 0


class Threads(NamedTuple):
    """The CPUs of init and of kernel threads, as bits; several where threads of a name differ."""

    init: int
    kthreadd: int
    kswapd0: int
    rcu_preempt: int
    unbound_kworkers: tuple[int, ...]
    rcuog: tuple[int, ...] = ()
    #: CPUs that have a thread rcuop for their callbacks.
    rcuop: int = 0


def threads_of(
    housekeeping: Housekeeping,
    machine: Hardware,
    online: int,
    brought_up: int,
    workqueue: int,
    *,
    has_callbacks: bool,
) -> Threads:
    """The CPUs of threads; `brought_up` were online at some time of the boot."""
    first = 1 << machine.boot
    kthreads, rcu = housekeeping.cpus(Work.KTHREAD), housekeeping.cpus(Work.RCU)
    # Both start while only the boot CPU runs; CPUs that do not run yet are refused.
    kthreadd = kthreads if kthreads & first else first
    rcu_preempt = rcu if rcu & first else kthreadd
    callback_threads = tuple(_callback_threads(kthreads, kthreadd, brought_up))
    # A worker that exists when a CPU comes up gets those of its CPUs that are online.
    workers = {workqueue, workqueue & online or workqueue}
    return Threads(
        init=housekeeping.cpus(Work.DOMAIN),
        kthreadd=kthreadd,
        kswapd0=machine.node0 & online,
        rcu_preempt=rcu_preempt,
        unbound_kworkers=tuple(sorted(workers)),
        rcuog=callback_threads if has_callbacks else (),
        rcuop=brought_up if has_callbacks else 0,
    )


def _callback_threads(kthreads: int, kthreadd: int, brought_up: int) -> Iterator[int]:
    """The CPUs of threads rcuog: each is made when the first CPU of its group comes up.

    A group has as many CPUs as the square root of all (kernel/rcu/tree_nocb.h).
    """
    count = brought_up.bit_count()
    stride = max(int(count**0.5), 1)
    seen: set[int] = set()
    running = brought_up & -brought_up
    for cpu in list(CpuSet.from_bits(brought_up))[::stride]:
        running |= brought_up & ((1 << cpu) - 1)
        seen.add(kthreads if kthreads & running else kthreadd)
    yield from sorted(seen)

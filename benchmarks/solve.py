"""What solving costs, beyond the import of the solver.

`python -m benchmarks.solve [RUNS]`: medians of processor time and of wall time, side by side with
what is allowed.
"""

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from benchmarks import mistakes
from benchmarks.recorded import recorded
from cpuplan.diagnostics import CpuplanError
from cpuplan.plan import NodeClass
from cpuplan.solve import layouts, model, solver
from cpuplan.solve.rules import problem_of
from tests.unit.solve.problems import locate, machine, node_class

#: The seconds after which a case that has no end is left.
MOST = 20.0
#: Two sockets of 224 cores with two threads, 64 caches of 7 cores, NPS4.
LARGE = machine(448, 2, sockets=2, numa_nodes=8, caches=64)
#: Eight pools and partitions, with numbers per NUMA node and socket, places, and neighbours by
#: cache.
EIGHT_POOLS: dict[str, Any] = {
    "reserved": {"cores": 1, "per": "numaNode"},
    "shared": {"cores": 10, "numaNodes": "0"},
    "isolated": {
        "rest": True,
        "partitions": {
            "dpdk": {"cores": 20, "numaNodes": "1"},
            "ai": {"cores": 30, "apart": {"isolated.dpdk": "cache"}},
            "db": {"cores": 3, "per": "socket"},
        },
    },
    "isolcpus": {"cores": 9, "sockets": "1"},
    "offlined": {"percent": 5},
}
TOO_MANY = EIGHT_POOLS | {"isolcpus": {"cores": 221, "sockets": "1"}}
#: Two sockets of 192 cores with two threads, 32 caches, NPS4.
CACHES = machine(384, 2, sockets=2, numa_nodes=8, caches=32)
#: Two sockets of 480 cores with two threads, 120 caches, NPS4.
LARGEST = machine(960, 2, sockets=2, numa_nodes=8, caches=120)
#: Two sockets of 256 cores with two threads, 64 caches, NPS4.
MIDDLE = machine(512, 2, sockets=2, numa_nodes=8, caches=64)
#: Two sockets of 384 cores with two threads, 96 caches, NPS4.
WIDE = machine(768, 2, sockets=2, numa_nodes=8, caches=96)
#: Two sockets of 960 cores with one thread, 120 caches, NPS4.
SINGLE = machine(1920, sockets=2, numa_nodes=8, caches=120)
#: For machines of all sizes.
COMMON: dict[str, Any] = {"reserved": {"percent": 10}, "shared": {"percent": 5}}


def seconds(work: Callable[[], object], runs: int) -> tuple[float, float]:
    """Medians of processor time and wall time."""
    times = []
    for _ in range(runs):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        times.append((time.process_time() - cpu, time.perf_counter() - wall))
    return statistics.median(cpu for cpu, _ in times), statistics.median(wall for _, wall in times)


def refused(node: NodeClass) -> None:
    """Explain why there is no layout."""
    try:
        solver.solve(node, locate)
    except CpuplanError:
        return
    raise AssertionError("there is a layout")


def unfit(node: NodeClass) -> None:
    """Find that there is no layout."""
    if model.feasible(problem_of(node)):
        raise AssertionError("there is a layout")


def tenants(cores: Sequence[int], level: str = "cache") -> dict[str, Any]:
    """Pools with partitions of so many cores, each apart from all others."""
    pools: dict[str, Any] = mistakes.tenants(cores, level)["pools"]
    return pools | {"reserved": {"cores": 1, "per": "numaNode"}, "shared": {"cores": 8}}


#: Many equal parts of a machine, and tenants that share none of them.
ALIKE = {
    "768 CPUs, 32 caches, 2 tenants": node_class(CACHES, tenants([100, 120])),
    "896 CPUs, 64 caches, 2 tenants": node_class(LARGE, tenants([100, 120])),
    "896 CPUs, 2 tenants apart by NUMA node": node_class(LARGE, tenants([100, 120], "numaNode")),
    "896 CPUs, 64 caches, 12 tenants": node_class(LARGE, tenants([4] * 12)),
    "896 CPUs, 64 caches, 24 tenants": node_class(LARGE, tenants([4] * 24)),
    "1,024 CPUs, 64 caches, 4 tenants of 64 cores": node_class(MIDDLE, tenants([64] * 4)),
    "1,024 CPUs, 64 caches, 4 tenants of 60 to 90 cores": node_class(
        MIDDLE, tenants([60, 70, 80, 90])
    ),
    "1,024 CPUs, 64 caches, 4 tenants of 100 cores": node_class(MIDDLE, tenants([100] * 4)),
    "1,024 CPUs, 64 caches, 6 tenants of 10 to 60 cores": node_class(
        MIDDLE, tenants([10, 20, 30, 40, 50, 60])
    ),
    "1,024 CPUs, 64 caches, 30 tenants of 5 cores": node_class(MIDDLE, tenants([5] * 30)),
    "1,536 CPUs, 96 caches, 10 tenants of 30 cores": node_class(WIDE, tenants([30] * 10)),
    "1,920 CPUs, 120 caches, 6 tenants of 11 to 83 cores": node_class(
        LARGEST, tenants([11, 23, 37, 48, 61, 83])
    ),
    "1,920 CPUs, 120 caches, 20 tenants of 20 cores": node_class(LARGEST, tenants([20] * 20)),
    "1,920 CPUs, 120 caches, 24 tenants of 9 cores": node_class(LARGEST, tenants([9] * 24)),
    "1,920 CPUs, 120 caches, 40 tenants of 12 cores": node_class(LARGEST, tenants([12] * 40)),
    "1,920 single threads, 16 tenants of 50 cores": node_class(SINGLE, tenants([50] * 16)),
    "1,920 CPUs, 120 caches, 2 tenants": node_class(LARGEST, tenants([200, 240])),
    "1,920 CPUs, 2 tenants apart by NUMA node": node_class(
        LARGEST, tenants([200, 240], "numaNode")
    ),
}


def unlike(cpus: int) -> list[NodeClass]:
    """Machines with the same CPUs, which number siblings and divide NUMA nodes in unlike ways."""
    machines = [
        machine(cpus // 2, 2, sockets=2, numa_nodes=2, caches=8),
        machine(cpus // 2, 2, sockets=2, numa_nodes=8, caches=32),
        machine(cpus, 1, sockets=2, numa_nodes=4, caches=16),
        machine(cpus // 2, 2, sockets=1, numa_nodes=4, caches=16),
    ]
    partitions = {"dpdk": {"count": cpus // 8}, "ai": {"count": cpus // 8}}
    pools = {
        "reserved": {"count": cpus // 16},
        "shared": {"count": cpus // 16},
        "isolated": {"rest": True, "partitions": partitions},
        "isolcpus": {"count": cpus // 16},
        "offlined": {"count": cpus // 16},
    }
    first = node_class(machines[0], pools)
    return [
        NodeClass(**(vars(first) | {"topology": topology, "hardware": f"hw{number}"}))
        for number, topology in enumerate(machines)
    ]


def explained() -> None:
    """Two lines: all kinds of mistakes on all recorded machines, and the slowest of them."""
    cases = [case for of_kind in mistakes.survey(MOST).values() for case in of_kind]
    late = sum(case.seconds > mistakes.LIMIT for case in cases)
    slowest = max(cases, key=lambda case: case.seconds)
    middle = statistics.median(case.seconds for case in cases)
    row(f"{len(cases)} conflicts of recorded machines, {late} late: median", (middle, middle), 2)
    seconds_of_it = slowest.seconds, slowest.seconds
    row(f"the slowest: {slowest.hardware}", seconds_of_it, mistakes.LIMIT)


def row(name: str, times: tuple[float, float], limit: float) -> None:
    """One line of the table, in milliseconds."""
    cpu, wall = (1000 * number for number in times)
    print(f"{name:<58}{cpu:>8.1f}{wall:>9.1f}{1000 * limit:>7.0f}")


def main() -> None:
    """Print a table."""
    import ortools.sat.python.cp_model  # noqa: F401 - its import is not what is measured

    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    large = node_class(LARGE, EIGHT_POOLS)
    plan = solver.solve(large, locate)
    layout = {pool.name: pool.cpus for pool in (*plan.pools, *plan.sets)}
    print(f"{'milliseconds':<58}{'CPU':>8}{'wall':>9}{'limit':>7}")
    row(
        "896 CPUs, 64 caches, 8 pools: solved and proven",
        seconds(lambda: solver.solve(large, locate), runs),
        1,
    )
    row("the same, a layout verified", seconds(lambda: solver.verify(large, layout), runs), 0.005)
    too_many = node_class(LARGE, TOO_MANY)
    row(
        "the same with too many CPUs asked for, explained",
        seconds(lambda: refused(too_many), runs),
        2,
    )
    for name, node in ALIKE.items():
        row(name, seconds(partial(solver.solve, node, locate), runs), 2)
    too_many = node_class(CACHES, tenants([1] * 33))
    row("33 tenants on 32 caches, refused", seconds(lambda: unfit(too_many), runs), 2)
    row("the same, explained", seconds(lambda: refused(too_many), 1), 2)
    for cpus in (256, 896):
        work = partial(layouts.solve_common, unlike(cpus), locate)
        row(f"one layout for 4 unlike machines of {cpus} CPUs", seconds(work, runs), 1)
    nodes = [node_class(topology, COMMON) for _, topology in recorded()]
    if nodes:
        explained()
        times = [seconds(partial(solver.solve, node, locate), 1) for node in nodes]
        middle = (
            statistics.median(cpu for cpu, _ in times),
            statistics.median(wall for _, wall in times),
        )
        row(f"{len(nodes)} machines of the corpus, median", middle, 0.05)


if __name__ == "__main__":
    main()

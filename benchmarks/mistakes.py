"""Explaining why there is no layout: kinds of mistakes, each on every recorded machine.

`python -m benchmarks.mistakes [SECONDS] [WORD]`: a line for each kind (those with the word in their
names), with the median, the slowest machine and how many took longer than allowed. A case ends after
so many seconds of CPU time (30).
"""

import signal
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from benchmarks.recorded import recorded
from cpuplan.cpuset import EMPTY
from cpuplan.diagnostics import CpuplanError
from cpuplan.model.topology import UNKNOWN, Topology
from cpuplan.plan import NodeClass
from cpuplan.solve import solver
from tests.unit.solve.problems import locate, node_class

LIMIT = 2.0
#: All of them, the lock's among them.
GOALS = ["fewest-moved", "fewest-split-cores", "locality", "balance", "most-isolated"]


class Case(NamedTuple):
    """How long one mistake took on one machine; endless if it was ended."""

    seconds: float
    hardware: str


class TooLongError(Exception):
    """A case took longer than anybody waits."""


def tenants(cores: Sequence[int], level: str = "cache") -> dict[str, Any]:
    """Pools with partitions of so many cores, each apart from all others."""
    partitions: dict[str, dict[str, Any]] = {}
    for number in cores:
        apart = {f"isolated.{other}": level for other in partitions}
        partitions[f"t{len(partitions)}"] = {"cores": number} | ({"apart": apart} if apart else {})
    isolated = {"rest": True, "partitions": partitions}
    return {"reserved": {"cores": 1}, "isolated": isolated}


def _parts(number: int, **size: Any) -> dict[str, Any]:
    return {"rest": True, "partitions": {f"p{index}": dict(size) for index in range(number)}}


def mistakes(topology: Topology) -> Iterator[tuple[str, dict[str, Any]]]:
    """What an intent's spec says that does not fit a machine, in ways in which people err."""
    yield from _sizes(topology)
    yield from _places(topology)
    yield from _neighbours(topology)
    yield from _several(topology)


def _sizes(topology: Topology) -> Iterator[tuple[str, dict[str, Any]]]:
    cores, nodes = len(topology.cores), topology.numa_nodes.values()
    most = max(len({topology[cpu].core for cpu in node}) for node in nodes)
    caches = max(len(cache) for cache in topology.uncore_caches.values())
    yield "too many cores", {"pools": {"reserved": {"cores": 2}, "isolated": {"cores": cores}}}
    yield (
        "a number per NUMA node that the smallest does not have",
        {
            "pools": {
                "reserved": {"cores": 1, "per": "numaNode"},
                "shared": {"cores": most, "per": "numaNode"},
            }
        },
    )
    yield (
        "a number per cache that no cache has",
        {"pools": {"reserved": 0, "shared": {"count": caches + 1, "per": "cache"}}},
    )
    yield (
        "percents over 100",
        {
            "pools": {
                "reserved": {"percent": 10},
                "shared": {"percent": 30},
                "offlined": {"percent": 25},
                "isolated": {"percent": 50},
            }
        },
    )
    yield (
        "offlined and others",
        {
            "pools": {
                "reserved": {"cores": 1, "per": "numaNode"},
                "offlined": {"cores": cores // 2 + 1},
                "isolated": {"cores": cores // 2, "partitions": {"dpdk": {"cores": 1}}},
            }
        },
    )
    yield (
        "siblings",
        {
            "pools": {
                "reserved": {"cores": 1},
                "isolated": {"count": cores + cores // 2 + 1, "sibling": "idle"},
                "shared": "rest",
            }
        },
    )
    caches = len(topology.uncore_caches)
    yield (
        "whole caches",
        {
            "pools": {
                "reserved": {"cores": 1, "per": "numaNode"},
                "isolated": _parts(2, wholeCaches=caches // 2 + 1),
            }
        },
    )
    yield (
        "pods",
        {
            "pools": {"reserved": {"cores": 1, "per": "numaNode"}, "isolated": "rest"},
            "workloads": [
                {"name": "du", "cpus": 2, "pods": most, "per": "numaNode"},
                {"name": "cu", "cpus": 4, "pods": cores // 2},
            ],
        },
    )
    yield (
        "QoS sets",
        {
            "pools": {"reserved": {"cores": 1}, "isolated": "rest"},
            "qos": {
                "bestEffort": {"cores": cores // 2 + 1, "apart": {"other": "core"}},
                "other": {"cores": cores // 2 + 1},
            },
        },
    )


def _first_node(topology: Topology) -> int:
    """The lowest NUMA node with CPUs, which may be none that is known."""
    return min(topology.numa_nodes, key=lambda node: (node == UNKNOWN, node))


def _places(topology: Topology) -> Iterator[tuple[str, dict[str, Any]]]:
    node = _first_node(topology)
    first = topology.numa_nodes[node]
    cores = len({topology[cpu].core for cpu in first})
    caches = [
        len({topology[cpu].core for cpu in cache}) for cache in topology.uncore_caches.values()
    ]
    types = {cpu.core_type for cpu in topology.cpus} - {""}
    kind = "efficient" if "efficient" in types else max(types, default="performance")
    of_kind = {cpu.core for cpu in topology.cpus if cpu.core_type == kind}
    yield (
        "a NUMA node that does not exist",
        {"pools": {"reserved": {"cores": 1}, "shared": {"cores": 1, "numaNodes": 999}}},
    )
    yield (
        "a NUMA node that is too small",
        {
            "pools": {
                "reserved": {"cores": 1},
                "shared": {"cores": cores + 1, "numaNodes": max(node, 0)},
            }
        },
    )
    yield (
        "kinds of cores",
        {
            "pools": {
                "reserved": {"cores": 1},
                "shared": {"cores": len(of_kind) + 1, "coreTypes": [kind]},
            }
        },
    )
    yield (
        "within a cache",
        {
            "pools": {
                "reserved": {"cores": 1, "per": "numaNode"},
                "isolated": _parts(3, cores=max(caches) + 1, within="cache"),
            }
        },
    )
    yield "more within caches than there are", {
        "pools": {
            "reserved": {"cores": 1},
            "isolated": _parts(len(caches) + 1, cores=max(caches) // 2 + 1, within="cache"),
        }
    }


def _neighbours(topology: Topology) -> Iterator[tuple[str, dict[str, Any]]]:
    caches, nodes = len(topology.uncore_caches), len(topology.numa_nodes)
    yield "a tenant more than caches", {"pools": tenants([1] * (caches + 1))}
    yield "a tenant more than NUMA nodes", {"pools": tenants([1] * (nodes + 1), "numaNode")}
    yield (
        "a tenant more than sockets",
        {"pools": tenants([1] * (len(topology.sockets) + 1), "socket")},
    )
    biggest = max(
        len({topology[cpu].core for cpu in cache}) for cache in topology.uncore_caches.values()
    )
    yield (
        "tenants of two sizes",
        {"pools": tenants([biggest + 1] * (caches // 4 + 1) + [1] * (caches // 2 + 2))},
    )
    yield "unlike tenants", {"pools": tenants([*range(1, caches + 2)])}
    yield (
        "apart by socket from what is on all",
        {
            "pools": {
                "reserved": {"cores": 1, "per": "socket"},
                "shared": {"cores": 1, "apart": {"reserved": "socket"}},
            }
        },
    )
    yield (
        "together and apart",
        {
            "pools": {
                "reserved": {"cores": 1},
                "shared": {"cores": 1, "together": {"reserved": "core"}},
                "isolcpus": {
                    "cores": 1,
                    "together": {"reserved": "numaNode"},
                    "apart": {"reserved": "numaNode"},
                },
            }
        },
    )


def _several(topology: Topology) -> Iterator[tuple[str, dict[str, Any]]]:
    cores = len(topology.cores)
    yield (
        "several numbers",
        {
            "pools": {
                "reserved": {"count": 3},
                "shared": {"count": 5},
                "offlined": {"count": 7},
                "isolated": {"percent": 90},
            }
        },
    )
    yield (
        "several places",
        {
            "pools": {
                "reserved": {"count": 1, "apart": {"isolated.a": "cache"}},
                "shared": {"cores": cores, "numaNodes": max(_first_node(topology), 0)},
                "isolated": {
                    "rest": True,
                    "partitions": {
                        "a": {"cores": cores, "within": "cache"},
                        "b": {"wholeCaches": len(topology.uncore_caches) + 1},
                        "c": {"cores": 1, "apart": {"isolated.d": "socket"}, "per": "socket"},
                        "d": {"cores": 1, "together": {"isolated.c": "socket"}},
                    },
                },
            }
        },
    )
    partitions = {
        "dpdk": {"cores": 2, "per": "numaNode"},
        "ai": {"cores": cores // 4, "apart": {"isolated.dpdk": "cache"}},
        "db": {"cores": 3, "per": "socket"},
    }
    yield (
        "eight pools",
        {
            "pools": {
                "reserved": {"cores": 1, "per": "numaNode"},
                "shared": {"cores": 2, "within": "numaNode"},
                "isolated": {"rest": True, "partitions": partitions},
                "isolcpus": {"cores": cores // 2, "within": "socket"},
                "offlined": {"percent": 20},
            }
        },
    )


def wrong(topology: Topology, hardware: str) -> Iterator[tuple[str, NodeClass]]:
    """Classes of a machine, each with a mistake; some machines bear some of them."""
    for name, spec in mistakes(topology):
        node = node_class(topology, **spec, objective=GOALS)
        yield name, NodeClass(**(vars(node) | {"hardware": hardware}))


def explained(node: NodeClass) -> bool:
    """Whether there is no layout, which is explained then."""
    committed = {"reserved": node.topology.online, "isolated": EMPTY}
    try:
        solver.solve(node, locate, committed)
    except CpuplanError:
        return True
    return False


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise TooLongError after so many seconds of CPU time."""

    def end(*_: object) -> None:
        raise TooLongError

    signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def measured(node: NodeClass, most: float) -> Case | None:
    """The CPU time of one explanation; None if the machine bears the mistake."""
    before = time.process_time()
    try:
        with at_most(most):
            if not explained(node):
                return None
    except TooLongError:
        return Case(float("inf"), node.hardware)
    return Case(time.process_time() - before, node.hardware)


def survey(most: float, word: str = "") -> dict[str, list[Case]]:
    """The cases of each kind of mistake, on every recorded machine that does not bear it."""
    found: dict[str, list[Case]] = {}
    for hardware, topology in recorded():
        for name, node in wrong(topology, hardware):
            case = measured(node, most) if word in name else None
            if case:
                found.setdefault(name, []).append(case)
    return found


def print_survey(found: dict[str, list[Case]]) -> None:
    """A line for each kind of mistake, and one for all."""
    print(f"{'CPU milliseconds':<56}{'cases':>6}{'median':>8}{'slowest':>9}{'late':>6}")
    for name, cases in (*found.items(), ("all", [case for some in found.values() for case in some])):
        slowest, late = max(cases), sorted(case for case in cases if case.seconds > LIMIT)
        middle = statistics.median(case.seconds for case in cases)
        line = f"{name:<56}{len(cases):>6}{1000 * middle:>8.0f}{1000 * slowest.seconds:>9.0f}"
        print(f"{line}{len(late):>6}  {slowest.hardware}")


def main() -> None:
    """Print a table."""
    import ortools.sat.python.cp_model  # noqa: F401 - its import is not what is measured

    most = float(sys.argv[1]) if len(sys.argv) > 1 else 30
    print_survey(survey(most, sys.argv[2] if len(sys.argv) > 2 else ""))


if __name__ == "__main__":
    main()

"""Explaining why there is no layout: kinds of mistakes, each on every recorded machine.

`python -m benchmarks.mistakes [SECONDS] [WORD]`: a line for each kind of mistake, or for those with
the word in their names: the median, the slowest machine, and how many took longer than allowed. A
case ends after so many seconds of CPU time (30).
"""

import signal
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from benchmarks.recorded import recorded
from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.base.topology import UNKNOWN, Topology
from cpuplan.diagnostics import CpuplanError
from cpuplan.plan import NodeClass
from cpuplan.solve import solver
from tests.unit.solve.problems import locate, node_class

LIMIT = 2.0
#: All of them, the lock's among them.
GOALS = ["fewest-moved", "fewest-split-cores", "locality", "balance", "most-isolated"]


class Case(NamedTuple):
    """How long the explanation of a mistake on a machine took; infinite if it was ended."""

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
    return _pools(reserved={"cores": 1}, isolated=isolated)


def _pools(**pools: dict[str, Any]) -> dict[str, Any]:
    return {"pools": pools}


def _parts(number: int, **size: Any) -> dict[str, Any]:
    return {"rest": True, "partitions": {f"p{index}": dict(size) for index in range(number)}}


class Facts(NamedTuple):
    """What mistakes need of a machine: numbers of cores, of all, of each NUMA node and cache."""

    cores: int
    numa_node: int  # the first that is known
    numa_nodes: list[int]  # the first one first
    caches: list[int]  # of a machine without last-level caches all cores
    sockets: int
    cache: int  # CPUs of the largest cache
    kind: str  # of cores, of which there are few, or none
    of_kind: int


def facts_of(topology: Topology) -> Facts:
    """The facts of a machine."""

    def cores(cpus: CpuSet) -> int:
        return len({topology[cpu].core for cpu in cpus})

    nodes = dict(sorted(topology.numa_nodes.items(), key=lambda node: node[0] == UNKNOWN))
    caches = list(topology.uncore_caches.values()) or [topology.online]
    types = {cpu.core_type for cpu in topology.cpus} - {""}
    kind = "efficient" if "efficient" in types else max(types, default="performance")
    return Facts(
        cores(topology.online),
        max(next(iter(nodes)), 0),
        list(map(cores, nodes.values())),
        list(map(cores, caches)),
        len(topology.sockets),
        max(map(len, caches)),
        kind,
        len({cpu.core for cpu in topology.cpus if cpu.core_type == kind}),
    )


#: What an intent's spec says that does not fit a machine, in ways in which people err.
MISTAKES: dict[str, Callable[[Facts], dict[str, Any]]] = {
    "too many cores": lambda facts: _pools(reserved={"cores": 2}, isolated={"cores": facts.cores}),
    "a number per NUMA node that the smallest does not have": lambda facts: _pools(
        reserved={"cores": 1, "per": "numaNode"},
        shared={"cores": max(facts.numa_nodes), "per": "numaNode"},
    ),
    "a number per cache that no cache has": lambda facts: _pools(
        reserved={"cores": 1}, shared={"count": facts.cache + 1, "per": "cache"}
    ),
    "percents over 100": lambda _facts: _pools(
        reserved={"percent": 10},
        shared={"percent": 30},
        offlined={"percent": 25},
        isolated={"percent": 50},
    ),
    "offlined and others": lambda facts: _pools(
        reserved={"cores": 1, "per": "numaNode"},
        offlined={"cores": facts.cores // 2 + 1},
        isolated={"cores": facts.cores // 2, "partitions": {"dpdk": {"cores": 1}}},
    ),
    "siblings": lambda facts: _pools(
        reserved={"cores": 1},
        isolated={"count": facts.cores + facts.cores // 2 + 1, "sibling": "idle"},
        shared={"rest": True},
    ),
    "whole caches": lambda facts: _pools(
        reserved={"cores": 1, "per": "numaNode"},
        isolated=_parts(2, wholeCaches=len(facts.caches) // 2 + 1),
    ),
    "pods": lambda facts: (
        _pools(reserved={"cores": 1, "per": "numaNode"}, isolated={"rest": True})
        | {
            "workloads": [
                {"name": "du", "cpus": 2, "pods": max(facts.numa_nodes), "per": "numaNode"},
                {"name": "cu", "cpus": 4, "pods": max(facts.cores // 2, 1)},
            ]
        }
    ),
    "QoS sets": lambda facts: (
        _pools(reserved={"cores": 1}, isolated={"rest": True})
        | {
            "qos": {
                "bestEffort": {"cores": facts.cores // 2 + 1, "apart": {"other": "core"}},
                "other": {"cores": facts.cores // 2 + 1},
            }
        }
    ),
    "a NUMA node that does not exist": lambda _facts: _pools(
        reserved={"cores": 1}, shared={"cores": 1, "numaNodes": 999}
    ),
    "a NUMA node that is too small": lambda facts: _pools(
        reserved={"cores": 1},
        shared={"cores": facts.numa_nodes[0] + 1, "numaNodes": facts.numa_node},
    ),
    "kinds of cores": lambda facts: _pools(
        reserved={"cores": 1}, shared={"cores": facts.of_kind + 1, "coreTypes": [facts.kind]}
    ),
    "within a cache": lambda facts: _pools(
        reserved={"cores": 1, "per": "numaNode"},
        isolated=_parts(3, cores=max(facts.caches) + 1, within="cache"),
    ),
    "more within caches than there are": lambda facts: _pools(
        reserved={"cores": 1},
        isolated=_parts(len(facts.caches) + 1, cores=max(facts.caches) // 2 + 1, within="cache"),
    ),
    "a tenant more than caches": lambda facts: tenants([1] * (len(facts.caches) + 1)),
    "a tenant more than NUMA nodes": lambda facts: tenants(
        [1] * (len(facts.numa_nodes) + 1), "numaNode"
    ),
    "a tenant more than sockets": lambda facts: tenants([1] * (facts.sockets + 1), "socket"),
    "tenants of two sizes": lambda facts: tenants(
        [max(facts.caches) + 1] * (len(facts.caches) // 4 + 1) + [1] * (len(facts.caches) // 2 + 2)
    ),
    "tenants of many sizes": lambda facts: tenants(
        [1 + index % (2 * max(facts.caches)) for index in range(len(facts.caches) + 1)]
    ),
    "apart by socket from what is on all": lambda _facts: _pools(
        reserved={"cores": 1, "per": "socket"},
        shared={"cores": 1, "apart": {"reserved": "socket"}},
    ),
    "together and apart": lambda _facts: _pools(
        reserved={"cores": 1},
        shared={"cores": 1, "together": {"reserved": "core"}},
        isolcpus={
            "cores": 1,
            "together": {"reserved": "numaNode"},
            "apart": {"reserved": "numaNode"},
        },
    ),
    "several numbers": lambda _facts: _pools(
        reserved={"count": 3},
        shared={"count": 5},
        offlined={"count": 7},
        isolated={"percent": 90},
    ),
    "several places": lambda facts: _pools(
        reserved={"count": 1, "apart": {"isolated.a": "cache"}},
        shared={"cores": facts.cores, "numaNodes": facts.numa_node},
        isolated={
            "rest": True,
            "partitions": {
                "a": {"cores": facts.cores, "within": "cache"},
                "b": {"wholeCaches": len(facts.caches) + 1},
                "c": {"cores": 1, "apart": {"isolated.d": "socket"}, "per": "socket"},
                "d": {"cores": 1, "together": {"isolated.c": "socket"}},
            },
        },
    ),
    "eight pools": lambda facts: _pools(
        reserved={"cores": 1, "per": "numaNode"},
        shared={"cores": 2, "within": "numaNode"},
        isolated={
            "rest": True,
            "partitions": {
                "dpdk": {"cores": 2, "per": "numaNode"},
                "ai": {"cores": facts.cores // 4, "apart": {"isolated.dpdk": "cache"}},
                "db": {"cores": 3, "per": "socket"},
            },
        },
        isolcpus={"cores": facts.cores // 2, "within": "socket"},
        offlined={"percent": 20},
    ),
}


def wrong(topology: Topology, hardware: str) -> Iterator[tuple[str, NodeClass]]:
    """Classes of a machine, each with a mistake; some machines bear some of them."""
    facts = facts_of(topology)
    for name, mistake in MISTAKES.items():
        node = node_class(topology, **mistake(facts), objective=GOALS)
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
    cases: dict[str, list[Case]] = {}
    for hardware, topology in recorded():
        for name, node in wrong(topology, hardware):
            case = measured(node, most) if word in name else None
            if case:
                cases.setdefault(name, []).append(case)
    return cases


def print_survey(by_kind: dict[str, list[Case]]) -> None:
    """A line for each kind of mistake, and one for all."""
    print(f"{'CPU milliseconds':<56}{'cases':>6}{'median':>8}{'slowest':>9}{'late':>6}")
    for name, cases in (
        *by_kind.items(),
        ("all", [case for some in by_kind.values() for case in some]),
    ):
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

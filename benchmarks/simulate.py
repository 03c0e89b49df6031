"""The simulator's inner loops against the Go code of the kubelet and of Koordinator.

`python -m benchmarks.simulate [RUNS]`. Go's CPU times are those of a machine on which `sum(i * i
for i in range(1000000))` took 60 ms: they are scaled by what this takes here. The faster of Go's
two runs counts (of Koordinator's 200 the fastest), and the median of ours. Hints and merges include
decoding JSON.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks import koordinator as k
from benchmarks.koordinator import choice, sequence
from cpuplan.upstream.kubelet.cpumanager.cpu_assignment import (
    take_by_topology_numa_distributed,
    take_by_topology_numa_packed,
)
from cpuplan.upstream.kubelet.cpumanager.policy_static import generate_cpu_topology_hints
from cpuplan.upstream.kubelet.cpumanager.topology import CPUTopology
from cpuplan.upstream.kubelet.kubelet import Kubelet
from cpuplan.upstream.kubelet.machine import NodeMemory
from cpuplan.upstream.kubelet.topologymanager.policy import (
    NUMAInfo,
    ProviderHints,
    TopologyHint,
    new_policy,
)
from cpuplan.upstream.kubernetes.bits import members, parse_cpus
from cpuplan.upstream.kubernetes.pod import read_pod
from tests.conformance.kubelet import shapes

CALIBRATION = 60.0
#: How many times faster than Go, from 128 CPUs up and below.
LIMIT, SMALL_LIMIT = 3.0, 1.0
FLEET_NODES, FLEET_PODS, FLEET_LIMIT = 1000, 10, 20


class Machine(NamedTuple):
    """A regular machine with two threads a core; first threads are numbered before second ones."""

    cpus: int
    sockets: int
    numa_nodes: int
    caches: int

    def document(self) -> dict[str, Any]:
        """The topology as the kubelet's vectors have it."""
        cores = self.cpus // 2
        rows = [
            [
                cpu,
                core,
                core * self.sockets // cores,
                core * self.numa_nodes // cores,
                core * self.caches // cores,
            ]
            for cpu in range(self.cpus)
            for core in [cpu % cores]
        ]
        return {
            "cpus": rows,
            "numCPUs": self.cpus,
            "numCores": cores,
            "numSockets": self.sockets,
        } | {
            "numNUMANodes": self.numa_nodes,
            "numUncoreCaches": self.caches,
        }

    def topology(self) -> CPUTopology:
        return shapes.topology(self.document())


SMALL = Machine(16, 1, 1, 1)
MEDIUM = Machine(32, 2, 4, 4)
LARGE = Machine(128, 2, 8, 8)
HUGE = Machine(256, 2, 8, 16)


class Row(NamedTuple):
    """A case: what Go took for it, in ms, and a call that does the same."""

    name: str
    go: float
    call: Callable[[], object]
    limit: float = LIMIT


def packed_case(machine: Machine, count: int, taken: str, **options: bool) -> Callable[[], object]:
    topology = machine.topology()
    free = topology.all & ~parse_cpus(taken)
    return lambda: take_by_topology_numa_packed(topology, free, count, **options)


def distributed_case(machine: Machine, count: int, taken: str, group: int) -> Callable[[], object]:
    topology = machine.topology()
    free = topology.all & ~parse_cpus(taken)
    return lambda: take_by_topology_numa_distributed(topology, free, count, group)


def hints_case(machine: Machine, count: int) -> Callable[[], object]:
    request = json.dumps(machine.document())

    def call() -> object:
        topology = shapes.topology(json.loads(request))
        return generate_cpu_topology_hints(topology, topology.all & ~0b1, 0, count)

    return call


def _hint(data: dict[str, Any]) -> TopologyHint:
    return TopologyHint(sum([1 << node for node in data["numa"]]), data["preferred"])


def _hints(provider: dict[str, list[dict[str, Any]]]) -> ProviderHints:
    return {name: list(map(_hint, listed)) for name, listed in provider.items()}


def merge_case(policy: str, nodes: int, providers: int) -> Callable[[], object]:
    machine = Machine(nodes * 4, 1, nodes, nodes).topology()
    hints = generate_cpu_topology_hints(machine, machine.all, 0, 1)
    # nothing ends the search early
    listed = [{"numa": members(hint.affinity or 0), "preferred": False} for hint in hints]
    request = json.dumps([{f"resource{index}": listed} for index in range(providers)])
    numa = NUMAInfo(tuple(range(nodes)), dict.fromkeys(range(nodes), (10,) * nodes))

    def call() -> object:
        given: list[ProviderHints | None] = list(map(_hints, json.loads(request)))
        return new_policy(policy, numa, {}).merge(given)

    return call


ROWS = (
    Row("packed, 8 of 14, 16 CPUs", 0.08, packed_case(SMALL, 8, "0,8"), SMALL_LIMIT),
    Row("packed, 8 of 126, 128 CPUs", 2.3, packed_case(LARGE, 8, "0,64")),
    Row("packed, 30 of 254, 256 CPUs", 8.1, packed_case(HUGE, 30, "0,128")),
    Row("packed, 200 of 254, 256 CPUs", 2.2, packed_case(HUGE, 200, "0,128")),
    Row(
        "packed and uncore, 24 of 254, 256 CPUs",
        3.0,
        packed_case(HUGE, 24, "0,128", align_by_uncore_cache=True),
    ),
    Row("spread, 30 of 254, 256 CPUs", 6.8, packed_case(HUGE, 30, "0,128", spread=True)),
    Row("distributed, 64 of 120, 128 CPUs, g=2", 6.1, distributed_case(LARGE, 64, "0-3,64-67", 2)),
    Row("distributed, 30 of 254, 256 CPUs, g=1", 2.7, distributed_case(HUGE, 30, "0,128", 1)),
    Row("distributed, 100 of 254, 256 CPUs, g=2", 24, distributed_case(HUGE, 100, "0,128", 2)),
    Row(
        "distributed, 150 of 252, 256 CPUs, g=1", 14, distributed_case(HUGE, 150, "0-1,128-129", 1)
    ),
    Row("distributed, 200 of 254, 256 CPUs, g=2", 10, distributed_case(HUGE, 200, "0,128", 2)),
    Row("hints, 16, 256 CPUs, 8 NUMA nodes", 18, hints_case(HUGE, 16)),
    Row("hints, 16, 32 CPUs, 4 NUMA nodes", 0.66, hints_case(MEDIUM, 16), SMALL_LIMIT),
    Row("merge restricted, 8 nodes, 2 providers", 21, merge_case("restricted", 8, 2)),
    Row(
        "merge best-effort, 4 nodes, 3 providers", 1.8, merge_case("best-effort", 4, 3), SMALL_LIMIT
    ),
    *(
        Row(f"Koordinator, {name}", go, call, SMALL_LIMIT)
        for name, go, call in (
            ("8 of 126, 128 CPUs", 0.081, choice(k.LARGE, 8, "0,64", k.FULL)),
            ("100 of 126, 128 CPUs", 0.22, choice(k.LARGE, 100, "0,64", k.FULL)),
            ("spread 8 of 126, 128 CPUs", 0.068, choice(k.LARGE, 8, "0,64", k.SPREAD)),
            ("spread 100 of 126, 128 CPUs", 0.62, choice(k.LARGE, 100, "0,64", k.SPREAD)),
            ("apart 30 of 254, 256 CPUs", 0.18, choice(k.HUGE, 30, "0,128", k.APART)),
            (
                "15 pods of 8, 128 CPUs",
                1.3,
                sequence(k.LARGE, [8] * 15, "0,64", k.FULL_APART, is_packed=False),
            ),
            (
                "15 pods of 8 apart, 128 CPUs",
                1.2,
                sequence(k.LARGE, [8] * 15, "0,64", k.APART, is_packed=True),
            ),
            (
                "25 pods of 5, 128 CPUs",
                2.5,
                sequence(k.LARGE, [5] * 25, "0,64", k.FULL, is_packed=True),
            ),
        )
    ),
)


def admit_fleet(nodes: int, pods: int) -> float:
    """Seconds for `pods` pods on each of `nodes` nodes with 128 CPUs in 8 NUMA nodes."""
    gib = 1024**3
    memory = [NodeMemory(node, 32 * gib) for node in range(LARGE.numa_nodes)]
    distances = dict.fromkeys(range(LARGE.numa_nodes), (10,) * LARGE.numa_nodes)
    machine = shapes.read_machine(LARGE.document()["cpus"], memory, distances)
    config = {
        "cpuManagerPolicy": "static",
        "cpuManagerPolicyOptions": {"full-pcpus-only": "true"},
        "topologyManagerPolicy": "restricted",
        "memoryManagerPolicy": "Static",
        "reservedSystemCPUs": "0,64",
        "reservedMemory": [{"numaNode": 0, "limits": {"memory": "100Mi"}}],
    }
    resources = {"cpu": "8", "memory": "4Gi"}
    container = {"name": "main", "resources": {"requests": resources, "limits": resources}}
    begin = time.process_time()
    for _ in range(nodes):
        kubelet = Kubelet(config, machine)
        for number in range(pods):
            kubelet.admit(
                read_pod(
                    {"metadata": {"uid": f"pod-{number}"}, "spec": {"containers": [container]}}
                )
            )
    return time.process_time() - begin


def milliseconds(call: Callable[[], object], runs: int) -> float:
    """The median CPU time of a call."""
    times = []
    for _ in range(runs):
        begin = time.process_time()
        call()
        times.append(time.process_time() - begin)
    return statistics.median(times) * 1000


def _calibrate() -> int:
    return sum(i * i for i in range(1000000))


def main() -> None:
    """Print a table; 1 when a row is slower than its limit."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    scale = min(milliseconds(_calibrate, 1) for _ in range(10)) / CALIBRATION
    print(f"Go's times are scaled by {scale:.2f}")
    print(f"{'case':<42}{'Go ms':>8}{'ms':>8}{'times faster':>14}{'limit':>7}")
    slow = 0
    for row in ROWS:
        took, go = milliseconds(row.call, runs), row.go * scale
        slow += go / took < row.limit
        print(f"{row.name:<42}{go:>8.2f}{took:>8.3f}{go / took:>14.1f}{row.limit:>7.0f}")
    seconds = admit_fleet(FLEET_NODES, FLEET_PODS)
    print(
        f"{FLEET_NODES * FLEET_PODS} pods on {FLEET_NODES} nodes, "
        f"on one core: {seconds:.1f} s (at most {FLEET_LIMIT})"
    )
    sys.exit(1 if slow or seconds > FLEET_LIMIT else 0)


if __name__ == "__main__":
    main()

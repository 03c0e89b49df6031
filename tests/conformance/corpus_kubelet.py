"""The kubelet's view of the machines of the corpus, derived from the documents, against
`expected_kubelet`.
"""

from collections.abc import Iterator
from typing import Any

from cpuplan.base.topology import KubeletFacts, Topology
from cpuplan.upstream.kubelet.sysinfo import cpu_topology
from cpuplan.upstream.kubernetes.errors import KubeletError

_COUNTS = {
    "num_cpus": "num_cpus",
    "num_cores": "num_cores",
    "num_sockets": "num_sockets",
    "num_numa": "num_numa_nodes",
    "num_uncore": "num_uncore_caches",
}


def compare(expected: dict[str, Any], topology: Topology) -> Iterator[str]:
    """What differs. Machines that are known only from hwloc XML have no `expected_kubelet`."""
    wanted = expected.get("expected_kubelet")
    if wanted is None:
        return
    try:
        found = cpu_topology(topology)
    except KubeletError as error:
        if str(error) != wanted.get("discover_error"):
            yield f"kubelet says {error}, not {wanted.get('discover_error')}"
        return
    if "discover_error" in wanted and topology.kubelet == KubeletFacts():
        return  # of /sys nothing was collected, so the documents cannot say what is in it
    if "discover_error" in wanted:
        yield f"kubelet does not say {wanted['discover_error']}"
    for key, field in _COUNTS.items():
        if key in wanted and getattr(found, field) != wanted[key]:
            yield f"kubelet {key} is {getattr(found, field)}, not {wanted[key]}"
    rows = {row[0]: row for row in wanted.get("cpu_core_socket_numa_uncore") or []}
    seen = {row.cpu: list(row) for row in found.rows}
    for cpu in sorted(rows.keys() | seen.keys()):
        if rows.get(cpu) != seen.get(cpu):
            yield f"kubelet's row of cpu {cpu} is {seen.get(cpu)}, not {rows.get(cpu)}"

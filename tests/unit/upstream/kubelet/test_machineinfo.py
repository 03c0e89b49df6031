"""The machine as cAdvisor reports it: small machines; corpus and vectors have the large ones."""

from pathlib import Path
from typing import Any

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.topology import Topology
from cpuplan.fleet import hardware
from cpuplan.language.model.inventory import HardwareSpec
from cpuplan.upstream.kubelet.cpumanager.topology import CPUTopology
from cpuplan.upstream.kubelet.sysinfo import cpu_topology, machine_nodes, number_of_cpus
from cpuplan.upstream.kubernetes.errors import KubeletError
from tests.conformance import machineinfo

SOCKETS: list[Any] = [{"id": 0, "cpus": "0-3"}, {"id": 1, "cpus": "4-7"}]
NODES: list[Any] = [{"id": 0, "cpus": "0-3"}, {"id": 1, "cpus": "4-7"}]
TWO_CACHES = {"level": 3, "size": "8Mi", "cpus": ["0-1", "2-3", "4-5", "6-7"]}


def build(topology: dict[str, Any], architecture: str = "x86_64", offline: str = "") -> Topology:
    layout = {"sockets": SOCKETS, "numaNodes": NODES, **topology}
    spec = HardwareSpec.model_validate({"architecture": architecture, "topology": layout})
    built, problems = hardware.build(spec, CpuSet.parse(offline))
    assert built is not None, problems
    return built


PAIRS = {"cores": [{"threads": ["0-6:1/2", "1-7:1/2"]}]}
SINGLES = {"cores": [{"threads": ["0-7"]}]}


@pytest.mark.parametrize(
    ("topology", "architecture", "rows"),
    [
        # an L3 of each core pair, ids 0-3
        (
            {**SINGLES, "caches": [{**TWO_CACHES, "ids": "0-3"}]},
            "x86_64",
            "0/0/0/0 2/2/0/1 4/4/1/2 6/6/1/3",
        ),
        # the same ids on Arm; left out there, the kernel has none, and the socket's id stands for
        # the cache's
        (
            {**SINGLES, "caches": [{**TWO_CACHES, "ids": "0-3"}]},
            "aarch64",
            "0/0/0/0 2/2/0/1 4/4/1/2 6/6/1/3",
        ),
        ({**SINGLES, "caches": [TWO_CACHES]}, "aarch64", "0/0/0/0 2/2/0/0 4/4/1/1 6/6/1/1"),
        # x86 has ids even if the document has not, unless it says so
        ({**SINGLES, "caches": [TWO_CACHES]}, "x86_64", "0/0/0/0 2/2/0/2 4/4/1/4 6/6/1/6"),
        (
            {**SINGLES, "caches": [TWO_CACHES], "kubelet": {"unreadCaches": "0-7"}},
            "x86_64",
            "0/0/0/0 2/2/0/0 4/4/1/1 6/6/1/1",
        ),
        # reading stops at the first core whose caches cannot be read: in NUMA node 0 that is the
        # third
        (
            {
                **SINGLES,
                "caches": [{**TWO_CACHES, "ids": "10-13"}],
                "kubelet": {"unreadCaches": "2-3"},
            },
            "x86_64",
            "0/0/0/10 2/2/0/0 4/4/1/12 6/6/1/13",
        ),
        # on s390x ids are not asked for: all are 0
        ({**SINGLES, "caches": [TWO_CACHES]}, "s390x", "0/0/0/0 2/2/0/0 4/4/1/0 6/6/1/0"),
        # an L3 as large as its NUMA node is the node's; one of level 4 counts too
        (
            {**SINGLES, "caches": [{"level": 3, "per": "numaNode", "ids": "7-8"}]},
            "x86_64",
            "0/0/0/0 4/4/1/1",
        ),
        (
            {
                **SINGLES,
                "caches": [
                    {"level": 3, "per": "numaNode", "ids": "7-8"},
                    {**TWO_CACHES, "level": 4, "ids": "0-3"},
                ],
            },
            "x86_64",
            "0/0/0/0 2/2/0/1 4/4/1/2 6/6/1/3",
        ),
        # ids repeat: CPUs 0 and 2, 1 and 3 are a core; siblings with unlike ids are two
        (
            {"cores": [{"threads": ["0-7"], "ids": ["0-1,0-1,0-3"]}]},
            "x86_64",
            "0/0/0/0 1/1/0/0 2/0/0/0 6/6/1/1",
        ),
        (
            {"cores": [{"threads": ["0-6:1/2", "1-7:1/2"], "ids": ["0-3", "4-7"]}]},
            "x86_64",
            "0/0/0/0 1/1/0/0",
        ),
        # -1 is an id as any other
        (
            {"cores": [{"threads": ["0-7"], "ids": ["-1,-1,-1,-1,0-3"]}]},
            "riscv64",
            "0/0/0/0 3/0/0/0 4/4/1/1",
        ),
        # books and drawers tell cores apart
        (
            {
                "cores": [{"threads": ["0-7"], "ids": ["0-1,0-1,0-3"]}],
                "kubelet": {"books": [{"id": 0, "cpus": "0-1,4-7"}, {"id": 1, "cpus": "2-3"}]},
            },
            "s390x",
            "0/0/0/0 1/1/0/0 2/2/0/0 3/3/0/0",
        ),
        (
            {**PAIRS, "kubelet": {"noNumaNodes": True}, "numaNodes": []},
            "x86_64",
            "0/0/0/0 1/0/0/0 5/4/1/1",
        ),
        (
            {
                **PAIRS,
                "kubelet": {"numaNodes": [{"id": 3, "cpus": "0-5"}, {"id": 4, "cpus": "6-7"}]},
            },
            "x86_64",
            "0/0/0/3 4/4/1/3 6/6/1/4",
        ),
        (
            {**PAIRS, "kubelet": {"unlabelled": "1,4-5"}},
            "x86_64",
            "0/0/0/0 2/2/0/0 3/2/0/0 6/6/1/1",
        ),
    ],
)
def test_rows(topology: dict[str, Any], architecture: str, rows: str) -> None:
    """Rows are CPU/core/socket/uncore cache, or NUMA node where no cache is described."""
    shown = {}
    for row in cpu_topology(build(topology, architecture)).rows:
        last = row.uncore_cache if "caches" in topology else row.numa_node
        shown[row.cpu] = f"{row.cpu}/{row.core}/{row.socket}/{last}"
    assert " ".join(shown.get(int(row.split("/")[0]), "") for row in rows.split()) == rows


def test_counts() -> None:
    """The counts are those that the kubelet divides by."""
    caches = {"caches": [{**TWO_CACHES, "ids": "0-3"}], "kubelet": {"sockets": 5}}
    assert _counts(cpu_topology(build({**PAIRS, **caches}))) == (8, 4, 5, 2, 4)
    # Without NUMA nodes, offline CPUs count too; CPUs without ids do not exist where there are NUMA
    # nodes.
    packages = build({**PAIRS, "kubelet": {"noNumaNodes": True}}, offline="7")
    assert number_of_cpus(packages, machine_nodes(packages)) == 8
    offline = build(PAIRS, offline="7")
    assert number_of_cpus(offline, machine_nodes(offline)) == 7
    with pytest.raises(KubeletError, match=r"\Acould not detect number of cpus\Z"):
        cpu_topology(build({**PAIRS, "kubelet": {"unlabelled": "0-7"}}))


def _counts(topology: CPUTopology) -> tuple[int, ...]:
    return (
        topology.num_cpus,
        topology.num_cores,
        topology.num_sockets,
        topology.num_numa_nodes,
        topology.num_uncore_caches,
    )


def test_half_offline_core() -> None:
    """With a thread offline, a node's cache passes for an uncore cache."""
    caches = {"caches": [{"level": 3, "per": "numaNode", "ids": "7-8"}]}
    whole = cpu_topology(build({**PAIRS, **caches}))
    assert {row.uncore_cache for row in whole.rows} == {0, 1}
    half = {
        row.cpu: row.uncore_cache
        for row in cpu_topology(build({**PAIRS, **caches}, offline="7")).rows
    }
    assert half == {0: 0, 1: 0, 2: 0, 3: 0, 4: 8, 5: 8, 6: 8}


def test_regular() -> None:
    """Catalogue machines: one L3 for each NUMA node is one uncore cache for each socket."""
    regular = {"sockets": 2, "coresPerSocket": 8, "numaNodesPerSocket": 2, "cachesPerSocket": 4}
    counts = []
    for values, architecture in (
        (regular, "x86_64"),
        ({**regular, "cachesPerSocket": 2}, "x86_64"),
        (regular, "aarch64"),
    ):
        spec = HardwareSpec.model_validate({"architecture": architecture, "regular": values})
        topology, _ = hardware.build(spec)
        assert topology is not None
        counts.append(cpu_topology(topology).num_uncore_caches)
    assert counts == [8, 2, 2]


@pytest.mark.skipif(
    not machineinfo.VECTORS.exists(), reason="the vectors are not beside the checkout"
)
def test_as_cadvisor_reads_sysfs(tmp_path: Path) -> None:
    assert [failure for _, failures in machineinfo.run() for failure in failures] == []

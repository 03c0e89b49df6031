"""How machines differ, in words."""

from typing import Any

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.importers.base import DeviceFacts, Imported, Machine, Node
from cpuplan.importers.documents.kinds import differences, kinds_of, unlike
from cpuplan.importers.sysroot import reader as sysroot
from cpuplan.importers.trees import TarTree
from tests.machines import trees

CPU = "sys/devices/system/cpu"
GI = 1024 * 1024


def machine(files: dict[str, str] | None = None, **values: int) -> Machine:
    read, _, _ = sysroot.read_machine(
        TarTree(trees.tar({**trees.server(**values), **(files or {})}), "a")
    )
    assert read is not None
    return read


def nic(address: str, **facts: Any) -> DeviceFacts:
    return DeviceFacts(
        address,
        0x020000,
        "0x8086",
        facts.pop("device", "0x1592"),
        facts.pop("numa_node", 0),
        **facts,
    )


@pytest.mark.parametrize(
    ("files", "values", "expected"),
    [
        ({}, {}, []),
        ({f"{CPU}/online": "0-4,7\n"}, {}, ["CPUs 5-6 offline"]),
        ({}, {"cores": 8}, ["16 CPUs, not 8", "8 cores, not 4"]),
        (
            {f"{CPU}/cpu{cpu}/topology/core_cpus_list": f"{cpu}\n" for cpu in range(8)},
            {},
            ["8 cores, not 4"],
        ),
        (
            {
                f"{CPU}/cpu{cpu}/topology/core_cpus_list": f"{cpu & 6}-{cpu | 1}\n"
                for cpu in range(8)
            },
            {},
            ["other siblings"],
        ),
        ({}, {"memory_kb": 9 * GI}, ["NUMA nodes 0-1 have 8Gi more memory each"]),
        (
            {"sys/devices/system/node/node1/meminfo": f"Node 1 MemTotal: {GI // 2} kB\n"},
            {},
            ["NUMA node 1 has 512Mi less memory"],
        ),
        ({"sys/devices/system/node/node1/meminfo": f"Node 1 MemTotal: {GI - 1000} kB\n"}, {}, []),
        ({"sys/devices/system/node/node0/distance": "10 31\n"}, {}, ["other NUMA distances"]),
        (
            {f"{CPU}/cpu{cpu}/topology/core_id": f"{cpu % 4 // 2 + 8}\n" for cpu in range(8)},
            {},
            ["other core ids"],
        ),
        (
            {f"{CPU}/cpu{cpu}/cache/index3/size": "16384K\n" for cpu in range(8)},
            {},
            ["level 3 caches of 16Mi, not 32Mi"],
        ),
        (
            {f"{CPU}/cpu{cpu}/cache/index3/id": f"{cpu % 2 + 4}\n" for cpu in range(8)},
            {},
            ["other cache ids"],
        ),
        ({"sys/devices/system/node/node2/cpulist": "\n"}, {}, ["NUMA nodes 0-2, not 0-1"]),
        (
            {"sys/devices/system/node/node0/cpu0/online": "1\n"},
            {},
            ["other files that only the kubelet reads"],
        ),
    ],
)
def test_differences(files: dict[str, str], values: dict[str, int], expected: list[str]) -> None:
    assert differences(machine(files, **values), machine()) == expected


@pytest.mark.parametrize(
    ("mine", "theirs", "expected"),
    [
        ([], [nic("0000:86:00.0")], ["no device 0000:86:00.0"]),
        (
            [nic("0000:86:00.0"), nic("0000:86:00.1")],
            [],
            ["devices 0000:86:00.0, 0000:86:00.1 in addition"],
        ),
        (
            [],
            [nic(f"0000:86:00.{number}") for number in range(6)],
            ["no devices 0000:86:00.0, 0000:86:00.1, 0000:86:00.2 and 3 more"],
        ),
        (
            [nic("0000:86:00.0", device="0x1593")],
            [nic("0000:86:00.0")],
            ["device 0000:86:00.0 is 0x8086:0x1593, not 0x8086:0x1592"],
        ),
        (
            [nic("0000:86:00.0", numa_node=None)],
            [nic("0000:86:00.0")],
            ["device 0000:86:00.0 on no NUMA node, not NUMA node 0"],
        ),
        (
            [nic("0000:86:00.0", total_functions=64)],
            [nic("0000:86:00.0")],
            ["device 0000:86:00.0 with 64 virtual functions, not 0"],
        ),
        ([nic("0000:86:00.0", driver="ice")], [nic("0000:86:00.0", interfaces=("ens1",))], []),
        ([nic("0000:86:01.0", physical_function="0000:86:00.0")], [], []),
    ],
)
def test_devices(mine: list[DeviceFacts], theirs: list[DeviceFacts], expected: list[str]) -> None:
    first, other = (
        machine()._replace(devices=tuple(mine)),
        machine()._replace(devices=tuple(theirs)),
    )
    assert differences(first, other) == expected


def test_most_important_first() -> None:
    """CPUs, memory, devices, then what only names things."""
    bare = machine()
    other = bare._replace(
        online=bare.online - CpuSet((5, 6)),
        offline=CpuSet((5, 6)),
        numa_nodes=(bare.numa_nodes[0], bare.numa_nodes[1]._replace(memory=65 << 30)),
        core_ids=dict.fromkeys(range(8), 3),
        devices=(nic("0000:86:00.0"),),
    )
    assert differences(other, bare) == [
        "CPUs 5-6 offline",
        "NUMA node 1 has 64Gi more memory",
        "device 0000:86:00.0 in addition",
        "other core ids",
    ]


def test_unlike() -> None:
    """A sentence for each kind but the commonest of its model; other models are not compared."""
    usual, larger = machine(), machine(memory_kb=3 * GI)
    other = usual._replace(model="AMD EPYC 7763 64-Core Processor")
    machines = {
        "worker-0": usual,
        "worker-1": usual,
        "worker-2": larger,
        "worker-3": usual,
        "db-0": other,
    }
    imported = Imported(tuple(Node(name, machines[name], {}) for name in sorted(machines)))
    assert list(unlike(kinds_of(imported))) == [
        "worker-2 differs from worker-[0-1], worker-3: NUMA nodes 0-1 have 2Gi more memory each"
    ]
    assert list(unlike(kinds_of(Imported(imported.nodes[:2])))) == []

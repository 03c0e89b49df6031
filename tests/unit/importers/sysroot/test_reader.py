"""System roots: the traps of /sys that real dumps have, each on a small machine."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cpuplan import importers
from cpuplan.base.cpuset import CpuSet
from cpuplan.importers import formats
from cpuplan.importers.base import Imported, Machine
from cpuplan.importers.sysroot import reader as sysroot
from cpuplan.importers.sysroot import sysfs
from cpuplan.importers.trees import TarTree
from tests.machines import trees

CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"
PCI = "sys/bus/pci/devices"


def machine(files: Mapping[str, str], **extra: Any) -> Machine:
    facts_read, _, problems = sysroot.read_machine(TarTree(trees.tar(files, "w", **extra), "a.tar"))
    assert facts_read is not None
    assert not problems
    return facts_read


def without(files: Mapping[str, str], *parts: str) -> dict[str, str]:
    return {path: text for path, text in files.items() if not any(part in path for part in parts)}


def facts(imported: Imported) -> Machine:
    assert len(imported.nodes) == 1
    return imported.nodes[0].machine


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("sys/fs/cgroup/cpuset/cpuset.cpus", {"cgroupMode": "v1"}),
        ("sys/fs/cgroup/cgroup.controllers", {}),
        ("sys/fs/cgroup/memory/memory.stat", {}),
    ],
)
def test_cgroups(tmp_path: Path, path: str, expected: dict[str, str]) -> None:
    trees.put({**trees.server(), path: "0-7"}, tmp_path)
    assert importers.run(None, [tmp_path]).nodes[0].cluster_facts == expected


def test_server() -> None:
    facts_read = machine(trees.server())
    assert (facts_read.architecture, facts_read.vendor, facts_read.model_number) == (
        "x86_64",
        "GenuineIntel",
        106,
    )
    assert facts_read.model == "Intel(R) Xeon(R) Gold 6330 CPU @ 2.00GHz"
    assert [str(core) for core in facts_read.siblings] == ["0,4", "1,5", "2,6", "3,7"]
    assert facts_read.sockets == dict(enumerate([0, 1] * 4))
    assert [(c.level, c.size, c.id, str(c.cpus)) for c in facts_read.caches] == [
        (3, 32 << 20, 0, "0,2,4,6"),
        (3, 32 << 20, 1, "1,3,5,7"),
    ]
    assert [(n.id, str(n.cpus), n.memory, n.distances) for n in facts_read.numa_nodes] == [
        (0, "0,2,4,6", 1 << 30, (10, 21)),
        (1, "1,3,5,7", 1 << 30, (21, 10)),
    ]
    assert facts_read.boot_arguments == "root=/dev/sda"


def test_a_folder_reads_like_its_archive(tmp_path: Path) -> None:
    files = trees.server()
    trees.put(files, tmp_path / "dump/worker-0")
    (tmp_path / "worker-0.tgz").write_bytes(trees.tar(files))
    (tmp_path / "worker-1").mkdir()
    (tmp_path / "worker-1/sysinfo.tgz").write_bytes(trees.tar(files))
    all_imported = [
        importers.run(None, [tmp_path / name])
        for name in ("dump", "worker-0.tgz", "worker-1/sysinfo.tgz")
    ]
    assert [imported.diagnostics for imported in all_imported] == [()] * 3
    assert [imported.nodes[0].name for imported in all_imported] == ["dump", "worker-0", "worker-1"]
    assert facts(all_imported[0]) == facts(all_imported[1]) == facts(all_imported[2])


def test_host_name_and_cluster(tmp_path: Path) -> None:
    trees.put({**trees.server(), "proc/sys/kernel/hostname": "Node-7\n"}, tmp_path)
    node = importers.run("sysroot", [tmp_path], "lab").nodes[0]
    assert (node.name, node.cluster) == ("node-7", "lab")


@pytest.mark.parametrize("name", ["../../etc/x", "two words", "-", "x" * 300, "\x1b[31mred"])
def test_host_names_that_no_node_has(name: str, tmp_path: Path) -> None:
    path = tmp_path / "worker-0.tar"
    path.write_bytes(
        trees.tar({**trees.server(), "proc/sys/kernel/hostname": name, "etc/hostname": ""})
    )
    assert [node.name for node in importers.run(None, [path]).nodes] == ["worker-0"]


def test_live_host() -> None:
    assert CpuSet(os.sched_getaffinity(0)) <= facts(importers.run(None, [Path("/")])).online


@pytest.mark.parametrize(
    ("files", "online", "offline"),
    [
        pytest.param({f"{CPU}/online": "1-7\n"}, "1-7", "0", id="the list of online CPUs"),
        pytest.param(
            {f"{CPU}/online": None, f"{CPU}/offline": "6-9\n"},
            "0-5",
            "6-7",
            id="only the list of offline ones",
        ),
        pytest.param(
            {f"{CPU}/online": None, f"{CPU}/cpu3/online": "0\n", f"{CPU}/cpu4/online": ""},
            "0-2,4-7",
            "3",
            id="a file per CPU",
        ),
        pytest.param({f"{CPU}/present": "0-9\n"}, "0-7", "8-9", id="present without folders"),
        pytest.param({f"{CPU}/possible": "0-191\n"}, "0-7", "", id="possible is not present"),
    ],
)
def test_online(files: Mapping[str, str | None], online: str, offline: str) -> None:
    merged = {**trees.server(), **files}
    facts_read = machine({path: text for path, text in merged.items() if text is not None})
    assert (str(facts_read.online), str(facts_read.offline)) == (online, offline)


def test_offline_threads_have_no_topology() -> None:
    """nosmt: the second threads are present, offline, and gone from the lists of their siblings."""
    files = without(trees.server(), *(f"cpu{cpu}/topology" for cpu in range(4, 8)))
    files |= {f"{CPU}/cpu{cpu}/topology/core_cpus_list": f"{cpu}\n" for cpu in range(4)}
    facts_read = machine({**files, f"{CPU}/online": "0-3\n"})
    assert [str(core) for core in facts_read.siblings] == ["0", "1", "2", "3"]
    assert str(facts_read.offline) == "4-7"
    assert [str(cache.cpus) for cache in facts_read.caches] == ["0,2", "1,3"]


@pytest.mark.parametrize("name", ["thread_siblings_list", "core_cpus", "thread_siblings"])
def test_older_names_of_siblings(name: str) -> None:
    files = without(trees.server(), "core_cpus_list")
    for cpu in range(8):
        siblings = CpuSet([cpu % 4, cpu % 4 + 4])
        files[f"{CPU}/cpu{cpu}/topology/{name}"] = (
            str(siblings) if name.endswith("list") else siblings.mask()
        )
    assert [str(core) for core in machine(files).siblings] == ["0,4", "1,5", "2,6", "3,7"]


def test_caches_are_known_by_level() -> None:
    """Index 3 need not be level 3; level 1 is skipped; empty maps mean a CPU's own cache."""
    files = without(trees.server(), "index3/")
    for cpu in range(8):
        for index, level, shared in ((0, 1, f"{cpu}"), (2, 3, "0-7"), (3, 2, "")):
            folder = f"{CPU}/cpu{cpu}/cache/index{index}"
            files |= {
                f"{folder}/level": f"{level}\n",
                f"{folder}/shared_cpu_list": shared,
                f"{folder}/size": "1M\n",
            }
    caches = machine(files).caches
    assert [(cache.level, str(cache.cpus)) for cache in caches] == [
        *((2, str(cpu)) for cpu in range(8)),
        (3, "0-7"),
    ]
    assert {(cache.id, cache.size) for cache in caches} == {(None, 1 << 20)}


def test_lists_of_caches_that_lack_their_own_cpu_give_way_to_maps() -> None:
    """A dump with the lists of CPU 0 at every CPU; its maps are right."""
    files = trees.server()
    for cpu in range(8):
        folder = f"{CPU}/cpu{cpu}/cache/index3"
        files[f"{folder}/shared_cpu_list"] = "0,2\n"
        files[f"{folder}/shared_cpu_map"] = "55\n" if cpu % 2 == 0 else "aa\n"
    assert [str(cache.cpus) for cache in machine(files).caches] == ["0,2,4,6", "1,3,5,7"]


@pytest.mark.parametrize("kept", ["cpulist", "cpumap", "links"])
def test_numa_membership(kept: str) -> None:
    files = without(trees.server(), "cpulist")
    links = []
    for node in range(2):
        cpus = CpuSet(range(node, 8, 2))
        if kept == "cpulist":
            files[f"{NODE}/node{node}/cpulist"] = f"{cpus},100\n"  # more than there are
        elif kept == "cpumap":
            files[f"{NODE}/node{node}/cpumap"] = f"{cpus.mask()}\n"
        else:
            links += [trees.link(f"{NODE}/node{node}/cpu{cpu}", ".") for cpu in cpus]
    facts_read = machine(files, extra=tuple(links))
    assert [str(node.cpus) for node in facts_read.numa_nodes] == ["0,2,4,6", "1,3,5,7"]


def test_cpus_claimed_by_two_nodes_belong_to_the_lower() -> None:
    files = {**trees.server(), f"{NODE}/node1/cpulist": "0-7\n"}
    facts_read, remarks, _ = sysroot.read_machine(TarTree(trees.tar(files), "a"))
    assert facts_read is not None
    assert [str(node.cpus) for node in facts_read.numa_nodes] == ["0,2,4,6", "1,3,5,7"]
    assert "CPUs 0,2,4,6 are in several NUMA nodes: the lowest is used" in remarks


def test_without_numa_there_is_one_node() -> None:
    files = without(trees.server(), NODE) | {"proc/meminfo": "MemFree: 1 kB\nMemTotal:  2048 kB\n"}
    (node,) = machine(files).numa_nodes
    assert (node.id, str(node.cpus), node.memory, node.distances) == (0, "0-7", 2048 * 1024, ())


def test_memory_only_nodes_and_huge_pages() -> None:
    files = trees.server() | {
        f"{NODE}/node4/cpulist": "\n",
        f"{NODE}/node4/meminfo": "Node 4 MemTotal: 4 kB\n",
        f"{NODE}/node4/hugepages/hugepages-1048576kB/nr_hugepages": "3\n",
    }
    facts_read = machine(files)
    assert facts_read.numa_nodes[2][:3] == (4, CpuSet(), 4096)
    assert facts_read.numa_nodes[2].huge_pages == {1048576: 3}
    assert facts_read.huge_page_sizes == (2048, 1048576)


def test_core_types_of_hybrids() -> None:
    files = trees.server() | {
        "sys/devices/cpu_core/cpus": "0,4\n",
        "sys/devices/cpu_atom/cpus": "1-3,5-7\n",
    }
    assert machine(files).core_types == {0: "performance", 4: "performance"} | dict.fromkeys(
        [1, 2, 3, 5, 6, 7], "efficient"
    )


def test_core_types_by_part_then_capacity() -> None:
    """GB10: two parts whose cores differ a little in capacity."""
    files = trees.server()
    for cpu in range(8):
        small = cpu < 4
        files[f"{CPU}/cpu{cpu}/regs/identification/midr_el1"] = (
            "0x410fd870\n" if small else "0x410fd850\n"
        )
        files[f"{CPU}/cpu{cpu}/cpu_capacity"] = f"{(700 if small else 990) + cpu}\n"
    assert list(machine(files).core_types.values()) == ["kind0"] * 4 + ["kind1"] * 4


@pytest.mark.parametrize(
    ("name", "small", "large"),
    [
        ("cpu_capacity", "446", "1024"),
        ("regs/identification/midr_el1", "0x410fd050", "0x410fd0b0"),
    ],
)
def test_core_types_by_one_fact(name: str, small: str, large: str) -> None:
    """Kernels have either, and of the first half of these CPUs none."""
    fact = {f"{CPU}/cpu{cpu}/{name}": f"{small if cpu < 4 else large}\n" for cpu in range(8)}
    expected = ["kind0"] * 4 + ["kind1"] * 4
    assert list(machine(trees.server() | fact).core_types.values()) == expected
    fact = {f"{CPU}/cpu{cpu}/{name}": f"{large}\n" for cpu in (0, 4, 5, 6, 7)}
    expected = ["kind1"] + ["kind0"] * 3 + ["kind1"] * 4
    assert list(machine(trees.server() | fact).core_types.values()) == expected


def test_clusters() -> None:
    files = trees.server()
    for cpu in range(8):
        files[f"{CPU}/cpu{cpu}/topology/cluster_id"] = "65535\n" if cpu < 4 else "8\n"
        files[f"{CPU}/cpu{cpu}/topology/cluster_cpus_list"] = "4-7\n"
    assert [str(cluster) for cluster in machine(files).clusters] == ["4-7"]


def test_devices() -> None:
    pf, vf, bridge = "0000:31:00.0", "0000:31:01.0", "0000:00:1c.0"
    real = "sys/devices/pci0000:30"
    files = trees.server() | {
        f"{real}/{pf}/class": "0x020000\n",
        f"{real}/{pf}/vendor": "0x8086\n",
        f"{real}/{pf}/device": "0x1593\n",
        f"{real}/{pf}/numa_node": "1\n",
        f"{real}/{pf}/sriov_totalvfs": "64\n",
        f"{real}/{pf}/sriov_numvfs": "1\n",
        f"{real}/{pf}/net/ens1f0/address": "00:00:5e:00:53:01\n",
        f"{real}/{vf}/class": "0x020000\n",
        f"{real}/{vf}/numa_node": "-1\n",
        f"{real}/{bridge}/class": "0x060400\n",
    }
    links = [
        trees.link(f"{PCI}/{address}", f"../../../devices/pci0000:30/{address}")
        for address in (pf, vf, bridge)
    ]
    links += [
        trees.link(f"{real}/{pf}/driver", "../../../bus/pci/drivers/ice"),
        trees.link(f"{real}/{vf}/physfn", f"../{pf}"),
    ]
    first, second = machine(files, extra=tuple(links)).devices
    assert first == (pf, 0x020000, "0x8086", "0x1593", 1, "ice", ("ens1f0",), 64, 1, None)
    assert (second.address, second.numa_node, second.physical_function) == (vf, 1, pf)


@pytest.mark.parametrize("names", ["folders", "links"])
def test_interfaces_of_virtio_functions(names: str) -> None:
    """A virtio device stands between the function and its interface."""
    function = "sys/devices/pci0000:00/0000:00:03.0"
    files = {**trees.server(), f"{function}/class": "0x020000\n"}
    links = [trees.link(f"{PCI}/0000:00:03.0", "../../../devices/pci0000:00/0000:00:03.0")]
    if names == "folders":
        files[f"{function}/virtio0/net/eth0/address"] = "00:00:5e:00:53:01\n"
    else:
        target = "../../devices/pci0000:00/0000:00:03.0/virtio0/net/eth0"
        links.append(trees.link("sys/class/net/eth0", target))
    (device,) = machine(files, extra=tuple(links)).devices
    assert device.interfaces == ("eth0",)


def test_cpuinfo_alone() -> None:
    block = "processor: {}\nphysical id: 1\ncore id: {}\nvendor_id: GenuineIntel\nflags: lm"
    text = "\n\n".join(block.format(cpu, cpu % 2) for cpu in range(4, 8))
    facts_read = machine({"proc/cpuinfo": text})
    assert facts_read.kubelet is None  # /sys was not copied: a gap of the source
    assert [str(core) for core in facts_read.siblings] == ["4,6", "5,7"]
    assert set(facts_read.sockets.values()) == {1}


@pytest.mark.parametrize(
    ("text", "architecture", "model"),
    [
        ("CPU implementer : 0x41\nCPU part : 0xd0c", "aarch64", None),
        ("vendor_id : IBM/S390", "s390x", None),
        ("processor : 0\ncpu : POWER9, altivec supported", "ppc64le", "POWER9, altivec supported"),
        ("processor : 0\nisa : rv64imafdc", "riscv64", None),
        (
            "CPU Family : Loongson-64bit\nModel Name : Loongson-3A5000",
            "loongarch64",
            "Loongson-3A5000",
        ),
        ("arch : IA-64\nfamily : Itanium 2", "other", "Itanium 2"),
        (
            "processor : 0\ncpu : Cell Broadband Engine\nrevision : 16.0 (pvr 0070 1000)",
            "ppc64le",
            "Cell Broadband Engine",
        ),
        ("processor : 0\ncpu : 740/750\nrevision : 3.1 (pvr 0008 0301)", "other", "740/750"),
        ("CPU implementer : 0x41\nCPU architecture: 7", "other", None),
        ("CPU implementer : 0x41\nCPU architecture: 8", "aarch64", None),
        ("nothing : known", "", None),
    ],
)
def test_architectures(text: str, architecture: str, model: str | None) -> None:
    facts_read = machine({**trees.server(), "proc/cpuinfo": text})
    assert (facts_read.architecture, facts_read.model) == (architecture, model)


@pytest.mark.parametrize("missing", ["core_cpus_list", "topology/"])
def test_x86_cores_without_sibling_lists(missing: str) -> None:
    """By socket, die and core id, of sysfs or of /proc/cpuinfo."""
    text = "".join(
        (
            f"processor: {cpu}\nvendor_id: GenuineIntel\nflags: lm\nphysical id: {cpu % 2}\n"
            f"core id: {cpu % 4 // 2}\n\n"
        )
        for cpu in range(8)
    )
    files = {path: text for path, text in trees.server().items() if missing not in path} | {
        "proc/cpuinfo": text
    }
    facts_read = machine(files)
    assert [str(core) for core in facts_read.siblings] == ["0,4", "1,5", "2,6", "3,7"]
    assert (facts_read.sockets[5], facts_read.core_ids[6]) == (1, 1)
    assert facts_read.kubelet is not None
    assert not facts_read.kubelet.unlabelled


def test_remarks_say_what_is_not_told() -> None:
    files = {f"{CPU}/cpu{cpu}/topology/physical_package_id": "0\n" for cpu in range(2)}
    _, remarks, _ = sysroot.read_machine(TarTree(trees.tar(files), "a"))
    assert remarks == [
        (
            "the architecture is missing: other is written: replace it with one of aarch64, "
            "loongarch64, ppc64le, riscv64, s390x, x86_64"
        ),
        "the CPU model is missing",
        "offline CPUs are not listed: only CPUs that are marked offline count as offline",
        "cores are missing: each CPU is treated as a core",
        "caches are missing",
        "there are no NUMA nodes: all CPUs are treated as node 0",
        "the memory of NUMA nodes is missing",
        "PCI devices are missing",
    ]


@pytest.mark.parametrize(
    ("path", "text", "problem"),
    [
        (f"{CPU}/online", "0-x\n", "'0-x' is not a CPU number or range"),
        (f"{CPU}/cpu0/topology/core_id", "many\n", "it is not a number"),
        (f"{CPU}/cpu0/cache/index3/size", "large\n", "it is not a size such as 1280K"),
    ],
)
def test_unexpected_text(path: str, text: str, problem: str) -> None:
    facts_read, _, problems = sysroot.read_machine(
        TarTree(trees.tar({**trees.server(), path: text}), "a.tar")
    )
    assert facts_read is not None
    assert [d.code for d in problems] == ["CP125"]
    assert all(part in problems[0].message for part in (path, text.strip(), problem))


def test_numbers_beyond_the_kernels_limits() -> None:
    files = trees.server() | {
        f"{CPU}/cpu8192/topology/core_id": "1\n",
        f"{NODE}/node1024/cpulist": "0-7\n",
        f"{NODE}/node1/distance": "21 10000\n",
        f"{NODE}/node0/hugepages/hugepages-0kB/nr_hugepages": "1\n",
        f"{NODE}/node0/hugepages/hugepages-2048kB/nr_hugepages": "-1\n",
        f"{PCI}/0000:31:00.0/class": "0x020000\n",
        f"{PCI}/0000:31:00.0/vendor": "Intel\n",
        f"{PCI}/0000:31:00.0/sriov_totalvfs": "-1\n",
    }
    facts_read, _, problems = sysroot.read_machine(TarTree(trees.tar(files), "a.tar"))
    assert facts_read is not None
    assert (
        str(facts_read.online | facts_read.offline),
        [node.id for node in facts_read.numa_nodes],
    ) == (
        "0-7",
        [0, 1],
    )
    assert [(node.distances, node.huge_pages) for node in facts_read.numa_nodes] == [
        ((10, 21), {}),
        ((), {2048: 0}),
    ]
    assert [(device.vendor, device.total_functions) for device in facts_read.devices] == [(None, 0)]
    assert [problem.message for problem in problems] == [
        f"a.tar contains a number above 8,191: {CPU}/cpu8192",
        f"a.tar contains a number above 1,023: {NODE}/node1024",
        f"a.tar: {PCI}/0000:31:00.0/vendor contains 'Intel': it is not an id such as 0x8086",
    ]


def test_large_values() -> None:
    """A list of 8,192 CPUs has 20 KiB at most; a file of megabytes is none."""
    files = {**trees.server(), f"{CPU}/cpu0/topology/core_id": "0" * 100_000}
    facts_read, _, problems = sysroot.read_machine(TarTree(trees.tar(files), "a.tar"))
    assert facts_read is not None
    assert 0 not in facts_read.core_ids
    assert [problem.message for problem in problems] == [
        f"a.tar: {CPU}/cpu0/topology/core_id exceeds the limit of 64Ki bytes per file"
    ]


def test_too_much_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sysfs, "MAX_VALUES", 1024)
    facts_read, _, problems = sysroot.read_machine(TarTree(trees.tar(trees.server()), "a.tar"))
    assert facts_read is None
    assert [problem.code for problem in problems] == ["CP123"]


def test_numbers_of_cpuinfo() -> None:
    """What Python would take for a number: of thousands of digits it prints none."""
    block = "processor: {}\nphysical id: {}\ncore id: 0\nmodel: 0x1x0\nvendor_id: A\nflags: lm\n"
    block += "model name: " + "x" * 500
    facts_read = machine(
        {"proc/cpuinfo": "\n\n".join(map(block.format, "01", ("0x" + "f" * 6000, "9" * 5000)))}
    )
    assert (facts_read.sockets, facts_read.model_number, facts_read.model) == ({}, None, "x" * 128)
    many = "processor: 0\n\n" + "\n\n" * 10_000 + "processor: 1\n"
    assert str(machine({"proc/cpuinfo": many}).online) == "0"


def test_neither_file_nor_folder(tmp_path: Path) -> None:
    """Opening a pipe waits for its writer."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path / ("x" * 300)):
        (problem,) = importers.run("sysroot", [path]).diagnostics
        assert problem.message == f"{path} cannot be read: it is neither a file nor a folder"


def test_links_in_a_folder_of_files(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/worker-1.tar").write_bytes(trees.tar(trees.server()))
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "worker-0.tar").write_bytes(trees.tar(trees.server()))
    (folder / "worker-1.tar").symlink_to("../secret/worker-1.tar")
    imported = importers.run(None, [folder])
    assert [node.name for node in imported.nodes] == ["worker-0"]
    assert [d.message for d in imported.diagnostics] == [
        f"{folder} contains a link that leads out of it: worker-1.tar"
    ]


def test_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "MAX_FILES", 2)
    for number in range(3):
        (tmp_path / f"{number}").touch()
    assert "CP123" in [d.code for d in importers.run(None, [tmp_path]).diagnostics]


def test_looking_at_a_file_takes_no_time(tmp_path: Path) -> None:
    """So many comments were tried in every combination; this would never end."""
    (tmp_path / "a.xml").write_text("<!-- -->" * 10_000)
    assert formats.detect(tmp_path / "a.xml") is None
    (tmp_path / "b.xml").write_text("<?xml version='1.0'?>\n<!-- a --><!-- b -->\n<topology>")
    assert formats.detect(tmp_path / "b.xml") == formats.FORMATS["hwloc"]


def test_nothing_there(tmp_path: Path) -> None:
    assert [d.code for d in importers.run(None, [tmp_path]).diagnostics] == ["CP120"]
    assert [d.code for d in importers.run("sysroot", [tmp_path]).diagnostics] == ["CP124"]
    (tmp_path / "a.tgz").write_bytes(trees.tar({"proc/cpuinfo": "nothing"}))
    assert [d.code for d in importers.run(None, [tmp_path / "a.tgz"]).diagnostics] == ["CP124"]
    (tmp_path / "b.tgz").write_bytes(trees.tar(trees.server())[:500])
    assert [d.code for d in importers.run(None, [tmp_path / "b.tgz"]).diagnostics] == ["CP121"]


def test_memory_from_machineinfo() -> None:
    files = without(trees.server(), "meminfo")
    cores = [
        {"core_id": cpu, "thread_ids": [cpu, cpu + 4], "socket_id": cpu % 2} for cpu in range(4)
    ]
    nodes = [
        {"node_id": node, "memory": (node + 1) << 30, "cores": cores[node::2]} for node in (0, 1)
    ]
    info = json.dumps({"topology": nodes})
    assert [node.memory for node in machine({**files, "machineinfo.json": info}).numa_nodes] == [
        1 << 30,
        2 << 30,
    ]
    other = json.dumps({"topology": nodes[:1]})
    for text in (other, "{", "[]", ""):
        assert [
            node.memory for node in machine({**files, "machineinfo.json": text}).numa_nodes
        ] == [None, None]

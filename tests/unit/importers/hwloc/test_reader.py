"""hwloc's XML: each trap of the three versions on a small machine."""

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cpuplan import importers
from cpuplan.base.cpuset import CpuSet
from cpuplan.fleet import hardware
from cpuplan.importers import documents, formats
from cpuplan.importers.base import Imported, Machine
from cpuplan.language.read import documents as read_documents
from cpuplan.language.read import yaml
from tests.machines import trees
from tests.machines.topologies import core, cpuset, info, node, server, thing, topology

MATRIX = (
    '<distances2 type="NUMANode" nbobjs="2" kind="5" name="NUMALatency" indexing="os">'
    '<indexes length="4">0 1 </indexes>'
    '<u64values length="6">10 21 </u64values><u64values length="6">21 10 </u64values>'
    "</distances2>"
)


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def read_text(text: str, name: str = "machine.xml") -> Imported:
        (tmp_path / name).write_text(text)
        return importers.run(None, [tmp_path / name])

    return read_text


def machine(imported: Imported) -> Machine:
    assert imported.diagnostics == ()
    return imported.nodes[0].machine


def test_cpus_without_a_package_are_told(read: Any) -> None:
    inside = thing("Package", "0-1", core(0, 0) + core(1, 1), os_index=0)
    inside += core(2, 2) + core(3, 3) + node(0, "0-3")
    imported = read(topology(thing("Machine", "0-3", inside)))
    assert machine(imported).sockets == {0: 0, 1: 0}
    assert any("CPUs 2-3 are in no package" in remark for remark in imported.remarks)
    without = read(topology(thing("Machine", "0", core(0, 0) + node(0, "0"))), "b.xml")
    assert not any("in no package" in remark for remark in without.remarks)


@pytest.mark.parametrize("version", ["1", "2.0", "3.0"])
def test_server(read: Any, version: str) -> None:
    imported = read(server(version, "" if version == "1" else MATRIX))
    assert imported.nodes[0].name == "worker-7"
    facts = machine(imported)
    assert (facts.architecture, facts.vendor, facts.model_number) == ("x86_64", "GenuineIntel", 106)
    assert facts.model == "Intel(R) Xeon(R) Gold 6330"
    assert [str(siblings) for siblings in facts.siblings] == ["0,4", "1,5", "2,6", "3,7"]
    assert facts.core_ids == {0: 0, 4: 0, 2: 1, 6: 1, 1: 0, 5: 0, 3: 1, 7: 1}
    assert facts.sockets == dict(enumerate([0, 1] * 4))
    assert [(c.level, c.type, c.size, c.id, str(c.cpus)) for c in facts.caches] == [
        (3, "Unified", 32 << 20, 0, "0,2,4,6"),
        (3, "Unified", 32 << 20, 1, "1,3,5,7"),
    ]
    rows = [(), ()] if version == "1" else [(10, 21), (21, 10)]
    assert [(n.id, str(n.cpus), n.memory, n.distances, n.huge_pages) for n in facts.numa_nodes] == [
        (0, "0,2,4,6", 1 << 30, rows[0], {2048: 8}),
        (1, "1,3,5,7", 1 << 30, rows[1], {2048: 8}),
    ]
    assert [
        (d.address, d.pci_class, d.vendor, d.device, d.numa_node, d.interfaces)
        for d in facts.devices
    ] == [
        ("0000:01:00.0", 0x020000, "0x8086", "0x1593", 0, ("ens0f0",)),
        ("0000:11:00.0", 0x020000, "0x8086", "0x1593", 1, ("ens1f0",)),
    ]
    assert "c4:cb" not in str(documents.render(imported))


@pytest.mark.parametrize(
    ("suffix", "pack"), [("gz", gzip.compress), ("xz", lzma.compress), ("bz2", bz2.compress)]
)
def test_no_host_name_and_packed(
    tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / f"worker-3.xml.{suffix}"
    path.write_bytes(pack(server().replace("Worker-7", "Worker 7").encode()))
    imported = importers.run(None, [path])
    assert imported.nodes[0].name == "worker-3"
    assert (
        "node worker-3: there is no host name: the node is named worker-3, after the file"
        in imported.remarks
    )


def test_it_completes_a_system_root(tmp_path: Path) -> None:
    """Of a machine that the kernel tells too, hwloc's facts fill only what is open."""
    files = {path: text for path, text in trees.server().items() if "meminfo" not in path}
    (tmp_path / "worker-7.tgz").write_bytes(trees.tar(files))
    (tmp_path / "machine.xml").write_text(server())
    imported = importers.run(None, [tmp_path])
    assert imported.diagnostics == ()
    (merged,) = imported.nodes
    assert [numa.memory for numa in merged.machine.numa_nodes] == [1 << 30] * 2
    assert merged.machine.boot_arguments == "root=/dev/sda"
    assert len(merged.machine.devices) == 2


MEMORY_ONLY = {
    "the same CPUs": (node(0, "0-1") + node(4, "0-1"), ["0-1", ""]),
    "a larger set": (node(0, "0-1") + node(1, "0"), ["1", "0"]),
    "a subtype": (node(0, "0-1", subtype="HBM") + node(1, "0-1"), ["", "0-1"]),
    "ordinary memory": (node(0, "0", subtype="HBM") + node(1, "0-1", subtype="DRAM"), ["", "0-1"]),
    "no CPUs (version 1)": (
        node(0, "0-1") + thing("NUMANode", "", os_index=2, nodeset="0x4"),
        ["0-1", ""],
    ),
    "taken out of the set": (
        node(0, "0") + thing("NUMANode", "1", os_index=1, nodeset="0x0", complete_nodeset="0x2"),
        ["0"],
    ),
}


@pytest.mark.parametrize("name", MEMORY_ONLY)
def test_memory_only_nodes(read: Any, name: str) -> None:
    nodes, expected = MEMORY_ONLY[name]
    facts = machine(read(topology(thing("Machine", "0-1", core(0, 0) + core(1, 1) + nodes))))
    assert [str(numa.cpus) for numa in facts.numa_nodes] == expected


def test_a_cpu_whose_node_is_left_out_is_in_none(read: Any) -> None:
    """Node 0 has the CPU and no memory; node 1 has the memory, and no CPU of its own."""
    unit = thing("PU", "0", os_index=0, nodeset="0x2", complete_nodeset="0x3")
    text = topology(thing("Machine", "0-1", unit + core(1, 1) + node(1, "0-1")))
    assert [(numa.id, str(numa.cpus)) for numa in machine(read(text)).numa_nodes] == [(1, "1")]


def test_memory_is_zero_only_beside_nodes_that_have_some(read: Any) -> None:
    cores = core(0, 0) + core(1, 1)
    told = machine(
        read(
            topology(
                thing("Machine", "0-1", cores + node(0, "0", local_memory=4096) + node(1, "1"))
            )
        )
    )
    assert [numa.memory for numa in told.numa_nodes] == [4096, 0]
    unknown = machine(read(topology(thing("Machine", "0-1", cores + node(0, "0") + node(1, "1")))))
    assert [numa.memory for numa in unknown.numa_nodes] == [None, None]


def test_no_numa_node(read: Any) -> None:
    """hwloc 1 has none on a machine without NUMA; its memory is the machine's."""
    imported = read(topology(thing("Machine", "0", core(0, 0), local_memory=4096), version="1"))
    assert [(n.id, str(n.cpus), n.memory) for n in machine(imported).numa_nodes] == [(0, "0", 4096)]


LATENCIES = '<distances nbobjs="2" relative_depth="1" latency_base="10.0">{}</distances>'
MATRICES: dict[str, tuple[str, str, list[tuple[int, ...]]]] = {
    "order of the file": (
        "1",
        LATENCIES.format("".join(f'<latency value="{value}"/>' for value in (1.0, 2.1, 1.6, 1.0))),
        [(10, 16), (21, 10)],
    ),
    "latencies of others": ("1", LATENCIES.format('<latency value="1.0"/>'), [(), ()]),
    "no latencies": ("1", LATENCIES.format('<latency value="nan"/>' * 4), [(), ()]),
    "rows by number": (
        "2.0",
        MATRIX.replace("0 1 ", "1 0 ").replace("10 21 ", "10 20 "),
        [(10, 21), (20, 10)],
    ),
    "other nodes": ("2.0", MATRIX.replace("0 1 ", "0 2 "), [(), ()]),
    "a value too few": ("2.0", MATRIX.replace("10 21 ", "10 "), [(), ()]),
    "no numbers": ("2.0", MATRIX.replace("10 21 ", "10 x "), [(), ()]),
    "bandwidths": ("2.0", MATRIX.replace('kind="5"', 'kind="9"'), [(), ()]),
    "of a user, then of the system": (
        "3.0",
        MATRIX.replace('kind="5"', 'kind="6"').replace("21", "99") + MATRIX,
        [(10, 21), (21, 10)],
    ),
}


@pytest.mark.parametrize("name", MATRICES)
def test_distances(read: Any, name: str) -> None:
    version, matrix, expected = MATRICES[name]
    # hwloc's order need not be the kernel's
    first, second = node(1, "1", core(1, 1)), node(0, "0", core(0, 0))
    inside = matrix if version == "1" else ""
    text = topology(
        thing("Machine", "0-1", inside + first + second), "" if version == "1" else matrix, version
    )
    assert [numa.distances for numa in machine(read(text)).numa_nodes] == expected


GROUPS: dict[str, tuple[str, dict[int, int]]] = {
    "numbers": (
        thing("Package", "0", os_index=36) + thing("Package", "1", os_index=8442),
        {0: 36, 1: 8442},
    ),
    "one that has none": (thing("Package", "0-1"), {}),
    "several that have none": (
        thing("Package", "0") + thing("Package", "1", os_index=4294967295),
        {0: 0, 1: 1},
    ),
    "a number twice": (
        thing("Package", "1", os_index=7) + thing("Package", "0", os_index=7),
        {1: 0, 0: 1},
    ),
    "none": ("", {}),
}


@pytest.mark.parametrize("name", GROUPS)
def test_packages(read: Any, name: str) -> None:
    packages, expected = GROUPS[name]
    assert (
        machine(read(topology(thing("Machine", "0-1", core(0, 0) + core(1, 1) + packages)))).sockets
        == expected
    )


def test_dies_and_clusters(read: Any) -> None:
    """Version 1 has both as groups. A cluster without a number is a quadrant of a Xeon Phi."""
    cores = "".join(core(cpu, cpu) for cpu in range(4))
    packages = thing("Package", "0-1", os_index=0) + thing("Package", "2-3", os_index=1)
    second = "".join(thing("Die", str(cpu), os_index=cpu % 2) for cpu in range(4))
    second += thing("Group", "0-1", subtype="Cluster", os_index=5) + thing(
        "Group", "2-3", subtype="Cluster"
    )
    first = "".join(
        thing("Group", str(cpu), info("Type", "Die"), os_index=cpu % 2) for cpu in range(4)
    )
    first += thing("Group", "0-1", info("Type", "Cluster"), os_index=5) + thing(
        "Group", "2-3", info("Type", "Cluster")
    )
    for version, groups in (("2.0", second), ("1", first)):
        facts = machine(
            read(topology(thing("Machine", "0-3", cores + packages + groups), version=version))
        )
        assert facts.dies == {0: 0, 1: 1, 2: 0, 3: 1}
        assert [str(cluster) for cluster in facts.clusters] == ["0-1"]


def test_a_pu_without_core_is_one(read: Any) -> None:
    imported = read(
        topology(
            thing("Machine", "0-1", thing("PU", "0", os_index=0) + thing("PU", "1", os_index=1))
        )
    )
    assert [str(core_cpus) for core_cpus in machine(imported).siblings] == ["0", "1"]
    assert "node machine: cores are missing: each CPU is treated as a core" in imported.remarks


HIDDEN = (
    pytest.param("/", {"complete_cpuset": "0-3"}, ("0-1", "2-3"), "", id="offline"),
    pytest.param(
        "/job",
        {"complete_cpuset": "0-3"},
        ("0-1", "2-3"),
        "CPUs 2-3 are offline, or a cgroup hid them: lstopo --disallowed shows which",
        id="offline or hidden",
    ),
    pytest.param(
        "/job",
        {"complete_cpuset": "0-3", "allowed_cpuset": "0"},
        ("0-1", "2-3"),
        "",
        id="with --disallowed",
    ),
    pytest.param(
        "/job",
        {"complete_cpuset": "0-3", "online_cpuset": "0-2"},
        ("0-1", "2-3"),
        "a cgroup hid CPUs 2: they count as offline, lstopo --disallowed shows them",
        id="version 1 tells",
    ),
    pytest.param(
        "/",
        {"complete_cpuset": "0-1", "online_cpuset": "0"},
        ("0", "1"),
        "",
        id="shown, though offline",
    ),
)


@pytest.mark.parametrize(("cgroup", "sets", "expected", "remark"), HIDDEN)
def test_offline_cpus(
    read: Any, cgroup: str, sets: dict[str, str], expected: tuple[str, str], remark: str
) -> None:
    masks = {key: cpuset(cpus) for key, cpus in sets.items()}
    inside = info("LinuxCgroup", cgroup) + core(0, 0) + core(1, 1)
    imported = read(topology(thing("Machine", None, inside, cpuset=cpuset("0-1"), **masks)))
    facts = machine(imported)
    assert (str(facts.online), str(facts.offline)) == expected
    assert [text for text in imported.remarks if "cgroup" in text] == (
        [f"node machine: {remark}"] if remark else []
    )


@pytest.mark.parametrize("version", ["1", "2.0", "3.0"])
def test_hidden_cpus_keep_their_numa_node_and_its_devices(read: Any, version: str) -> None:
    """Their objects have empty sets, except for `complete_cpuset`."""
    hidden = {"cpuset": "0x0", "complete_cpuset": cpuset("2-3")}
    attributes = {"pci_busid": "0000:81:00.0", "pci_type": "0200 [8086:1593] [0000:0000] 02"}
    function = thing("PCIDev", None, **attributes)
    nodes = node(0, "0-1") + thing("NUMANode", None, os_index=1, nodeset="0x2", **hidden)
    inside = core(0, 0) + core(1, 1) + nodes + thing("Group", None, function, **hidden)
    sets = {key: cpuset("0-3") for key in ("complete_cpuset", "online_cpuset")}
    sets = sets if version == "1" else {"complete_cpuset": cpuset("0-3")}
    text = topology(thing("Machine", None, inside, cpuset=cpuset("0-1"), **sets), version=version)
    facts = machine(read(text))
    assert [str(numa.cpus) for numa in facts.numa_nodes] == ["0-1", "2-3"]
    assert [device.numa_node for device in facts.devices] == [1]


def kind(cpus: str, efficiency: int | None, **infos: object) -> str:
    told = "" if efficiency is None else f' forced_efficiency="{efficiency}"'
    inside = "".join(info(name, str(value)) for name, value in infos.items())
    return f'<cpukind cpuset="{cpuset(cpus)}"{told}>{inside}</cpukind>'


KINDS = (
    pytest.param(
        kind("1", 2, CoreType="IntelCore") + kind("0", 1, CoreType="IntelAtom"),
        {0: "efficient", 1: "performance"},
        id="Intel's names",
    ),
    pytest.param(
        kind("1", 9, LinuxCapacity=1024) + kind("0", 1, LinuxCapacity=485),
        {0: "kind0", 1: "kind1"},
        id="Arm",
    ),
    pytest.param(
        kind("0", None, FrequencyMaxMHz=4000) + kind("1", None, FrequencyMaxMHz=3900),
        {},
        id="favoured cores",
    ),
    pytest.param(kind("0-1", None, FrequencyMaxMHz=4000), {}, id="one kind"),
    pytest.param(
        kind("0", 0, CoreType="IntelAtom") + kind("1", 1, CoreType="IntelAtom"),
        {0: "kind0", 1: "kind1"},
        id="one name for two kinds",
    ),
)


@pytest.mark.parametrize(("kinds", "expected"), KINDS)
def test_core_types(read: Any, kinds: str, expected: dict[int, str]) -> None:
    assert (
        machine(read(topology(thing("Machine", "0-1", core(0, 0) + core(1, 1)), kinds))).core_types
        == expected
    )


CACHES = (
    pytest.param(
        thing("L2Cache", "0-1", cache_size=0, cache_type=0),
        [(2, "Unified", None, "0-1")],
        id="no size",
    ),
    pytest.param(
        thing("L2iCache", "0", cache_size=1024, cache_type=2),
        [(2, "Instruction", 1024, "0")],
        id="instructions",
    ),
    pytest.param(thing("L1Cache", "0", cache_size=1024, cache_type=1), [], id="first level"),
    pytest.param(thing("MemCache", "0-1", cache_size=1024, depth=1), [], id="memory side"),
    pytest.param(
        thing("Cache", "0-1", cache_size=9, depth=4), [(4, "Unified", 9, "0-1")], id="version 1"
    ),
    pytest.param(
        thing("L3Cache", "0-1") + thing("L3Cache", "1"),
        [(3, "Unified", None, "0-1")],
        id="a CPU in two",
    ),
)


@pytest.mark.parametrize(("caches", "expected"), CACHES)
def test_caches(read: Any, caches: str, expected: list[object]) -> None:
    facts = machine(read(topology(thing("Machine", "0-1", core(0, 0) + core(1, 1) + caches))))
    assert [(c.level, c.type, c.size, str(c.cpus)) for c in facts.caches] == expected


ARCHITECTURES = (
    (info("Architecture", "i686"), "x86_64"),
    (info("Architecture", "ppc64"), "ppc64le"),
    (info("Architecture", "armv7l"), "other"),
    (info("CPUImplementer", "0x41"), "aarch64"),
    (info("CPUModel", "POWER10 (architected), altivec supported"), "ppc64le"),
    (info("CPUModel", "Dual-Core Intel(R) Itanium(R) Processor 9040"), "other"),
    (info("CPUVendor", "AuthenticAMD"), "x86_64"),
    (info("CPUImplementer", "0x41") + info("CPUArchitecture", "7"), "other"),
    (info("CPUModel", "Cell Broadband Engine, altivec supported"), "ppc64le"),
    ("", "other"),
)


@pytest.mark.parametrize(("inside", "expected"), ARCHITECTURES)
def test_architecture(read: Any, inside: str, expected: str) -> None:
    assert (
        machine(read(topology(thing("Machine", "0", inside + core(0, 0))))).architecture == expected
    )


FUNCTIONS = (
    pytest.param({"pci_type": "0604 [8086:3c03] [0000:0000] 07"}, None, id="bridge"),
    pytest.param(
        {"pci_type": "0108 [144d:a808] [0000:0000] 07 02"},
        0x010802,
        id="version 3 has the interface",
    ),
    pytest.param({"pci_type": "0302 [10de:1db8]"}, 0x030200, id="no subsystem"),
    pytest.param({"pci_type": "nonsense"}, None, id="no class"),
    pytest.param({"pci_busid": "10000:00:04.0"}, 0x020000, id="wide domain"),
    pytest.param({"pci_busid": "../../etc"}, None, id="no address"),
    pytest.param(
        {"inside": info("PCIDevice", "I350 Ethernet Controller Virtual Function")},
        None,
        id="virtual function",
    ),
)


@pytest.mark.parametrize(("attributes", "expected"), FUNCTIONS)
def test_pci_functions(read: Any, attributes: dict[str, Any], expected: int | None) -> None:
    given = {
        "pci_busid": "0000:01:00.0",
        "pci_type": "0200 [8086:1593] [8086:0000] 02",
        **attributes,
    }
    facts = machine(read(topology(thing("Machine", "0", core(0, 0) + thing("PCIDev", **given)))))
    assert [device.pci_class for device in facts.devices] == (
        [] if expected is None else [expected]
    )


def test_a_device_near_to_all_cpus_has_no_node(read: Any) -> None:
    device = thing("PCIDev", pci_busid="0000:01:00.0", pci_type="0200 [8086:1593] [8086:0000] 02")
    nodes = node(0, "0") + node(1, "1")
    facts = machine(
        read(topology(thing("Machine", "0-1", nodes + core(0, 0) + core(1, 1) + device)))
    )
    assert [function.numa_node for function in facts.devices] == [None]


def test_network_interfaces_by_version(read: Any) -> None:
    """In version 3, osdev_type is made of bits, and 2 stands for memory."""
    names = "".join(
        thing("OSDev", name=f"type{number}", osdev_type=number) for number in (2, 3, 16, 48)
    )
    device = thing(
        "PCIDev", inside=names, pci_busid="0000:01:00.0", pci_type="0200 [8086:1593] [8086:0000] 02"
    )
    for version, expected in (("1", "type2"), ("2.0", "type2"), ("3.0", "type16")):
        facts = machine(read(topology(thing("Machine", "0", core(0, 0) + device), version=version)))
        assert facts.devices[0].interfaces == (expected,)


UNEXPECTED = (
    pytest.param('cpuset="0x00000001"', 'cpuset="0x1g"', id="bitmap"),
    pytest.param('cpuset="0x00000001"', f'cpuset="{"0x1," * 300}"', id="too wide"),
    pytest.param('os_index="3"', 'os_index="x"', id="number"),
    pytest.param('os_index="1"', 'os_index="9999"', id="CPU"),
)


@pytest.mark.parametrize(("old", "new"), UNEXPECTED)
def test_unexpected_values_are_said(read: Any, old: str, new: str) -> None:
    imported = read(topology(thing("Machine", "0-1", core(3, 0) + core(7, 1))).replace(old, new))
    assert {diagnostic.code for diagnostic in imported.diagnostics} == {"CP125"}
    assert len(imported.nodes) == 1


def test_no_cpus(read: Any) -> None:
    assert [d.code for d in read(topology(thing("Machine", "0"))).diagnostics] == ["CP124"]


LOOKS = (
    ("<topology>", "hwloc"),
    ('<?xml version="1.0"?>\n<!DOCTYPE topology SYSTEM "hwloc.dtd">\n<topology>', "hwloc"),
    ('<?xml version="1.0"?><!-- a --> <!-- b --><topology version="2.0">', "hwloc"),
    ('<!DOCTYPE topology [<!ENTITY a "a">]><topology>', "hwloc"),
    ("<?xml version='1.0'?><domain/>", None),
    ("<!---->" * 20000 + "<", None),
    (" " * 100000 + "<topologist>", None),
)


@pytest.mark.parametrize(("text", "expected"), LOOKS, ids=range(len(LOOKS)))
def test_looks(tmp_path: Path, text: str, expected: str | None) -> None:
    (tmp_path / "file").write_text(text)
    known = formats.detect(tmp_path / "file")
    assert (known and known.name) == expected


NASTY = (
    b"",
    b"-1",
    b"4294967295",
    b"99999999999999999999",
    b"0xf...f",
    b",,",
    b"nan",
    b"\xff",
    b"&a;",
    b"]]>",
    b"<object>",
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None
)
@given(data=st.data())
def test_mutated_files_never_raise(tmp_path: Path, data: st.DataObject) -> None:
    """Whatever is changed: a diagnostic, or a machine whose document can be read back."""
    text = server(
        data.draw(st.sampled_from(["1", "2.0", "3.0"])), MATRIX + kind("0-3", 1, LinuxCapacity=9)
    ).encode()
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = start + data.draw(st.integers(0, 30))
        other = data.draw(st.integers(0, len(text)))
        piece = data.draw(
            st.sampled_from(NASTY) | st.binary(max_size=8) | st.just(text[other : other + 200])
        )
        text = text[:start] + piece + text[end:]
    (tmp_path / "mutated.xml").write_bytes(text)
    imported = importers.run("hwloc", [tmp_path / "mutated.xml"])
    assert imported.nodes or imported.diagnostics
    for name, document in documents.render(imported).items():
        sources, problems = yaml.parse(name, document)
        assert not problems
        written, problems = read_documents.from_sources(sources)
        for written_hardware in written.of_kind("Hardware"):
            assert hardware.build(written_hardware.spec)[1] == []


def test_a_large_machine_is_no_problem(read: Any) -> None:
    """2,048 CPUs: more than one word of every mask, and the sets of 64 packages."""
    packages = "".join(
        thing(
            "Package",
            f"{first}-{first + 31}",
            "".join(core(cpu, cpu) for cpu in range(first, first + 32)),
            os_index=n,
        )
        for n, first in enumerate(range(0, 2048, 32))
    )
    facts = machine(read(topology(thing("Machine", "0-2047", packages))))
    assert facts.online == CpuSet(range(2048))
    assert facts.sockets[2047] == 63

"""lscpu's tables and summaries in all their forms, and what cannot be believed."""

import gzip
import json
from pathlib import Path

import pytest

from cpuplan import importers
from cpuplan.base.cpuset import CpuSet
from cpuplan.diagnostics.codes import CODES
from cpuplan.importers import documents
from cpuplan.importers.base import Imported, Machine
from cpuplan.importers.lscpu import reader as lscpu

PARSABLE = (
    "# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n0,0,0,0,,0,0,0,0\n1,1,1,1,,1,1,1,1\n"
    "2,0,0,0,,0,0,0,0\n3,1,1,1,,1,1,1,1\n"
)
EXTENDED = """\
CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE MODELNAME
  0    0      0    0 0:0:0:0          yes Intel(R) Xeon(R)
  1    1      1    1 1:1:1:1          yes Intel(R) Xeon(R)
  2    0      0    0 0:0:0:0          yes Intel(R) Xeon(R)
  3    1      1    1 1:1:1:1          yes Intel(R) Xeon(R)
"""
STRINGS = """{"cpus": [
  {"cpu": "0", "node": "0", "socket": "0", "core": "0",
   "l1d:l1i:l2:l3": "0:0:0:0", "online": "yes"},
  {"cpu": "1", "node": "1", "socket": "1", "core": "1",
   "l1d:l1i:l2:l3": "1:1:1:1", "online": "yes"},
  {"cpu": "2", "node": "0", "socket": "0", "core": "0",
   "l1d:l1i:l2:l3": "0:0:0:0", "online": "yes"},
  {"cpu": "3", "node": "1", "socket": "1", "core": "1",
   "l1d:l1i:l2:l3": "1:1:1:1", "online": "yes"}]}"""
NUMBERS = """{"cpus": [
  {"CPU": 0, "NODE": 0, "SOCKET": 0, "CORE": 0,
   "L1d:L1i:L2:L3": "0:0:0:0", "ONLINE": true, "CLUSTER": "-"},
  {"CPU": 1, "NODE": 1, "SOCKET": 1, "CORE": 1,
   "L1d:L1i:L2:L3": "1:1:1:1", "ONLINE": true, "CLUSTER": "-"},
  {"CPU": 2, "NODE": 0, "SOCKET": 0, "CORE": 0,
   "L1d:L1i:L2:L3": "0:0:0:0", "ONLINE": true, "CLUSTER": "-"},
  {"CPU": 3, "NODE": 1, "SOCKET": 1, "CORE": 1,
   "L1d:L1i:L2:L3": "1:1:1:1", "ONLINE": true, "CLUSTER": null}]}"""
#: The kernel's ids: cores 0 and 8 of sockets 0 and 36.
BY_ID = (
    "# CPU,Core,Socket,Book,DRAWER,Node,Online\n0,0,0,-,-,0,Y\n1,8,36,-,-,1,Y\n"
    "2,0,0,-,-,0,Y\n3,8,36,-,-,1,Y\n"
)
FLAT = """\
Architecture:        x86_64
CPU(s):              6
On-line CPU(s) list: 0-3
Off-line CPU(s) list: 4,5
Vendor ID:           GenuineIntel
Model name:          Intel(R)  Xeon(R)
Model:               106
Thread(s) per core:  2
Core(s) per socket:  1
Socket(s):           2
L1d cache:           96 KiB (2 instances)
L2 cache:            2.5 MiB (2 instances)
L3 cache:            2.3 MiB (2 instances)
NUMA node(s):        3
NUMA node0 CPU(s):   0-2:2
NUMA node1 CPU(s):   1,3
NUMA node2 CPU(s):
"""
NESTED = """{"lscpu": [
  {"field": "Architecture:", "data": "x86_64"},
  {"field": "CPU(s):", "data": "6", "children": [
    {"field": "On-line CPU(s) list:", "data": "0-3"},
    {"field": "Off-line CPU(s) list:", "data": "4,5"}]},
  {"field": "Vendor ID:", "data": "GenuineIntel", "children": [
    {"field": "Model name:", "data": "Intel(R)  Xeon(R)", "children": [
      {"field": "Model:", "data": "106"}, {"field": "Thread(s) per core:", "data": "2"},
      {"field": "Core(s) per socket:", "data": "1"}, {"field": "Socket(s):", "data": "2"}]}]},
  {"field": "Caches (sum of all):", "data": null, "children": [
    {"field": "L2:", "data": "2.5 MiB (2 instances)"},
    {"field": "L3:", "data": "2.3 MiB (2 instances)"}]},
  {"field": "NUMA:", "data": null, "children": [
    {"field": "NUMA node(s):", "data": "3"}, {"field": "NUMA node0 CPU(s):", "data": "0,2"},
    {"field": "NUMA node1 CPU(s):", "data": "1,3"},
    {"field": "NUMA node2 CPU(s):", "data": null}]}]}"""
MASKS = (
    FLAT.replace("list: 0-3", "mask: 0xf")
    .replace("list: 4,5", "mask: 30")
    .replace("0-2:2", "5")
    .replace("1,3", "a")
)
ARM = (
    "# CPU,Core,Socket,Node,,L1d,L1i,L2\n0,0,0,,,0,0,0\n1,1,0,,,1,1,0\n"
    "2,0,0,,,2,2,9\n3,1,0,,,3,3,9\n"
)
ARM_NAMED = """{"cpus": [
  {"cpu": 0, "core": 0, "socket": 0, "l1d:l1i:l2": "0:0:0", "modelname": "Icestorm"},
  {"cpu": 1, "core": 1, "socket": 0, "l1d:l1i:l2": "1:1:0", "modelname": "Icestorm"},
  {"cpu": 2, "core": 0, "socket": 0, "l1d:l1i:l2": "2:2:9", "modelname": "Firestorm"},
  {"cpu": 3, "core": 1, "socket": 0, "l1d:l1i:l2": "3:3:9", "modelname": "Firestorm"}]}"""


def read(folder: Path, **files: str) -> Imported:
    """The node of files `worker-0.<name>.txt`; lscpu's formats are told apart by their contents."""
    paths = []
    for name, text in files.items():
        paths.append(folder / f"worker-0.lscpu-{name}.txt")
        paths[-1].write_text(text)
    return importers.run(None, paths)


def machine(folder: Path, **files: str) -> Machine:
    imported = read(folder, **files)
    assert not imported.diagnostics
    assert [node.name for node in imported.nodes] == ["worker-0"]
    return imported.nodes[0].machine


def texts(groups: tuple[CpuSet, ...]) -> list[str]:
    return [str(cpus) for cpus in groups]


@pytest.mark.parametrize(
    "text", [PARSABLE, EXTENDED, STRINGS, NUMBERS, PARSABLE.replace("\n", "\r\n")]
)
def test_tables_tell_the_same(text: str, tmp_path: Path) -> None:
    facts = machine(tmp_path, table=text)
    assert texts(facts.siblings) == ["0,2", "1,3"]
    assert facts.sockets == {0: 0, 1: 1, 2: 0, 3: 1}
    assert {node.id: str(node.cpus) for node in facts.numa_nodes} == {0: "0,2", 1: "1,3"}
    assert [(cache.level, str(cache.cpus)) for cache in facts.caches] == [
        (2, "0,2"),
        (2, "1,3"),
        (3, "0,2"),
        (3, "1,3"),
    ]
    assert facts.core_ids == {}
    assert facts.clusters == ()


def test_kernel_ids(tmp_path: Path) -> None:
    facts = machine(tmp_path, table=BY_ID)
    assert texts(facts.siblings) == ["0,2", "1,3"]
    assert facts.core_ids == {0: 0, 1: 8, 2: 0, 3: 8}
    assert facts.sockets == {0: 0, 1: 36, 2: 0, 3: 36}


def test_cores_across_numa_nodes(tmp_path: Path) -> None:
    """lscpu's numbers of cores hold for the machine, the kernel's only for a NUMA node."""
    counted = "# CPU,Core,Socket,Node,ModelName\n0,0,0,0,A\n1,1,1,0,A\n2,0,0,1,A\n3,1,1,1,A\n"
    assert texts(machine(tmp_path, table=counted).siblings) == ["0,2", "1,3"]
    kernel = "# CPU,Core,Socket,Node\n0,0,0,0\n1,1,0,0\n2,0,0,1\n3,1,0,1\n"
    assert texts(machine(tmp_path, table=kernel).siblings) == ["0", "1", "2", "3"]


GUEST = """\
Architecture:        {}
On-line CPU(s) list: 0-1
Model name:          -
Thread(s) per core:  {}
Core(s) per socket:  1
{}
"""


@pytest.mark.parametrize(
    "sockets",
    [
        "Socket(s) per book: 1\nBook(s): 2",
        "Socket(s) per book: 1\nBook(s) per drawer: 1\nDrawer(s): 2",
    ],
)
def test_a_socket_for_each_cpu_of_s390x_is_unknown(sockets: str, tmp_path: Path) -> None:
    imported = read(tmp_path, summary=GUEST.format("s390x", 1, sockets))
    assert imported.nodes[0].machine.sockets == {}
    assert any("counts a socket for each CPU" in remark for remark in imported.remarks)
    assert not any("sockets are missing" in remark for remark in imported.remarks)
    known = machine(tmp_path, summary=GUEST.format("x86_64", 1, "Socket(s): 2"))
    assert known.sockets == {0: 0, 1: 1}


@pytest.mark.parametrize(("instances", "cores"), [(2, ["0", "1"]), (1, ["0-1"])])
def test_cpus_with_own_first_level_caches_are_cores(
    instances: int, cores: list[str], tmp_path: Path
) -> None:
    caches = "".join(
        f"L1{kind} cache: 64 KiB ({instances} instance{'s' * (instances > 1)})\n" for kind in "di"
    )
    facts = machine(tmp_path, summary=GUEST.format("riscv64", 2, "Socket(s): 1\n" + caches))
    assert texts(facts.siblings) == cores


@pytest.mark.parametrize("text", [FLAT, NESTED, MASKS])
def test_summary_alone(text: str, tmp_path: Path) -> None:
    facts = machine(tmp_path, summary=text)
    assert (facts.architecture, facts.vendor, facts.model) == (
        "x86_64",
        "GenuineIntel",
        "Intel(R) Xeon(R)",
    )
    assert facts.model_number == 106
    assert (str(facts.online), str(facts.offline)) == ("0-3", "4-5")
    assert texts(facts.siblings) == ["0,2", "1,3"]
    assert {node.id: str(node.cpus) for node in facts.numa_nodes} == {0: "0,2", 1: "1,3", 2: ""}
    assert facts.caches == ()


@pytest.mark.parametrize("order", [("table", "summary"), ("summary", "table")])
def test_table_and_summary(order: tuple[str, str], tmp_path: Path) -> None:
    """The sizes of level 3 are rounded: 2.3 MiB are no two caches."""
    files = {"table": PARSABLE, "summary": FLAT}
    facts = machine(tmp_path, **{name: files[name] for name in order})
    assert (facts.model, str(facts.offline)) == ("Intel(R) Xeon(R)", "4-5")
    assert [(cache.level, cache.size, cache.id) for cache in facts.caches] == [
        (2, 1280 * 1024, 0),
        (2, 1280 * 1024, 1),
        (3, None, 0),
        (3, None, 1),
    ]
    assert [node.id for node in facts.numa_nodes] == [0, 1, 2]


def test_folder_of_a_node(tmp_path: Path) -> None:
    folder = tmp_path / "worker-7"
    folder.mkdir()
    (folder / "lscpu.json").write_text(NESTED)
    (folder / "lscpu-e-2.43.json.gz").write_bytes(gzip.compress(NUMBERS.encode()))
    for kind in (None, "lscpu"):
        imported = importers.run(kind, [folder])
        assert [(node.name, node.machine.model) for node in imported.nodes] == [
            ("worker-7", "Intel(R) Xeon(R)")
        ]
        assert not imported.diagnostics


def test_kinds_of_cores(tmp_path: Path) -> None:
    """Numbers start again for each kind: without names lscpu's cores are taken, with a remark."""
    facts = machine(tmp_path, table=ARM_NAMED)
    assert texts(facts.siblings) == ["0", "1", "2", "3"]
    assert facts.core_types == {0: "kind0", 1: "kind0", 2: "kind1", 3: "kind1"}
    assert (facts.architecture, facts.model) == ("aarch64", "Icestorm")
    # numbers that do not count are the kernel's
    assert [cache.id for cache in facts.caches] == [0, 9]
    imported = read(tmp_path, table=ARM)
    assert [diagnostic.code for diagnostic in imported.diagnostics] == ["CP138"]
    assert texts(imported.nodes[0].machine.siblings) == ["0,2", "1,3"]
    counts = (
        "Architecture: aarch64\nOn-line CPU(s) list: 0-3\nThread(s) per core: 1\nSocket(s): 1\n"
    )
    assert texts(machine(tmp_path, table=ARM, summary=counts).siblings) == ["0", "1", "2", "3"]


COUNTED = "# CPU,Core,Socket,Node\n0,0,0,0\n1,1,0,0\n2,0,0,0\n3,1,0,0\n"
NEIGHBOURS = "# CPU,Core,Socket,Node\n0,0,0,0\n1,0,0,0\n2,1,0,0\n3,1,0,0\n"
BOOKS = "# CPU,Core,Socket,Book,Node\n0,5,1,0,0\n1,5,1,0,0\n2,5,1,1,0\n3,5,1,1,0\n"
UNBOOKED = "# CPU,Core,Socket,Node\n0,5,1,0\n1,5,1,0\n2,5,1,0\n3,5,1,0\n"
THREADS = "Architecture: {}\nOn-line CPU(s) list: 0-3\nThread(s) per core: 2\nSocket(s): 1\n"


@pytest.mark.parametrize(
    ("table", "architecture", "problem"),
    [
        (COUNTED, "", "the table has neither their caches nor their models"),
        (COUNTED, "aarch64", ""),
        (NEIGHBOURS, "", ""),
        (BOOKS, "", "the table has neither their caches nor their models"),
        (BOOKS, "s390x", ""),
        (UNBOOKED, "", "the table has neither their caches nor their models"),
        (UNBOOKED, "s390x", "by the summary, a core has at most 2 threads"),
    ],
)
def test_cores_that_nothing_shows(
    table: str, architecture: str, problem: str, tmp_path: Path
) -> None:
    """Big and little cores count from 0 each, and ids repeat in the books of s390."""
    summary = {"summary": THREADS.format(architecture)} if architecture else {}
    imported = read(tmp_path, table=table, **summary)
    assert [diagnostic.code for diagnostic in imported.diagnostics] == ["CP138"] * bool(problem)
    assert all(problem in diagnostic.message for diagnostic in imported.diagnostics)


@pytest.mark.parametrize(
    ("text", "online", "offline"),
    [
        ("# CPU,Core,Socket,Node\n0,0,0,0\n1,,,\n", "0", "1"),
        ("# CPU,Core,Socket,Node,Online\n0,0,0,0,Y\n1,-,-,0,N\n", "0", "1"),
        ("# CPU,Core,Socket,Node\n0,,,\n1,,,\n", "0-1", ""),
        ("# CPU,Node\n0,0\n1,0\n", "0-1", ""),
        ("CPU CORE ONLINE MAXMHZ\n0 0 oui 4100,0000\n1 - non -\n", "0", "1"),
        ("CPU CORE ONLINE\n0 0 да\n1 - нет\n", "0", "1"),
        ("CPU CORE ONLINE\n0 0 はい\n1 - いいえ\n", "0", "1"),
        ("# CPU,Core,Online\n0,0,J\n1,,N\n", "0", "1"),
    ],
)
def test_offline(text: str, online: str, offline: str, tmp_path: Path) -> None:
    facts = machine(tmp_path, table=text)
    assert (str(facts.online), str(facts.offline)) == (online, offline)


@pytest.mark.parametrize(
    ("line", "label"),
    [
        ("Architektur:         x86_64", "Architektur"),
        ("Arquitectura:        aarch64", "Arquitectura"),
        ("架构\uff1a              x86_64", "架构"),
        (
            "Architecture\u00a0:       x86_64\nProcesseur(s) :  4\nMode opératoire : 64",
            "opératoire",
        ),
    ],
)
def test_a_summary_in_another_language(line: str, label: str, tmp_path: Path) -> None:
    """The counts are behind words that nobody listed here: the remedy is to ask in English."""
    path = tmp_path / "worker-0.txt"
    path.write_text(FLAT.replace("Architecture:        x86_64", line))
    (problem,) = importers.run(None, [path]).diagnostics
    assert problem.code == "CP135"
    assert label in problem.message
    assert "LC_ALL=C" in CODES[problem.code].remedy


NUMACTL = """\
available: 3 nodes (0-2)
node 0 cpus: 0 2
node 0 size: 1000 MB
node 0 free: 10 MB
node 1 cpus: 1 3
node 1 size: 2000 MB
node 2 cpus:
node 2 size: 3000 MB
node distances:
node   0   1   2
  0:  10  21  17
  1:  21  10  28
  2:  17  28  10
"""


@pytest.mark.parametrize("table", [PARSABLE, EXTENDED, NUMBERS, FLAT])
@pytest.mark.parametrize(
    "between", [None, "", "$ numactl -H\n", "[root@w0 ~]# numactl -H\n", "```\n"]
)
def test_numactl_completes(table: str, between: str | None, tmp_path: Path) -> None:
    files = {"table": table, "numactl": NUMACTL}
    if between is not None:
        files = {"table": f"$ lscpu\n{table.rstrip()}\n{between}{NUMACTL}"}
    nodes = machine(tmp_path, **files).numa_nodes
    assert [str(node.cpus) for node in nodes] == ["0,2", "1,3", ""]
    assert [node.memory for node in nodes] == [mib * 1024**2 for mib in (1000, 2000, 3000)]
    assert [node.distances for node in nodes] == [(10, 21, 17), (21, 10, 28), (17, 28, 10)]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (NUMACTL, "CP136"),
        (NUMACTL.replace("3 nodes", "4 nodes"), "CP135"),
        (NUMACTL.replace("0 2", "0 x"), "CP135"),
        (NUMACTL.replace("0 2", "0 8192"), "CP135"),
        (NUMACTL.replace("node 1 cpus", "node 0 cpus"), "CP135"),
        (NUMACTL.replace("  28  10", "  28"), "CP135"),
        (NUMACTL.replace("node   0   1   2", "node   0   1   3"), "CP135"),
    ],
)
def test_numactl_alone(text: str, code: str, tmp_path: Path) -> None:
    imported = read(tmp_path, numactl=text)
    assert imported.nodes == ()
    assert [diagnostic.code for diagnostic in imported.diagnostics] == [code]


@pytest.mark.parametrize(
    ("old", "new"), [("1 3", "1"), ("cpus: 0 2", "cpus: 0 3"), ("cpus: 1 3", "cpus: 2 1 3")]
)
def test_numactl_of_another_machine(old: str, new: str, tmp_path: Path) -> None:
    text = NUMACTL.replace(old, new)
    if new == "cpus: 0 3":
        text = text.replace("1 3", "1 2")
    if new == "cpus: 2 1 3":
        text = text.replace("cpus: 0 2", "cpus: 0")
    imported = read(tmp_path, table=PARSABLE, numactl=text)
    assert [diagnostic.code for diagnostic in imported.diagnostics] == ["CP137"]
    assert all(node.memory is None for node in imported.nodes[0].machine.numa_nodes)


def test_caches_that_cannot_be_told_apart(tmp_path: Path) -> None:
    """A row may leave out caches that are not the last: Lakefield's little core."""
    imported = read(
        tmp_path, table="# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n0,0,0,0,,0,0,0,0\n1,1,0,0,,4,0\n"
    )
    assert imported.nodes[0].machine.caches == ()
    assert any("CPU 1: fewer caches" in remark for remark in imported.remarks)


def test_what_is_not_told_is_said(tmp_path: Path) -> None:
    imported = read(tmp_path, table="# Core,CPU\n0,0\n1,1\n")
    assert imported.nodes[0].machine.numa_nodes == ()
    for words in (
        "architecture",
        "CPU model",
        "sockets",
        "caches",
        "NUMA nodes",
        "offline CPUs",
        "memory",
    ):
        assert any(words in remark for remark in imported.remarks), words


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("# CPU,Core\n0,0\n1\n", "CP135"),
        ("# CPU,Core\n0,0\n0,1\n", "CP135"),
        ("# CPU,Core\n0,0\n,1\n", "CP135"),
        ("# CPU,Core\n0,0\n8192,1\n", "CP135"),
        ("# CPU,Core\n0,0\n1000000000,1\n", "CP135"),
        ("# CPU,Core\n0,x\n", "CP135"),
        ("# CPU,Core\n0,٣\n", "CP135"),
        ("# CPU,Core,Online\n0,0,perhaps\n", "CP135"),
        ("# CPU,Core,L2:L3\n0,0,0:0:0\n", "CP135"),
        ("# CPU,Core,L2:L3\n0,0,0:x\n", "CP135"),
        ("# CPU,Core\n", "CP124"),
        ("# CPU,Core\n,\n", "CP124"),
        ("CPU CORE\n0 0 0\n", "CP135"),
        ('{"cpus": [{"cpu": 0}, {"cpu": 1, "core": 1}]}', "CP135"),
        ('{"cpus": [{"cpu": [0]}]}', "CP135"),
        ('{"cpus": [0]}', "CP135"),
        ('{"cpus": {}}', "CP135"),
        ('{"cpus": [', "CP121"),
        ('{"cpus": [{"cpu": ' + "9" * 5000 + "}]}", "CP121"),
        ('{"cpus": ' + "[" * 100_000, "CP121"),
        ('{"caches": []}', "CP121"),
        ('{"lscpu": [{"data": 1}]}', "CP135"),
        ('{"lscpu": [{"field": "On-line CPU(s) list:", "data": "0-9999999999"}]}', "CP135"),
        ("Architecture: x86_64\n", "CP124"),
        (FLAT.replace("0-2:2", "0-2:x"), "CP135"),
        (FLAT.replace("Thread(s) per core:  2", "Thread(s) per core:  3"), "CP136"),
    ],
)
def test_refused(text: str, code: str, tmp_path: Path) -> None:
    path = tmp_path / "worker-0.lscpu"
    path.write_text(text)
    imported = lscpu.read(path)
    assert imported.nodes == ()
    assert [diagnostic.code for diagnostic in imported.diagnostics] == [code]


def test_files_that_do_not_belong_together(tmp_path: Path) -> None:
    imported = read(tmp_path, a=PARSABLE, b=EXTENDED)
    assert [diagnostic.code for diagnostic in imported.diagnostics] == ["CP126"]
    imported = read(tmp_path, a=PARSABLE, b=FLAT.replace("0-3", "0-2"))
    assert [diagnostic.code for diagnostic in imported.diagnostics] == ["CP137"]
    assert imported.nodes[0].machine.model is None


def test_binary_and_damaged(tmp_path: Path) -> None:
    for content in (b"# CPU,Core\n\xff\xfe", gzip.compress(PARSABLE.encode())[:-9]):
        path = tmp_path / "worker-0.lscpu-p.txt"
        path.write_bytes(content)
        assert [diagnostic.code for diagnostic in lscpu.read(path).diagnostics] == ["CP121"]
    assert [diagnostic.code for diagnostic in lscpu.read(tmp_path / "none").diagnostics] == [
        "CP121"
    ]


def test_more_text_than_any_machine_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lscpu, "MAX_TEXT", len(PARSABLE))
    (tmp_path / "a.txt").write_text(PARSABLE)
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(f"{PARSABLE}\n".encode()))
    assert importers.run("lscpu", [tmp_path / "a.txt"]).diagnostics == ()
    assert [
        problem.code for problem in importers.run("lscpu", [tmp_path / "b.txt.gz"]).diagnostics
    ] == ["CP123"]


@pytest.mark.parametrize(
    ("model", "read"), [("a\ud800b", "a\ufffdb"), ("a\U00010000\udfffb", "a\U00010000\ufffdb")]
)
def test_halves_of_characters_are_read_as_go_does(tmp_path: Path, model: str, read: str) -> None:
    rows = [
        {"cpu": cpu, "core": cpu, "socket": 0, "node": 0, "modelname": model} for cpu in range(2)
    ]
    (tmp_path / "worker-0.lscpu.json").write_text(json.dumps({"cpus": rows}))
    text = "".join(documents.render(importers.run("lscpu", [tmp_path])).values())
    assert f'model: "{read}"' in text

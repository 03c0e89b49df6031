"""The machine of a node against its inventory: one fact changed is one finding."""

from dataclasses import replace
from pathlib import Path

import pytest

from cpuplan.check.machine import presence
from cpuplan.check.roots.root import Root
from cpuplan.check.subject import Subject
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.expected.evidence import Answer, Verdict
from cpuplan.plan.expected.state import Device
from tests import checked
from tests.hosts import CPU
from tests.machine_root import NODES, make_machine
from tests.machines.plans import plan, regular

DEVICES = "sys/bus/pci/devices"


def node() -> ConfiguredPlan:
    return plan(
        regular(sockets=2, cores=4, threads=2, memory=16 * 1024**3),
        platform="kubernetes",
        version="1.34",
        offlined="15",
    )


def answers(tmp_path: Path, files: dict[str, str | None]) -> list[Answer]:
    root = make_machine(node(), tmp_path)
    for path, text in files.items():
        if text is None:
            (root / path).unlink()
        else:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
    return checked.answers(root, node())


def findings(tmp_path: Path, files: dict[str, str | None]) -> list[tuple[str, str]]:
    diagnostics = [answer.finding for answer in answers(tmp_path, files) if answer.finding]
    return [(finding.code, finding.message) for finding in diagnostics]


def test_the_machine_of_the_inventory(tmp_path: Path) -> None:
    checks = answers(tmp_path, {})
    assert not [answer for answer in checks if answer.finding]
    machine = [answer for answer in checks if answer.fact.startswith("machine")]
    held = {answer.fact for answer in machine if answer.verdict is Verdict.HELD}
    assert {
        "machine present CPUs",
        "machine possible CPUs",
        "machine online CPUs",
        "machine offline CPUs",
        "machine siblings",
        "machine core ids",
        "machine sockets",
        "machine dies",
        "machine L3 caches",
        "machine NUMA nodes",
        "machine SMT",
        "machine CPU vendor",
        "machine memory of NUMA node 0",
        "machine memory of NUMA node 1",
    } <= held


@pytest.mark.parametrize(
    ("path", "text", "code", "words"),
    [
        (f"{CPU}/present", "0-31", "CP802", "has CPUs 0-31"),
        (f"{CPU}/online", "0-15", "CP803", "CPUs 0-15 are online; 0-14 should be"),
        (f"{CPU}/offline", "14-15", "CP803", "CPUs 0-13 are online; 0-14 should be"),
        (f"{CPU}/cpu15/online", "1", "CP803", "CPUs 0-15 are online; 0-14 should be"),
        (f"{CPU}/cpu5/online", "0", "CP803", "0-14 should be"),
        (f"{CPU}/smt/control", "forceoff", "CP818", "SMT is off instead of on"),
        (f"{CPU}/possible", "0-7", "CP818", "the kernel allows CPUs 0-7"),
        (f"{CPU}/cpu1/topology/thread_siblings_list", "0-1", "CP804", "the core of CPU 1 is 0-1"),
        (f"{CPU}/cpu1/topology/core_id", "3", "CP818", "CPU 1 is on core 3 instead of 1"),
        (f"{CPU}/cpu1/topology/physical_package_id", "1", "CP818", "CPU 1 is on socket 1"),
        (f"{CPU}/cpu1/topology/die_id", "1", "CP818", "CPU 1 is on die 1 instead of 0"),
        (f"{CPU}/cpu1/cache/index3/shared_cpu_list", "1,9", "CP818", "the L3 cache of CPU 1"),
        (f"{CPU}/smt/active", "0", "CP818", "SMT is off instead of on"),
        (f"{NODES}/node0/cpulist", "0-7", "CP818", "NUMA node 0 has CPUs 0-7 instead of"),
        (f"{NODES}/node2/cpulist", "", "CP818", "only the node has NUMA node 2"),
        (f"{NODES}/node1/meminfo", "MemTotal: 15000000 kB", "CP818", "NUMA node 1 has"),
        ("proc/cpuinfo", "vendor_id : AuthenticAMD\n", "CP818", "of AuthenticAMD instead of"),
    ],
)
def test_one_fact(tmp_path: Path, path: str, text: str, code: str, words: str) -> None:
    [(actual, message)] = findings(tmp_path, {path: text})
    assert actual == code
    assert words in message


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (f"{CPU}/online", "0-9,10-14\n"),
        (f"{CPU}/possible", "0-63\n"),
        (f"{CPU}/offline", "15-63\n"),
        (f"{NODES}/node1/meminfo", "Node 1 MemTotal: 16400000 kB"),
        (f"{NODES}/node1/meminfo", None),
        (f"{CPU}/cpu1/topology/die_id", None),
    ],
)
def test_what_does_not_matter(tmp_path: Path, path: str, text: str | None) -> None:
    assert findings(tmp_path, {path: text}) == []


def test_numbers_of_its_own_are_no_difference(tmp_path: Path) -> None:
    """A machine that a few counts describe has no gaps in its core ids; the kernel's may have."""
    files: dict[str, str | None] = {
        f"{CPU}/cpu{cpu.cpu}/topology/core_id": f"{cpu.core_id * 4 + 1}"
        for cpu in node().topology.cpus
        if cpu.cpu != 15
    }
    assert findings(tmp_path, files) == []


def test_another_machine_is_one_finding(tmp_path: Path) -> None:
    files: dict[str, str | None] = {f"{CPU}/smt/active": "0", f"{NODES}/node0/cpulist": "0-14"}
    for cpu in range(15):
        files[f"{CPU}/cpu{cpu}/topology/thread_siblings_list"] = str(cpu)
        files[f"{CPU}/cpu{cpu}/topology/core_id"] = str(cpu)
    [(code, message)] = findings(tmp_path, files)
    assert code == "CP818"
    assert "SMT is off" in message
    assert "NUMA node 0" in message


def test_the_kernel_says_why_a_cpu_is_off(tmp_path: Path) -> None:
    files: dict[str, str | None] = {
        f"{CPU}/online": "0-13",
        "cpuplan/dmesg": "Linux version 6.12.0\nsmpboot: CPU 1 is now offline\n"
        "smpboot: CPU 14 is now offline\n",
    }
    messages = [message for code, message in findings(tmp_path, files) if code == "CP803"]
    assert [text.partition("; the kernel said: ")[2] for text in messages] == [
        "smpboot: CPU 14 is now offline"
    ]


ADDRESS = "0000:81:00.0"


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({f"{DEVICES}/{ADDRESS}/numa_node": "1"}, None),
        ({f"{DEVICES}/{ADDRESS}/numa_node": "0"}, "is on NUMA node 0; the inventory has it on"),
        ({f"{DEVICES}/{ADDRESS}/numa_node": "-1"}, "is on no NUMA node"),
        ({f"{DEVICES}/0000:00:02.0/class": "0x030000"}, "is not there"),
        ({}, None),
    ],
)
def test_devices(tmp_path: Path, files: dict[str, str], words: str | None) -> None:
    expected = replace(checked.expected(node()), devices=(Device(ADDRESS, 1),))
    root = make_machine(node(), tmp_path)
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True)
        (root / path).write_text(f"{text}\n")
        (root / path).with_name("class").write_text("0x020000\n")
    diagnostics = [answer.finding for answer in presence.devices(Subject(Root(root), expected))]
    messages = [finding.message for finding in diagnostics if finding]
    assert (words is None) == (not messages)
    assert words is None or words in messages[0]

"""What is there of an inventory: CPUs, memory and devices, each by the files of the kernel."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from cpuplan.check.machine import presence
from cpuplan.check.machine.presence import NODES, SYSTEM
from cpuplan.check.roots.root import Root
from cpuplan.check.subject import Subject
from cpuplan.plan.expected.evidence import Answer
from cpuplan.plan.expected.state import Device, Expected
from tests import checked
from tests.machines.plans import plan, regular

PCI = "sys/bus/pci/devices"
GIB, MIB = 1024**3, 1024**2
CARD = "0000:17:00.0"


@cache
def expected() -> Expected:
    """Two NUMA nodes of four CPUs and 64 GiB, of which CPUs 6-7 are switched off."""
    machine = regular(sockets=2, cores=4, memory=64 * GIB)
    return checked.expected(plan(machine, platform="kubernetes", version="1.34", offlined="6-7"))


RIGHT = {"online": "0-5", "offline": "6-7", "present": "0-7", "possible": "0-7"}


def subject(root: Path, files: dict[str, str], *devices: Device) -> Subject:
    known = {f"{SYSTEM}/{name}": text for name, text in RIGHT.items()}
    for path, text in {**known, **files}.items():
        if text != "-":
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(f"{text}\n")
    return Subject(Root(root), replace(expected(), devices=devices))


def seen(answers: list[Answer]) -> list[tuple[str, str, str, str]]:
    """Code or verdict, fact, what is there and what should be."""
    return [
        (
            answer.finding.code if answer.finding else answer.verdict.value,
            answer.fact.removeprefix("machine "),
            answer.observed,
            answer.expected,
        )
        for answer in answers
    ]


PRESENT = ("held", "present CPUs", "0-7", "0-7")
POSSIBLE = ("held", "possible CPUs", "", "")
ONLINE = ("held", "online CPUs", "0-5", "0-5")
OFFLINE = ("held", "offline CPUs", "6-7", "6-7")


@pytest.mark.parametrize(
    ("files", "answers"),
    [
        ({}, [PRESENT, POSSIBLE, ONLINE, OFFLINE]),
        ({"possible": "0-127"}, [PRESENT, POSSIBLE, ONLINE, OFFLINE]),
        (
            {"possible": "0-5"},
            [PRESENT, ("CP818", "possible CPUs", "0-5", "0-7"), ONLINE, OFFLINE],
        ),
        (
            {"offline": "6-127"},
            [PRESENT, POSSIBLE, ONLINE, ("held", "offline CPUs", "6-127", "6-7")],
        ),
        ({"offline": "7"}, [PRESENT, POSSIBLE, ONLINE, ("CP803", "offline CPUs", "0-5", "0-5")]),
        (
            {"offline": "5-7"},
            [PRESENT, POSSIBLE, ONLINE, ("CP803", "offline CPUs", "0-4", "0-5")],
        ),
        ({"online": "0-7"}, [PRESENT, POSSIBLE, ("CP803", "online CPUs", "0-7", "0-5")]),
        ({"present": "0-3"}, [("CP802", "present CPUs", "0-3", "0-7")]),
        ({"present": "-", "online": "0-5"}, [("CP802", "present CPUs", "0-5", "0-7")]),
        # Each CPU has a file that says the same again.
        (
            {"cpu3/online": "0"},
            [PRESENT, POSSIBLE, ONLINE, OFFLINE, ("CP803", "online CPUs", "0-2,4-5", "0-5")],
        ),
        (
            {"cpu3/online": "0", "cpu7/online": "1"},
            [PRESENT, POSSIBLE, ONLINE, OFFLINE, ("CP803", "online CPUs", "0-2,4-5,7", "0-5")],
        ),
        ({"cpu3/online": "1", "cpu7/online": "0"}, [PRESENT, POSSIBLE, ONLINE, OFFLINE]),
    ],
)
def test_cpus(tmp_path: Path, files: dict[str, str], answers: list[tuple[str, ...]]) -> None:
    made = subject(tmp_path, {f"{SYSTEM}/{name}": text for name, text in files.items()})
    assert seen(list(presence.cpus(made))) == answers


@pytest.mark.parametrize(
    ("device", "files", "answer"),
    [
        (1, {"numa_node": "1"}, ("held", "NUMA node 1", "NUMA node 1")),
        (None, {"numa_node": "1"}, ("held", "there", "there")),
        (None, {"class": "0x020000"}, ("held", "there", "there")),
        (1, {"numa_node": "0"}, ("CP818", "is on NUMA node 0", "NUMA node 1")),
        (1, {"numa_node": "-1"}, ("CP818", "is on no NUMA node", "NUMA node 1")),
        (1, {"class": "0x020000"}, ("not verifiable here", "", "")),
        (1, {}, ("CP818", "is not there", "NUMA node 1")),
        (None, {}, ("CP818", "is not there", "there")),
    ],
)
def test_a_device(
    tmp_path: Path, device: int | None, files: dict[str, str], answer: tuple[str, str, str]
) -> None:
    """Another device shows that the folder of devices was copied with what its links lead to."""
    here = {f"{PCI}/{CARD}/{name}": text for name, text in files.items()}
    here[f"{PCI}/0000:00:00.0/class"] = "0x060000"
    made = subject(tmp_path, here, Device(CARD, device))
    [(verdict, fact, observed, wanted)] = seen(list(presence.devices(made)))
    assert fact == f"device {CARD}"
    assert (verdict, observed, wanted) == answer


def test_without_any_device_nothing_is_known_of_one(tmp_path: Path) -> None:
    made = subject(tmp_path, {}, Device(CARD, None))
    assert [answer.verdict.value for answer in presence.devices(made)] == ["not verifiable here"]


def test_another_machine_says_nothing_of_this_one(tmp_path: Path) -> None:
    made = subject(tmp_path, {f"{SYSTEM}/present": "0-3"}, Device(CARD, None))
    assert [*presence.devices(made), *presence.memory(made)] == []


@pytest.mark.parametrize(
    ("missing", "line", "verdict"),
    [
        (0, "ro", "held"),
        (2048 + 256, "ro", "held"),
        (2048 + 257, "ro", "CP818"),
        (2048 + 257, "ro crashkernel=512M", "held"),
        (2048 + 256 + 512, "ro crashkernel=512M", "held"),
        (2048 + 257 + 512, "ro crashkernel=512M", "CP818"),
        (-2048 - 257, "ro", "CP818"),
    ],
)
def test_memory(tmp_path: Path, missing: int, line: str, verdict: str) -> None:
    """A 32nd and 256 MiB may be the kernel's own, and 512 MiB are kept for a crash kernel."""
    kib = (64 * GIB - missing * MIB) // 1024
    files = {
        "proc/cmdline": line,
        f"{NODES}/node0/meminfo": f"Node 0 MemTotal:       {kib} kB",
    }
    first, second = seen(list(presence.memory(subject(tmp_path, files))))
    assert (first[0], first[3]) == (verdict, "64Gi")
    assert second[0] == "not verifiable here"

"""Reports of nodes: where a must-gather has them, and the files that outputs stand for."""

import json
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from cpuplan.base.files import TooLarge, Unreadable
from cpuplan.base.roots.folder import FolderReader
from cpuplan.base.roots.tree import Reader
from cpuplan.check.roots import reports
from cpuplan.check.roots.limits import LIMITS, NESTED


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[FolderReader]:
    with FolderReader(tmp_path, LIMITS) as reader:
        yield reader


def put(root: Path, *files: str, **texts: str) -> None:
    for path, text in {**dict.fromkeys(files, ""), **texts}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def archives(*folders: str) -> tuple[str, ...]:
    return tuple(f"{folder}/{NESTED}" for folder in folders)


@pytest.mark.parametrize(
    ("folders", "nodes"),
    [
        (("nodes/w-0",), {"w-0": "nodes/w-0"}),
        (("a/nodes/w-0", "a/nodes/w-1"), {"w-0": "a/nodes/w-0", "w-1": "a/nodes/w-1"}),
        # Of two the one further up counts, then the first by name.
        (("a/b/nodes/w-0", "b/nodes/w-0"), {"w-0": "b/nodes/w-0"}),
        (("b/nodes/w-0", "a/nodes/w-0"), {"w-0": "a/nodes/w-0"}),
        (("a/b/c/d/nodes/w-0",), {"w-0": "a/b/c/d/nodes/w-0"}),
        (("a/b/c/d/e/nodes/w-0",), {}),
        ((".a/nodes/w-0", "namespaces/nodes/w-0", "audit_logs/nodes/w-0"), {}),
        (("nodes/W_0",), {}),
    ],
)
def test_nodes_of_a_must_gather(
    tmp_path: Path, reader: FolderReader, folders: tuple[str, ...], nodes: dict[str, str]
) -> None:
    put(tmp_path, *archives(*folders), "nodes/other/file")
    assert reports.nodes(reader) == nodes


def test_without_nodes_the_search_has_an_end(
    tmp_path: Path, reader: FolderReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The top is the first folder."""
    put(tmp_path, *archives("c/nodes/w-0"), "a/x", "b/x")
    monkeypatch.setattr(reports, "_MAX_FOLDERS", 3)
    assert reports.nodes(reader) == {}
    monkeypatch.setattr(reports, "_MAX_FOLDERS", 4)
    assert reports.nodes(reader) == {"w-0": "c/nodes/w-0"}


def test_a_large_report_with_nodes_is_not_read_in_part(
    tmp_path: Path, reader: FolderReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, *archives("a/nodes/w-0"), "b/x", "c/x")
    monkeypatch.setattr(reports, "_MAX_OF_GATHER", 4)
    assert reports.nodes(reader) == {"w-0": "a/nodes/w-0"}
    monkeypatch.setattr(reports, "_MAX_OF_GATHER", 3)
    with pytest.raises(TooLarge, match="more than 3 folders"):
        reports.nodes(reader)
    monkeypatch.setattr(reports, "_MAX_OF_GATHER", 4)
    # Three of the top, one of a, and one each of b and c.
    monkeypatch.setattr(reports, "_MAX_NAMES", 6)
    assert reports.nodes(reader) == {"w-0": "a/nodes/w-0"}
    monkeypatch.setattr(reports, "_MAX_NAMES", 5)
    with pytest.raises(TooLarge, match="or 5 names"):
        reports.nodes(reader)
    monkeypatch.setattr(reports, "_MAX_NAMES", 2)
    assert reports.nodes(reader) == {}


def texts(reader: Reader, *paths: str) -> dict[str, str]:
    return {path: reader.read(path, 1 << 20).decode() for path in paths}


def test_threads_of_a_must_gather(tmp_path: Path, reader: FolderReader) -> None:
    rows: list[Any] = [
        {"pid": 7, "tid": 7, "thread": "crio\nx", "affinity": [0, 1]},
        {"pid": 7, "tid": 8, "thread": "poll", "affinity": []},
        {"pid": 0, "tid": 9, "affinity": [0]},
        {"pid": 1 << 32, "tid": 9, "affinity": [0]},
        {"pid": 9, "tid": 9, "affinity": [0, 1 << 16]},
        {"pid": 9, "tid": 9, "affinity": [-1]},
        {"pid": 9, "tid": 9, "affinity": "0"},
        {"pid": "9", "tid": 9, "affinity": [0]},
        "text",
    ]
    put(
        tmp_path,
        **{"n/cpu_affinities.json": json.dumps(rows), "n/proc_cmdline": "ro", "n/dmesg": ""},
    )
    node = reports.of_must_gather(reader, reader, "n")
    assert texts(node, "proc/7/status", "proc/7/task/8/status", "proc/cmdline") == {
        "proc/7/status": "Name:\tcrio\nTgid:\t7\nPid:\t7\nCpus_allowed_list:\t0-1\n",
        "proc/7/task/8/status": "Name:\tpoll\nTgid:\t7\nPid:\t8\nCpus_allowed_list:\t\n",
        "proc/cmdline": "ro",
    }
    assert node.entries("proc") == [("7", True), ("cmdline", False)]
    assert node.entries("proc/7") == [("status", False), ("task", True)]
    # An empty output stands for nothing.
    with pytest.raises(FileNotFoundError):
        node.read("cpuplan/dmesg", 10)


@pytest.mark.parametrize("body", ["", "{", "{}", "[" * 100_000])
def test_threads_that_cannot_be_read_are_none(
    tmp_path: Path, reader: FolderReader, body: str
) -> None:
    put(tmp_path, **{"n/cpu_affinities.json": body})
    with pytest.raises(FileNotFoundError):
        reports.of_must_gather(reader, reader, "n").entries("proc")


SOS = "sos_commands"


def sosreport(files: Mapping[str, str], root: Path, reader: FolderReader) -> Reader:
    put(root, **{"sos_commands/x": "", **files})
    return reports.of_sosreport(reader)


def test_sysctls_of_a_sosreport(tmp_path: Path, reader: FolderReader) -> None:
    lines = [
        "kernel.sched_rt_runtime_us = -1",
        "net.ipv4.conf.eth0/7.rp_filter = 1",
        "vm.a = b = c",
        "no value",
        "a..b = 1",
        "..a = 1",
        "a./.b = 1",
        "a.\x01b = 1",
    ]
    report = sosreport({f"{SOS}/kernel/sysctl_-a": "\n".join(lines)}, tmp_path, reader)
    assert texts(
        report,
        "proc/sys/kernel/sched_rt_runtime_us",
        "proc/sys/net/ipv4/conf/eth0.7/rp_filter",
        "proc/sys/vm/a",
    ) == {
        "proc/sys/kernel/sched_rt_runtime_us": "-1\n",
        "proc/sys/net/ipv4/conf/eth0.7/rp_filter": "1\n",
        "proc/sys/vm/a": "b = c\n",
    }
    assert [name for name, _ in report.entries("proc/sys")] == ["kernel", "net", "vm"]


def test_what_a_report_has_itself_comes_first(tmp_path: Path, reader: FolderReader) -> None:
    files = {
        "proc/sys/vm/a": "own\n",
        f"{SOS}/kernel/sysctl_-a": "vm.a = 1\nvm.b = 2\n",
        f"{SOS}/general/hostname": "second\n",
        "hostname": "third\n",
        "var/log/dmesg": "later\n",
        f"{SOS}/kernel/dmesg": "first\n",
    }
    report = sosreport(files, tmp_path, reader)
    assert texts(report, "proc/sys/vm/a", "etc/hostname", "cpuplan/dmesg") == {
        "proc/sys/vm/a": "own\n",
        "etc/hostname": "second\n",
        "cpuplan/dmesg": "first\n",
    }
    assert report.entries("proc/sys/vm") == [("a", False), ("b", False)]
    assert report.plain("proc/sys/vm/b") == f"{SOS}/kernel/sysctl_-a"
    assert report.plain("proc/sys/vm/a") == "proc/sys/vm/a"
    made, folder = report.status("proc/sys/vm/b"), report.status("etc")
    assert (made.mode, stat.S_ISDIR(folder.mode)) == (stat.S_IFREG | 0o644, True)
    assert report.link("proc/sys/vm/b") is None
    with pytest.raises(TooLarge):
        report.read("proc/sys/vm/b", 1)
    assert report.read("proc/sys/vm/b", 2) == b"2\n"
    with pytest.raises(FileNotFoundError):
        report.status("etc/passwd")


PS = "USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND\n"


@pytest.mark.parametrize(
    ("line", "has_status", "words"),
    [
        (
            "root 7 0 0 1 1 ? S 1 0 /usr/bin/kubelet --a --b",
            True,
            ["/usr/bin/kubelet", "--a", "--b"],
        ),
        (
            "root 7 0 0 1 1 ? S 1 0 /usr/bin/python3 /usr/sbin/tuned -l",
            True,
            ["/usr/bin/python3", "/usr/sbin/tuned", "-l"],
        ),
        ("root 7 0 0 1 1 ? S 1 0 kubelet", True, ["kubelet"]),
        ("root 7 0 0 1 1 ? S 1 0 bash -c kubelet", True, None),
        ("root 7 0 0 1 1 ? S 1 0 kubelet", False, None),
        ("root x 0 0 1 1 ? S 1 0 kubelet", True, None),
        ("root 7 0 0 1 1 ? S 1 0", True, None),
    ],
)
def test_command_lines_of_a_sosreport(
    tmp_path: Path, reader: FolderReader, line: str, has_status: bool, words: list[str] | None
) -> None:
    """Of programs that decide what a node does, where the report has the process."""
    files = {f"{SOS}/process/ps_auxwww": f"{PS}{line}\n"}
    files |= {"proc/7/status": "", "proc/x/status": ""} if has_status else {}
    report = sosreport(files, tmp_path, reader)
    if words is None:
        with pytest.raises(FileNotFoundError):
            report.read("proc/7/cmdline", 1000)
    else:
        assert report.read("proc/7/cmdline", 1000).decode().split("\0")[:-1] == words


def test_programs_of_a_snapshot_have_their_names_only(tmp_path: Path, reader: FolderReader) -> None:
    put(tmp_path, **{reports.SNAPSHOT_PROGRAMS: "usr/bin/crun\n../etc/passwd\nusr/bin/runc\n"})
    snapshot = reports.of_snapshot(reader)
    assert snapshot.entries("usr/bin") == [("crun", False), ("runc", False)]
    assert snapshot.status("usr/bin/crun").mode == stat.S_IFREG | 0o755
    with pytest.raises(Unreadable, match="only its name was collected"):
        snapshot.read("usr/bin/crun", 10)
    with pytest.raises(FileNotFoundError):
        snapshot.status("etc/passwd")
    assert snapshot.identity("usr/bin") == "usr/bin"
    with pytest.raises(FileNotFoundError):
        snapshot.identity("usr/lib")

"""What is found at a path: roots, archives of them, and reports that contain some."""

import io
import json
import os
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from cpuplan.check.roots.openings import node_of, root_of
from cpuplan.check.roots.root import Kind, Root
from cpuplan.diagnostics import CpuplanError
from tests.hosts import roots_at

Put = Callable[[Path, Mapping[str, str | bytes]], Path]


def folder(path: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, content in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        data = content.encode() if isinstance(content, str) else content
        (path / name).write_bytes(data)
    return path


def packed(files: Mapping[str, str | bytes]) -> bytes:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w:gz") as archive:
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return whole.getvalue()


def archive(path: Path, files: Mapping[str, str | bytes]) -> Path:
    path.write_bytes(packed(files))
    return path


both = pytest.mark.parametrize("put", [folder, archive])

SOS = {
    "proc/cmdline": "quiet\n",
    "proc/12/status": "Name:\tkubelet\n",
    "sos_commands/kernel/dmesg": "[0.0] Linux\n",
    "sos_commands/kernel/sysctl_-a": (
        "kernel.sched_rt_runtime_us = -1\nnet.ipv4.conf.eth0/7.rp_filter = 1\n"
        "a.../x = 1\nsysctl: permission denied\n"
    ),
    "sos_commands/systemd/systemctl_show_service_--all": "Id=kubelet.service\n",
    "sos_commands/host/hostname": "worker-0.example.com\n",
    "sos_commands/process/ps_auxwwwm": (
        "USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND\n"
        "root 12 0.0 0.1 1 2 ? - 10:00 0:00 /usr/bin/kubelet --config=/etc/k --v=2\n"
        "root - 0.0 - - - - Sl 10:00 0:00 -\n"
        "root 13 0.0 0.1 1 2 ? - 10:00 0:00 /usr/bin/crio --x\n"
        "root 14 0.0 0.1 1 2 ? - 10:00 0:00 bash\n"
    ),
}


@both
def test_a_sosreport(put: Put, tmp_path: Path) -> None:
    path = put(tmp_path / "sos", {f"sosreport-worker/{name}": text for name, text in SOS.items()})
    (root,) = roots_at(path)
    assert root.kind is Kind.SOSREPORT
    assert root.read("proc/cmdline") == "quiet\n"
    assert root.read("cpuplan/dmesg") == "[0.0] Linux\n"
    assert root.read("cpuplan/systemctl-show") == "Id=kubelet.service\n"
    assert root.read("proc/sys/kernel/sched_rt_runtime_us") == "-1\n"
    assert root.read("proc/sys/net/ipv4/conf/eth0.7/rp_filter") == "1\n"
    assert root.read("proc/12/cmdline") == "/usr/bin/kubelet\0--config=/etc/k\0--v=2\0"
    assert root.names("proc") == ["12", "cmdline", "sys"]
    assert root.names("proc/12") == ["cmdline", "status"]
    assert root.names("proc/sys/kernel") == ["sched_rt_runtime_us"]
    assert root.names("cpuplan") == ["dmesg", "systemctl-show"]
    assert root.is_file("cpuplan/dmesg")
    assert not root.is_file("proc/sys/kernel")
    assert root.mtime("cpuplan/dmesg") is not None
    assert root.link("cpuplan/dmesg") is None
    assert root.shown("cpuplan/dmesg") == str(path / "sosreport-worker/sos_commands/kernel/dmesg")
    assert root.read("cpuplan/tuned-adm-verify") is None
    assert root.host_names()[0] == "worker-0.example.com"
    assert not root.refused


GATHER: dict[str, str | bytes] = {
    "gather/quay/nodes/worker-0/sysinfo.tgz": packed(
        {"host/proc/irq/7/node": "0\n", "host/sys/devices/system/cpu/online": "0-3\n"}
    ),
    "gather/quay/nodes/worker-0/proc_cmdline": "quiet\n",
    "gather/quay/nodes/worker-0/dmesg": "[0.0] Linux\n",
    "gather/quay/nodes/worker-0/cpu_affinities.json": json.dumps(
        [
            {"pid": 1, "tid": 1, "process": "systemd", "thread": "systemd", "affinity": [0, 1]},
            {"pid": 9, "tid": 10, "process": "x", "thread": "a\nPid:\t3", "affinity": [2]},
            {"pid": -1, "tid": 10, "affinity": [2]},
            {"pid": 5, "tid": 5, "affinity": [1 << 40]},
            [],
        ]
    ),
    "gather/quay/nodes/worker-1/sysinfo.tgz": packed({"proc/cmdline": "other\n"}),
    "gather/quay/nodes/worker-2/lscpu": "",
    "gather/quay/cluster-scoped-resources/core/nodes/worker-0.yaml": "kind: Node\n",
}


@both
def test_a_must_gather(put: Put, tmp_path: Path) -> None:
    path = put(tmp_path / "gather", GATHER)
    roots = roots_at(path)
    assert [root.host_names()[0] for root in roots] == ["worker-0", "worker-1"]
    root = root_of(path, "worker-0.example.com")
    assert root.kind is Kind.MUST_GATHER
    assert root.read("proc/irq/7/node") == "0\n"
    assert root.read("proc/cmdline") == "quiet\n"
    assert root.read("cpuplan/dmesg") == "[0.0] Linux\n"
    assert root.names("proc") == ["1", "9", "cmdline", "irq"]
    status = "Name:\tsystemd\nTgid:\t1\nPid:\t1\nCpus_allowed_list:\t0-1\n"
    assert root.read("proc/1/status") == root.read("proc/1/task/1/status") == status
    assert (
        root.read("proc/9/task/10/status")
        == "Name:\ta\nTgid:\t9\nPid:\t10\nCpus_allowed_list:\t2\n"
    )
    assert root_of(path, "worker-1").read("proc/cmdline") == "other\n"
    with pytest.raises(CpuplanError, match=r"CP809.*worker-\[0-1\]"):
        root_of(path, "")
    with pytest.raises(CpuplanError, match="CP809"):
        root_of(path, "worker-2")


def test_a_damaged_archive_of_a_node(tmp_path: Path) -> None:
    with pytest.raises(CpuplanError, match=r"CP807.*it is not a tar archive"):
        roots_at(folder(tmp_path, GATHER | {"q/nodes/worker-3/sysinfo.tgz": "<html>"}))


@both
def test_a_snapshot(put: Put, tmp_path: Path) -> None:
    files = {"cpuplan/snapshot": "version: 1\nhost: Worker-0\n", "proc/cmdline": "quiet\n"}
    (root,) = roots_at(put(tmp_path / "snapshot", files))
    assert root.kind is Kind.SNAPSHOT
    assert root.host_names()[0] == "worker-0"


@both
def test_one_nested_folder(put: Put, tmp_path: Path) -> None:
    (root,) = roots_at(put(tmp_path / "copy", {"top/proc/cmdline": "quiet\n", "notes": ""}))
    assert root.kind is Kind.COPY
    assert root.read("proc/cmdline") == "quiet\n"
    assert root.shown("proc/cmdline") == str(tmp_path / "copy/top/proc/cmdline")
    (root,) = roots_at(put(tmp_path / "two", {"a/proc/cmdline": "1\n", "b/proc/cmdline": "2\n"}))
    assert root.read("proc/cmdline") is None


def test_the_running_host() -> None:
    (root,) = roots_at(Path("/"))
    assert root.kind is Kind.LIVE
    assert root.read("proc/self/stat")


@pytest.mark.parametrize(
    ("hostname", "nodes", "expected"),
    [
        ("worker-0\n", ["worker-0", "worker-1"], "worker-0"),
        ("Worker-0.EXAMPLE.com", ["worker-0", "worker-1"], "worker-0"),
        ("worker-0", ["worker-0.a.com", "worker-1.a.com"], "worker-0.a.com"),
        ("worker-0.a.com", ["worker-0", "worker-0.a.com"], "worker-0.a.com"),
        ("worker-0", ["worker-0.a.com", "worker-0.b.com"], "CP809"),
        ("worker-0.a.com", ["worker-0.b.com"], "CP889"),
        ("localhost", ["localhost", "worker-0"], "CP889"),
        ("(none)", ["worker-0"], "CP889"),
        ("", ["worker-0"], "CP889"),
    ],
)
def test_the_node_of_a_host_name(
    hostname: str, nodes: list[str], expected: str, tmp_path: Path
) -> None:
    root = Root(folder(tmp_path, {"etc/hostname": hostname}))
    if not expected.startswith("CP"):
        assert node_of(root, nodes) == expected
        return
    with pytest.raises(CpuplanError, match=expected):
        node_of(root, nodes)


def test_what_cannot_be_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "text").write_text("hello")
    for name in ("pipe", "text", "none"):
        with pytest.raises(CpuplanError, match="CP807"):
            roots_at(tmp_path / name)


@pytest.mark.parametrize(
    ("files", "path", "covered"),
    [
        ({"etc/hostname": "", "proc/version": ""}, "etc/tuned/active_profile", True),
        ({"etc/hostname": ""}, "var/lib/kubelet/config.yaml", False),
        ({"etc/hostname": "", "var/lib/kubelet/x": ""}, "var/lib/ovn-ic/etc/y", True),
        ({"etc/hostname": "", "var/log/x": ""}, "var/lib/kubelet/config.yaml", False),
        ({"etc/hostname": "", "usr/lib/x": ""}, "usr/local/bin/x", False),
        ({"proc/version": ""}, "proc/cmdline", True),
        ({"etc/hostname": ""}, "boot/x", False),
        ({"etc/hostname": ""}, "", False),
        ({"sos_commands/x": "", "etc/crio/crio.conf": ""}, "etc/crio/x", True),
        ({"sos_commands/x": "", "etc/crio/crio.conf": ""}, "etc/tuned/active_profile", False),
        ({"etc/hostname": ""}, "etc/sysctl.d/x.conf", False),
        ({"etc/sysctl.d/y.conf": ""}, "etc/sysctl.d/x.conf", True),
        ({"etc/hostname": "", "usr/bin/env": ""}, "var/lib/kubelet/config.yaml", True),
        ({"cpuplan/snapshot": "user: 0\n", "cpuplan/places": "etc/tuned\n"}, "etc/tuned/x", True),
        ({"cpuplan/snapshot": "user: 0\n", "cpuplan/places": "etc/t\n"}, "etc/tuned/x", False),
        ({"cpuplan/snapshot": "user: 7\n", "etc/hostname": ""}, "etc/tuned/active_profile", False),
        ({"cpuplan/snapshot": "user: 7\n", "etc/hostname": ""}, "etc/machine-id", True),
    ],
)
def test_what_a_missing_file_says(
    files: dict[str, str], path: str, covered: bool, tmp_path: Path
) -> None:
    (root,) = roots_at(folder(tmp_path, files))
    assert root.covers(path) is covered


def test_the_running_host_lacks_what_is_missing() -> None:
    assert Root(Path("/")).covers("none/none")

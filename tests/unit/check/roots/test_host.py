"""Control groups of the host, as a process in a cgroup namespace of its own sees them."""

import os
from pathlib import Path

import pytest

from cpuplan.base.files import Unreadable
from cpuplan.check.roots.mounted import HostReader

OWN = "kubepods.slice/kubepods-pod1.slice/cri-containerd-1.scope"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """What a container of pod 1 sees (tried with unshare --cgroup)."""
    seen = {
        "1": "/../../../init.scope",
        "2": "/../../../system.slice/sshd.service",
        "3": "/../../kubepods-pod2.slice/cri-containerd-2.scope",
        "4": "/",
        "5": "/below",
        "6": "/../../..",
    }
    for pid, path in seen.items():
        folder = tmp_path / "proc" / pid / "task" / pid
        folder.mkdir(parents=True)
        for place in (folder, folder.parents[1]):
            (place / "cgroup").write_text(f"0::{path}\n")
    for group in (OWN, "kubepods.slice/kubepods-pod2.slice/cri-containerd-2.scope", "init.scope"):
        (tmp_path / "sys/fs/cgroup" / group).mkdir(parents=True)
    return tmp_path


def reader(root: Path, own: Path) -> HostReader:
    made = HostReader(root)
    made.own_groups = own
    return made


@pytest.mark.parametrize(
    ("pid", "path"),
    [
        (1, "/init.scope"),
        (2, "/system.slice/sshd.service"),
        (3, "/kubepods.slice/kubepods-pod2.slice/cri-containerd-2.scope"),
        (4, f"/{OWN}"),
        (5, f"/{OWN}/below"),
        (6, "/"),
    ],
)
def test_paths_begin_at_the_top(root: Path, pid: int, path: str) -> None:
    host = reader(root, root / "sys/fs/cgroup" / OWN)
    for place in (f"proc/{pid}", f"proc/{pid}/task/{pid}"):
        assert host.read(f"{place}/cgroup") == f"0::{path}\n".encode()


def test_without_its_own_group_nothing_is_guessed(root: Path, tmp_path: Path) -> None:
    host = reader(root, tmp_path)
    with pytest.raises(Unreadable, match="own control group, which is not found"):
        host.read("proc/2/cgroup")


def test_a_process_of_the_host_sees_them_as_they_are(root: Path) -> None:
    for pid in os.listdir(root / "proc"):
        (root / "proc" / pid / "cgroup").write_text("3:cpuset:/a\n0::/system.slice/x.service\n")
    host = reader(root, root)
    assert host.read("proc/2/cgroup") == b"3:cpuset:/a\n0::/system.slice/x.service\n"


def test_other_files_are_left_alone(root: Path) -> None:
    (root / "proc/2/comm").write_text("0::/../x\n")
    assert reader(root, root).read("proc/2/comm") == b"0::/../x\n"


def test_a_copy_without_the_first_process(tmp_path: Path) -> None:
    (tmp_path / "proc/7").mkdir(parents=True)
    (tmp_path / "proc/7/cgroup").write_text("0::/system.slice/x.service\n")
    assert reader(tmp_path, tmp_path).read("proc/7/cgroup") == b"0::/system.slice/x.service\n"

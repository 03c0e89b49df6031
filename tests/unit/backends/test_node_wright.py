"""The scripts of NodeWright's package, run as its agent does, on a folder instead of a root."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.projects import REPOSITORY

SCRIPTS = REPOSITORY / "templates/nodewright"
APPLY = REPOSITORY / "templates/bin/cpuplan-apply.sh"
STATE = "var/lib/kubelet/cpu_manager_state"


class Node:
    """A root, and the folder in which the agent puts the object's texts."""

    def __init__(self, folder: Path) -> None:
        self.root, self.package = folder / "root", folder / "package"
        self.write("proc/cmdline", "ro a=1\n")
        self.write("run/x", "")
        (self.package / "configmaps").mkdir(parents=True)
        self.give({"/etc/one": "1\n", "/etc/two": "2\n"})

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def give(self, files: dict[str, str]) -> None:
        apply = "/usr/local/bin/cpuplan-apply.sh"
        texts = {**files, apply: APPLY.read_text()}
        lines = []
        for index, (path, text) in enumerate(texts.items()):
            (self.package / f"configmaps/key-{index}").write_text(text)
            lines.append(f"0644 key-{index} {path}\n")
        (self.package / "configmaps/files").write_text("".join(lines))

    def run(self, name: str) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": os.environ["PATH"],
            "ROOT": str(self.root),
            "SKYHOOK_DIR": str(self.package),
        }
        command = ["bash", "-c", f". {SCRIPTS / name}"]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    def has(self, path: str) -> bool:
        return (self.root / path).exists()


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_files_are_installed_and_checked(node: Node) -> None:
    assert node.run("config_check.sh").returncode != 0
    result = node.run("config.sh")
    assert result.returncode == 0, result.stderr
    assert (node.root / "etc/one").read_text() == "1\n"
    assert node.run("config_check.sh").returncode == 0


def test_state_files_go_with_changes_only(node: Node) -> None:
    node.write(STATE, "{}")
    node.run("config.sh")
    assert not node.has(STATE)
    node.write(STATE, "{}")
    node.run("config.sh")
    assert node.has(STATE)


def test_files_that_are_gone_are_removed(node: Node) -> None:
    node.run("config.sh")
    node.write("etc/own", "of somebody else")
    node.give({"/etc/one": "1\n"})
    node.run("config.sh")
    assert (node.has("etc/one"), node.has("etc/two"), node.has("etc/own")) == (True, False, True)


def test_the_kernel_is_checked_after_the_reboot(node: Node) -> None:
    node.give({"/etc/cpuplan/arguments": "a=1\n"})
    node.write("var/lib/cpuplan/arguments", "a=1\n")
    assert node.run("config.sh").returncode == 0
    assert node.run("post_interrupt_check.sh").returncode == 0
    node.write("proc/cmdline", "ro\n")
    result = node.run("post_interrupt_check.sh")
    assert result.returncode == 1
    assert "does not have the boot arguments" in result.stderr


def test_all_goes(node: Node) -> None:
    node.run("config.sh")
    result = node.run("uninstall.sh")
    assert result.returncode == 0, result.stderr
    assert not node.has("etc/one")
    assert not node.has("usr/local/bin/cpuplan-apply.sh")
    assert node.run("uninstall.sh").returncode == 0

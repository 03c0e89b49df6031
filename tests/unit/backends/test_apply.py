"""The script of deliveries that run one, against programs that note how they were called."""

import subprocess
from pathlib import Path

import pytest

from tests.projects import REPOSITORY

SCRIPT = REPOSITORY / "templates/bin/cpuplan-apply.sh"
#: Of an ordinary user: the programs find the root themselves.
CHROOT = '#!/bin/bash\nshift\nexec "$@"\n'
NOTED = 'echo "$(basename "$0") $*" >>"$ROOT/calls"\n'
IS_ENABLED = '[ "$1" != is-enabled ] || [ -e "$ROOT/enabled" ]\n'

#: Keeps what it is given last, and shows it.
GRUBBY = """
for word in "$@"; do
    case $word in
    --args=*) echo "${word#--args=}" >"$ROOT/args" ;;
    --info=*) echo "args=\\"ro $(cat "$ROOT/args")\\"" ;;
    esac
done
"""


class Node:
    """A root file system, and the programs that are found on it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.program("systemctl", IS_ENABLED)
        (root / "bin/chroot").write_text(CHROOT)
        (root / "bin/chroot").chmod(0o755)
        self.boot("ro quiet")
        self.want("isolcpus=2-3")

    def program(self, name: str, text: str = "") -> None:
        path = self.root / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/bash\n{NOTED}{text}")
        path.chmod(0o755)

    def boot(self, line: str) -> None:
        self.write("proc/cmdline", f"BOOT_IMAGE=/vmlinuz {line}\n")

    def want(self, *arguments: str, units: str = "") -> None:
        self.write("etc/cpuplan/arguments", "".join(f"{word}\n" for word in arguments))
        self.write("etc/cpuplan/units", units)

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def run(self, *options: str) -> subprocess.CompletedProcess[str]:
        (self.root / "run").mkdir(exist_ok=True)
        path = f"{self.root}/bin:/usr/bin:/bin"
        return subprocess.run(
            ["bash", str(SCRIPT), *options],
            env={"ROOT": str(self.root), "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )

    def calls(self) -> list[str]:
        """How programs were called since the last question."""
        noted = self.root / "calls"
        lines = noted.read_text().splitlines() if noted.exists() else []
        noted.unlink(missing_ok=True)
        return [line for line in lines if "--info=" not in line]


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_arguments_are_set_once(node: Node) -> None:
    node.program("grubby", GRUBBY)
    first = node.run()
    assert (first.returncode, first.stdout) == (
        0,
        "changed: boot arguments\na reboot is needed\n",
    )
    assert node.calls() == ["grubby --update-kernel=ALL --args=isolcpus=2-3"]
    assert (node.root / "run/reboot-required").exists()
    node.boot("ro quiet isolcpus=2-3")
    assert node.run().stdout == ""
    assert node.calls() == []


def test_arguments_that_are_gone_are_taken_away(node: Node) -> None:
    node.program("grubby", GRUBBY)
    node.run()
    node.boot("ro isolcpus=2-3")
    node.want("isolcpus=2", "nohz_full=2")
    node.calls()
    node.run()
    assert node.calls() == [
        "grubby --update-kernel=ALL --remove-args=isolcpus=2-3",
        "grubby --update-kernel=ALL --args=isolcpus=2 nohz_full=2",
    ]
    assert node.run("--needs-reboot").returncode == 0
    node.boot("ro isolcpus=2 nohz_full=2")
    assert node.run("--needs-reboot").returncode == 1
    node.boot("ro isolcpus=2-3 isolcpus=2 nohz_full=2")
    assert node.run("--needs-reboot").returncode == 0, "the old one is still there"


def test_a_grubby_that_loses_arguments(node: Node) -> None:
    node.program("grubby", "echo 'args=\"ro hugepagesz=1G hugepages=4\"'")
    node.want("hugepagesz=2M", "hugepages=8", "hugepagesz=1G", "hugepages=4")
    result = node.run()
    assert result.returncode == 1
    assert "grubby set other boot arguments" in result.stderr
    assert not (node.root / "var/lib/cpuplan/arguments").exists()


def test_quoted_values_are_recognized(node: Node) -> None:
    node.want("a=b c")
    node.boot('ro a="b c"')
    assert node.run("--needs-reboot").returncode == 1


@pytest.mark.parametrize(
    ("program", "calls"),
    [
        ("update-grub", ["update-grub "]),
        ("pbl", ["pbl --add-option isolcpus=2-3", "pbl --config"]),
    ],
)
def test_each_boot_loader(node: Node, program: str, calls: list[str]) -> None:
    node.program(program)
    assert node.run().returncode == 0
    assert node.calls() == calls


def test_a_node_of_images(node: Node) -> None:
    node.write("run/ostree-booted", "")
    node.program("rpm-ostree")
    node.program("grubby", GRUBBY)
    node.run()
    assert node.calls() == ["rpm-ostree kargs --append=isolcpus=2-3"]


def test_no_boot_loader(node: Node) -> None:
    result = node.run()
    assert result.returncode == 1
    assert "nothing sets the boot arguments" in result.stderr
    assert not (node.root / "var/lib/cpuplan/arguments").exists()


def test_no_arguments(node: Node) -> None:
    (node.root / "etc/cpuplan/arguments").unlink()
    (node.root / "etc/cpuplan/units").unlink()
    assert node.run().stdout == ""


def test_no_arguments_any_more(node: Node) -> None:
    node.program("grubby", GRUBBY)
    node.run()
    node.boot("ro isolcpus=2-3")
    (node.root / "etc/cpuplan/arguments").unlink()
    node.calls()
    assert node.run().stdout == "changed: boot arguments\na reboot is needed\n"
    assert node.calls() == ["grubby --update-kernel=ALL --remove-args=isolcpus=2-3"]
    assert node.run().stdout == "a reboot is needed\n"


def test_units_are_enabled_once(node: Node) -> None:
    node.want(units="irq.service\n")
    assert node.run().stdout == "changed: irq.service is enabled\n"
    node.write("enabled", "")
    assert node.run().stdout == ""


def test_programs_of_another_root_run_in_it(node: Node) -> None:
    node.program("grubby", GRUBBY)
    node.program("chroot", 'shift\nexec "$@"\n')
    node.want("isolcpus=2-3", units="a.service\n")
    node.run()
    calls = [call for call in node.calls() if call.startswith("chroot ")]
    assert f"chroot {node.root} grubby --update-kernel=ALL --args=isolcpus=2-3" in calls
    assert f"chroot {node.root} systemctl enable --quiet a.service" in calls

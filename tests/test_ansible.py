"""The emitted playbook, judged by ansible-lint, and played on a folder in place of a root."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cpuplan.backends.deliveries import ansible
from tests.named_cases import compiled
from tests.unit.backends.test_apply import CHROOT, GRUBBY

PLAYER, LINTER = "ansible-playbook", "ansible-lint"
CLASS = "nodes/site/deliveries-epyc-8"

pytestmark = pytest.mark.slow
needs_ansible = pytest.mark.skipif(
    not shutil.which(PLAYER), reason=f"{PLAYER} (Debian: ansible-core) is not installed"
)
needs_linter = pytest.mark.skipif(
    not shutil.which(LINTER), reason=f"{LINTER} (Debian: ansible-lint) is not installed"
)


class Site:
    """A copy of `out/`, a node's root, and programs that note how they were called."""

    def __init__(self, folder: Path) -> None:
        self.out, self.root, self.bin = folder / "out", folder / "root", folder / "bin"
        for path, data in compiled("deliveries").files.items():
            (self.out / path).parent.mkdir(parents=True, exist_ok=True)
            (self.out / path).write_bytes(data)
        self.bin.mkdir()
        for program, text in {"grubby": GRUBBY, "systemctl": ""}.items():
            noted = f'#!/bin/bash\necho "{program} $*" >>{folder}/calls\n'
            (self.bin / program).write_text(noted + text)
            (self.bin / program).chmod(0o755)
        (self.bin / "chroot").write_text(CHROOT)
        (self.bin / "chroot").chmod(0o755)
        self.calls = folder / "calls"
        for path, text in {"proc/cmdline": "ro quiet\n", "run/x": "", "etc/passwd": "mine"}.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)

    def play(self) -> tuple[int, int]:
        """How many tasks changed something, and how many failed."""
        owner = Path(self.root).owner()
        variables = {
            "cpuplan_root": str(self.root),
            "cpuplan_owner": owner,
            "ansible_become": "false",
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
        }
        given = [word for item in variables.items() for word in ("-e", "=".join(item))]
        folder = self.out / ansible.FOLDER
        command = [PLAYER, "-i", "site", "cpuplan.yaml", "--limit", "worker-0", *given]
        path = f"{self.bin}:{Path(shutil.which(PLAYER) or '').parent}:/usr/bin:/bin"
        done = subprocess.run(
            command,
            cwd=folder,
            env={"PATH": path, "HOME": str(self.root.parent), "LC_ALL": "C.UTF-8"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert "PLAY RECAP" in done.stdout, done.stdout + done.stderr
        words = dict(
            word.split("=") for word in done.stdout.splitlines()[-2:][0].split() if "=" in word
        )
        assert words["failed"] == "0", done.stdout + done.stderr
        return int(words["changed"]), int(words["failed"])

    def tree(self) -> dict[str, bytes]:
        """What is below the root."""
        paths = [path for path in sorted(self.root.rglob("*")) if path.is_file()]
        return {str(path.relative_to(self.root)): path.read_bytes() for path in paths}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@needs_ansible
def test_a_node_gets_its_files_once_and_loses_what_is_gone(site: Site) -> None:
    """One site for all of it: Ansible needs ten seconds for each play."""
    assert site.play()[0] > 0
    after = site.tree()
    assert _planned(site).items() <= after.items()
    (calls,) = (line for line in site.calls.read_text().splitlines() if "--update-kernel" in line)
    assert "isolcpus=managed_irq,2-6,10-14" in calls
    _check_nothing_changes(site)
    _forget_a_script(site)
    assert site.play()[0] > 0
    assert "usr/local/bin/set-cpus-offline.sh" not in site.tree()
    assert site.tree()["etc/passwd"] == b"mine"
    _check_nothing_changes(site)


def _planned(site: Site) -> dict[str, bytes]:
    place = site.out / CLASS
    return {
        str(path.relative_to(place)): path.read_bytes()
        for path in place.rglob("*")
        if path.is_file() and path.name != "cmdline"
    }


def _forget_a_script(site: Site) -> None:
    inventory = site.out / "ansible/site/deliveries-epyc-8.yaml"
    text = inventory.read_text()
    script = '    - path: /usr/local/bin/set-cpus-offline.sh\n      mode: "0644"\n'
    assert script in text
    inventory.write_text(text.replace(script, ""))


def _check_nothing_changes(site: Site) -> None:
    before = site.tree()
    site.calls.unlink(missing_ok=True)
    assert site.play() == (0, 0)
    assert site.tree() == before
    assert not site.calls.exists()


@needs_linter
def test_no_finding_of_the_linter(site: Site) -> None:
    command = [LINTER, "--offline", "--profile", "production", "cpuplan.yaml", "roles"]
    done = subprocess.run(
        command, cwd=site.out / ansible.FOLDER, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@needs_ansible
def test_the_rollout_plays_wave_after_wave(tmp_path: Path) -> None:
    for path, data in compiled("rollout").files.items():
        if path.startswith("ansible/"):
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_bytes(data)
    listed = subprocess.run(
        [PLAYER, "-i", "plant", "rollout-plant.yaml", "--list-hosts"],
        cwd=tmp_path / ansible.FOLDER,
        capture_output=True,
        text=True,
        check=True,
    )
    plays = listed.stdout.split("play #")[1:]
    hosts = [sorted(play.rpartition("):")[2].split()) for play in plays]
    assert hosts == [
        ["plant-0"],
        ["plant-4", "plant-5", "plant-6", "plant-7"],
        ["plant-1", "plant-2", "plant-3"],
    ]

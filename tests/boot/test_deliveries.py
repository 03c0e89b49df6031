"""Nodes that got their files by each delivery have what was compiled, and do it."""

import shutil
from pathlib import Path

import pytest

from cpuplan.backends import kubernetes
from cpuplan.cli.main import run
from tests.boot import delivering, guests
from tests.boot.lab import NODES, Lab
from tests.boot.lean.booted import SNAPSHOT
from tests.boot.seen import Seen

pytestmark = pytest.mark.boot_systemd


@pytest.fixture(params=NODES)
def name(request: pytest.FixtureRequest) -> str:
    """A guest."""
    return str(request.param)


@pytest.fixture
def seen(name: str, lab: Lab) -> Seen:
    """What it showed."""
    return lab.seen(name)


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project of the guests, compiled."""
    folder = tmp_path_factory.mktemp("project") / "guest"
    shutil.copytree(guests.PROJECT, folder)
    assert run(["-C", str(folder), "compile"]) == 0
    return folder


def test_each_delivery_has_a_guest() -> None:
    used = [guests.plan(name).node_class.target.delivery[0] for name in NODES]
    assert sorted(used) == sorted(delivering.DELIVERIES)


def test_files_are_those_of_the_plan(name: str, seen: Seen) -> None:
    for path, file in kubernetes.of(guests.plan(name)).files.items():
        found = seen.folder / path.lstrip("/")
        assert found.read_bytes() == file.data, path
        assert found.stat().st_mode & 0o111 == file.mode & 0o111, path


def test_the_kernel_was_given_every_boot_argument(name: str, seen: Seen) -> None:
    given = seen.text("proc/cmdline").split()
    planned = kubernetes.of(guests.plan(name)).arguments
    assert [word for word in given if word in planned] == list(planned)


def test_no_unit_failed(seen: Seen) -> None:
    assert seen.text("failed") == "", seen.text("failures")


def test_check_sees_what_was_compiled(
    name: str, seen: Seen, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["-C", str(project), "check", name, "--root", str(seen.folder / SNAPSHOT)])
    said = capsys.readouterr().err
    assert code == 0, said
    assert "warning" not in said


def test_the_check_after_a_reboot_passes(interrupts: Seen) -> None:
    assert (interrupts.folder / "after-reboot").exists()
    assert interrupts.text("after-reboot") == ""

"""Pipes on the command line: read once, whole, and named."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.projects import run_in

LSCPU = (
    '{"cpus": ['
    + ", ".join(
        f'{{"cpu": {n}, "core": {n % 2}, "socket": 0, "node": 0, "online": true}}' for n in range(4)
    )
    + "]}"
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "inventories").mkdir()
    return tmp_path


def run_with_input(folder: Path, given: str, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "cpuplan", *words]
    return subprocess.run(
        command, input=given, capture_output=True, text=True, cwd=folder, check=False, timeout=60
    )


@pytest.mark.parametrize("path", ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"])
def test_standard_input(project: Path, path: str) -> None:
    done = run_with_input(project, LSCPU, "import", "lscpu", path, "--name", "worker-7")
    assert done.returncode == 0, done.stderr
    written = "".join(path.read_text() for path in (project / "inventories").iterdir())
    assert "name: worker-7" in written


def test_a_pipe_of_the_shell(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """As `import <(lscpu -Je)` gives it: an open descriptor that can be read only once."""
    source, end = os.pipe()

    def write() -> None:
        with os.fdopen(end, "w") as file:
            file.write(LSCPU)

    writer = threading.Thread(target=write)
    writer.start()
    code, out, _ = run_in(
        project, ["import", "--stdout", f"/dev/fd/{source}", "--name", "a.b"], capfd
    )
    writer.join()
    os.close(source)
    assert code == 0
    assert "name: a.b" in out


def test_a_node_without_a_name_is_asked_for(project: Path) -> None:
    done = run_with_input(project, LSCPU, "import", "-")
    assert done.returncode == 2
    assert "give it with --name" in done.stderr
    assert not list((project / "inventories").iterdir())


def test_messages_call_the_pipe_as_its_user_did(project: Path) -> None:
    done = run_with_input(project, "hello", "import", "-")
    assert done.returncode == 1
    assert "error[CP120]: - is not in a format" in done.stderr


def test_a_pipe_with_a_name_is_not_waited_for(project: Path) -> None:
    os.mkfifo(project / "pipe")
    done = run_with_input(project, "", "import", "pipe")
    assert done.returncode == 1
    assert "error[CP121]: pipe cannot be read: it is neither a file nor a folder" in done.stderr


def test_name_goes_with_pipes_only(project: Path) -> None:
    (project / "w.lscpu.json").write_text(LSCPU)
    assert run_with_input(project, "", "import", "w.lscpu.json", "--name", "x").returncode == 2

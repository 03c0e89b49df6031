"""Ctrl-C in the middle: nothing is half written, nobody is left, and what was finished is kept."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cpuplan.cli import main
from tests.projects import REPOSITORY, run_in
from tests.sampled import sampled
from tests.unit.test_pipeline import tree
from tests.unit.workers.fleets import PODS, make_fleet

Capture = pytest.CaptureFixture[str]

_PROGRAM = (
    "import signal, sys\n"
    # Shells start programs in the background without it.
    "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "sys.path.insert(0, sys.argv.pop(1))\n"
    "from cpuplan.__main__ import main; main()"
)


def _start(project: Path, cache: Path, *words: str) -> "subprocess.Popen[str]":
    environment = {name: value for name, value in os.environ.items() if "CPUPLAN" not in name}
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, str(REPOSITORY), *words],
        cwd=project,
        env={**environment, "XDG_CACHE_HOME": str(cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _kept(cache: Path) -> dict[str, int]:
    """The results in a cache folder, and when each was written."""
    return {
        path.name: path.stat().st_mtime_ns
        for path in sorted(cache.glob("cpuplan/classes/*"))
        if "." not in path.name
    }


def _is_gone(session: int) -> bool:
    """Whether no process of a session does anything."""
    done = subprocess.run(
        ["ps", "-o", "stat=", "-s", str(session)], capture_output=True, text=True, check=False
    )
    return all(state.startswith("Z") for state in done.stdout.split())


@pytest.mark.parametrize("jobs", sampled(["2", "1"], 1))
def test_layouts_that_were_finished_are_kept(tmp_path: Path, capsys: Capture, jobs: str) -> None:
    project, other = (make_fleet(tmp_path / name, 10, 12) for name in ("project", "other"))
    cache = tmp_path / "cache"
    with _start(project, cache, "compile", "--jobs", jobs) as process:
        end = time.monotonic() + 60
        while not _kept(cache):
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert not out
    assert err == (
        "\ninterrupted; existing files are unchanged; layouts that were finished are kept for the "
        "next run\n"
    )
    while not _is_gone(process.pid):
        assert time.monotonic() < end
        time.sleep(0.05)
    assert sorted(path.name for path in project.iterdir()) == ["intents", "inventories"]
    assert not (project / "intents/plan.lock.yaml").exists()
    before = _kept(cache)
    with _start(project, cache, "compile", "--jobs", jobs) as again:
        assert "\n240 nodes in 120 classes; " in again.communicate(timeout=120)[1]
    after = _kept(cache)
    assert len(after) > len(before)
    # Each result has two names, and each process may have been between them.
    assert sum(after[name] != written for name, written in before.items()) <= int(jobs)
    assert run_in(other, ["compile"], capsys)[0] == 0
    assert tree(project) == tree(other)


def test_pods_that_were_placed_leave_nobody(tmp_path: Path) -> None:
    project = make_fleet(tmp_path / "project", 10, 12)
    (project / "pods.yaml").write_text(PODS.replace("replicas: 20", "replicas: 200"))
    words = ("simulate", "pods.yaml", "--each", "--jobs", "2")
    with _start(project, tmp_path / "cache", *words) as process:
        while len(_kept(tmp_path / "cache")) < 240 and process.poll() is None:
            time.sleep(0.01)
        time.sleep(0.3)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert not out
    assert err.startswith("\ninterrupted; existing files are unchanged")
    assert err.count("\n") == 2
    end = time.monotonic() + 10
    while not _is_gone(process.pid):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_ctrl_c_while_an_extension_is_loaded(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as error:
            raise ImportError("initialization failed") from error

    monkeypatch.setattr(main.cli, "main", broken)
    code, out, err = run_in(tmp_path, ["compile"], capsys)
    assert (code, out, err) == (130, "", "interrupted; existing files are unchanged\n")

"""`kill -9` of the whole command, at any moment: the old `out/`, or the new one."""

import shutil
import signal
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

import pytest

from tests.projects import make_project
from tests.unit.test_pipeline import tree

COMPILE = [sys.executable, "-m", "cpuplan", "compile"]
INTENT = "intents/main.yaml"


def compile_for(project: Path, seconds: float | None) -> int:
    """Run `compile`, killed after a while; its exit code."""
    process = subprocess.Popen(
        COMPILE, cwd=project, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    if seconds is not None:
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
    return process.wait()


@pytest.mark.slow
def test_a_killed_compile_leaves_the_old_tree_or_the_new_one(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    assert compile_for(project, None) == 0
    old = tree(project / "out")
    lock = (project / "intents/plan.lock.yaml").read_bytes()
    text = (project / INTENT).read_text().replace("cores: 1", "cores: 2")
    (project / INTENT).write_text(text)
    begin = time.monotonic()
    assert compile_for(project, None) == 0
    duration = time.monotonic() - begin
    new = tree(project / "out")
    assert new != old
    seen = set()
    # Most of the time goes into the solver; the writing is in the last tenth. A machine that other
    # work slows down is given longer, until a compile has ended before it was killed.
    for step in count():
        if step >= 40 and True in seen:
            break
        shutil.rmtree(project / "out")
        _restore(project, old)
        (project / "intents/plan.lock.yaml").write_bytes(lock)
        compile_for(project, duration * (0.012 * step + 0.6 if step else 0.1))
        left = tree(project / "out")
        assert left in (old, new)
        seen.add(left == new)
    assert compile_for(project, None) == 0
    assert tree(project / "out") == new
    assert sorted(path.name for path in project.iterdir()) == ["intents", "inventories", "out"]
    assert seen == {True, False}


def _restore(project: Path, files: dict[str, bytes]) -> None:
    for path, data in files.items():
        (project / "out" / path).parent.mkdir(parents=True, exist_ok=True)
        (project / "out" / path).write_bytes(data)

"""The whole compiler on the sample: same input, same bytes; no solver without need."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.projects import REPOSITORY


def sample(target: Path) -> Path:
    """The sample's inputs, without its lock."""
    for folder in ("inventories", "intents"):
        shutil.copytree(REPOSITORY / folder, target / folder)
    (target / "intents/plan.lock.yaml").unlink()
    return target


def run(project: Path, *arguments: str, hash_seed: str = "0", cwd: Path = REPOSITORY) -> str:
    """Run cpuplan in a process of its own; standard error, with the modules that were imported."""
    program = (
        "import sys; from cpuplan.cli.main import run; code = run(sys.argv[1:]); "
        "print('ortools' in sys.modules, file=sys.stderr); sys.exit(code)"
    )
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(REPOSITORY)}
    words = [sys.executable, "-c", program, "-C", str(project), *arguments]
    done = subprocess.run(
        words, env=environment, cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample, compiled from nothing."""
    project = sample(tmp_path_factory.mktemp("sample"))
    assert run(project, "compile").endswith("True\n")
    return project


def test_committed_tree_is_what_the_inputs_give(compiled: Path) -> None:
    committed = tree(REPOSITORY / "out")
    made = tree(compiled / "out")
    for files in (committed, made):
        files.pop(".cpuplan/written", None)  # a note of this machine, which Git ignores
    assert made == committed
    assert (compiled / "intents/plan.lock.yaml").read_text() == (
        REPOSITORY / "intents/plan.lock.yaml"
    ).read_text()


def test_same_bytes_for_another_hash_seed_and_folder(compiled: Path, tmp_path: Path) -> None:
    other = sample(tmp_path / "elsewhere")
    run(other, "compile", hash_seed="1234", cwd=tmp_path)
    assert tree(other / "out") == tree(compiled / "out")


def test_same_bytes_for_another_order_of_documents(compiled: Path, tmp_path: Path) -> None:
    other = sample(tmp_path)
    for path in (other / "inventories").rglob("*.yaml"):
        documents = path.read_text().split("\n---\n")
        path.write_text("\n---\n".join(reversed([text.strip("\n") for text in documents])) + "\n")
        path.rename(path.with_name("z" + path.name))
    run(other, "compile")
    mine, theirs = tree(other / "out"), tree(compiled / "out")
    for files in (mine, theirs):
        files.pop(".cpuplan/written")
    assert mine == theirs


def test_an_unchanged_project_needs_no_solver(
    compiled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CPUPLAN_NO_CACHE")
    run(compiled, "compile")
    assert "nothing has changed" in run(compiled, "compile")
    assert run(compiled, "compile").endswith("False\n")
    assert run(compiled, "compile", "--check").endswith("False\n")
    assert run(compiled, "validate").endswith("False\n")


def test_an_edit_beside_the_pools_keeps_the_layout(compiled: Path, tmp_path: Path) -> None:
    project = tmp_path / "copy"
    shutil.copytree(compiled, project)
    intent = project / "intents/lab.yaml"
    intent.write_text(intent.read_text().replace("count: 32", "count: 16"))
    errors = run(project, "compile")
    assert errors.endswith("False\n")
    assert "changed" in errors
    lock = "intents/plan.lock.yaml"
    assert (project / lock).read_text() == (compiled / lock).read_text()
    assert (
        b"hugepages=16"
        in (project / "out/clusters/lab/manifests/10-machineconfig-low-latency.yaml").read_bytes()
    )


def test_an_edit_of_pools_that_the_layout_satisfies_needs_no_solver(
    compiled: Path, tmp_path: Path
) -> None:
    project = tmp_path / "copy"
    shutil.copytree(compiled, project)
    intent, lock = project / "intents/lab.yaml", project / "intents/plan.lock.yaml"
    pools = [line.partition(", solvedFrom")[0] for line in lock.read_text().splitlines()]
    # 4 of 32 CPUs, both
    intent.write_text(intent.read_text().replace("percent: 12", "percent: 11"))
    assert run(project, "compile").endswith("False\n")
    assert [line.partition(", solvedFrom")[0] for line in lock.read_text().splitlines()] == pools
    assert lock.read_text() != (compiled / "intents/plan.lock.yaml").read_text()

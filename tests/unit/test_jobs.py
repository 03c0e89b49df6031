"""The same bytes and findings, with any number of processes."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cpuplan import pipeline
from cpuplan.pipeline.making import Making
from cpuplan.workers import Workers, divide
from tests.projects import run_in
from tests.unit.test_pipeline import sample, tree

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def _divided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also little work is divided."""
    monkeypatch.setattr(divide, "_MANY", 0)


@pytest.mark.usefixtures("_divided")
def test_compile_gives_the_same_bytes(tmp_path: Path, capsys: Capture) -> None:
    said, made = [], []
    for jobs in ("1", "2", "3"):
        project = sample(tmp_path / jobs)
        code, out, err = run_in(project, ["compile", "--jobs", jobs], capsys)
        assert code == 0
        said.append((out, err))
        made.append(tree(project))
    assert said[0] == said[1] == said[2]
    assert made[0] == made[1] == made[2]
    # locked layouts too
    for jobs in ("1", "2"):
        assert run_in(tmp_path / jobs, ["compile", "--check", "--jobs", jobs], capsys)[0] == 0


@pytest.mark.usefixtures("_divided")
def test_findings_come_in_the_same_order(tmp_path: Path, capsys: Capture) -> None:
    project = sample(tmp_path / "project")
    for path in sorted((project / "intents").glob("*.yaml")):
        path.write_text(path.read_text().replace("      cores: 2", "      cores: 2000"))
    said = [run_in(project, ["validate", "--jobs", jobs], capsys) for jobs in ("1", "2", "3")]
    assert said[0] == said[1] == said[2]
    assert said[0][0] == 1
    assert said[0][2].count("cores: 2000") > 1


def test_any_executor_will_do(tmp_path: Path) -> None:
    project = pipeline.load(sample(tmp_path / "project"))
    here = pipeline.compile_project(project)
    with ThreadPoolExecutor(2) as executor:
        there = pipeline.compile_project(project, making=Making(Workers(4, executor)))
    assert there.files == here.files
    assert there.lock == here.lock
    assert there.diagnostics == here.diagnostics

"""A check that looked at nothing, or too little, never passes, in any format."""

import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from cpuplan import pipeline
from tests.hosts import make_root
from tests.projects import BASE, make_project, run_in


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from contextlib import chdir

    from cpuplan.cli.main import run

    folder = make_project(tmp_path_factory.mktemp("made"), BASE)
    with chdir(folder):
        assert run(["compile", "-q"]) == 0
    plan, _ = pipeline.solve(pipeline.load(folder))
    make_root(plan.by_node["lab", "worker-0"], folder / "whole")
    (folder / "whole/etc/hostname").write_text("worker-0\n")
    return folder


def empty(folder: Path) -> Path:
    """A root that has its name, and nothing that was planned."""
    for name in ("proc", "etc"):
        (folder / name).mkdir(parents=True)
    (folder / "etc/hostname").write_text(f"{folder.name}\n")
    return folder


def packed(folder: Path) -> Path:
    archive = folder.with_suffix(".tar")
    with tarfile.open(archive, "w") as file:
        file.add(folder, folder.name)
    return archive


@pytest.mark.parametrize("form", [lambda folder: folder, packed, lambda folder: folder.parent])
@pytest.mark.parametrize("words", [["worker-0"], []])
def test_nothing_of_a_node(
    project: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    form: Callable[[Path], Path],
    words: list[str],
) -> None:
    root = form(empty(tmp_path / "roots/worker-0"))
    if words and root.name == "roots":
        return  # a folder of several roots has no single node
    code, _, said = run_in(project, ["check", *words, "--root", str(root)], capsys)
    assert code == 7
    assert said.startswith("error[CP8132]: ")
    assert "0 of " in said.splitlines()[0]
    assert " holds " not in said.splitlines()[-1].replace("0 of 1 node holds", "")


def test_one_of_several_that_shows_nothing(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty(tmp_path / "worker-1")
    words = ["check", "--root", str(project / "whole"), "--root", str(tmp_path / "worker-1")]
    code, out, said = run_in(project, [*words, "--format", "json"], capsys)
    assert code == 7
    data = json.loads(out)
    assert [node["verified"]["is_enough"] for node in data["nodes"]] == [True, False]
    assert data["diagnostics"][0]["code"] == "CP8132"
    assert said.startswith("not verified: 1 of 2 nodes; 1 of 2 nodes holds what was compiled (")


@pytest.mark.parametrize(("threshold", "code"), [("1", 0), ("10", 0), ("99999", 7)])
def test_how_much_is_enough(
    project: Path, capsys: pytest.CaptureFixture[str], threshold: str, code: int
) -> None:
    words = ["check", "worker-0", "--root", str(project / "whole"), "--min-verified", threshold]
    assert run_in(project, words, capsys)[0] == code
    _, out, said = run_in(project, [*words, "--format", "json"], capsys)
    data = json.loads(out)
    assert data["situation"] == ("held" if code == 0 else "unseen")
    assert data["verified"]["wanted"] == threshold
    assert data["verified"]["is_enough"] is (code == 0)
    assert ("worker-0 holds what" in said) is (code == 0)
    assert ("shows too little of what was compiled" in said) is (code == 7)


def test_what_differs_counts_more(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, _ = pipeline.solve(pipeline.load(project))
    root = tmp_path / "node"
    make_root(plan.by_node["lab", "worker-0"], root)
    (root / "proc/cmdline").write_text("ro quiet\n")
    words = ["check", "worker-0", "--root", str(root), "--min-verified", "99999"]
    code, _, said = run_in(project, words, capsys)
    assert code == 1
    assert said.startswith("error[CP8132]: worker-0: ")


@pytest.mark.parametrize("output_format", ["junit", "sarif", "github", "gitlab", "jsonl", "json"])
def test_every_format_says_so(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], output_format: str
) -> None:
    empty(tmp_path / "worker-0")
    words = ["check", "worker-0", "--root", str(tmp_path / "worker-0"), "--format", output_format]
    code, out, _ = run_in(project, words, capsys)
    assert (code, "CP8132" in out) == (7, True)

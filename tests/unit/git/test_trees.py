"""Trees of commits, in every form in which a repository comes."""

import os
import time
from pathlib import Path

import pytest

from cpuplan.diagnostics import CpuplanError
from cpuplan.git import trees
from cpuplan.git.program import opened
from tests.git_projects import commit, git, write


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a project in a folder, whose output has changed since the first commit."""
    top = tmp_path / "top"
    write(top, "sites/lab/out/a", "first\n")
    write(top, "sites/lab/out/gone", "gone\n")
    git(top, "init", "-q")
    commit(top, "first")
    write(top, "sites/lab/out/a", "second\n")
    write(top, "sites/lab/out/nodes/ünï \"x'\\\t\n", "odd\n")
    (top / "sites/lab/out/run").write_bytes(b"#!/bin/sh\0\xff\r\n")
    (top / "sites/lab/out/run").chmod(0o755)
    os.symlink("a", top / "sites/lab/out/link")
    (top / "sites/lab/out/gone").unlink()
    commit(top, "second")
    return top / "sites/lab"


SECOND = {
    "a": b"second\n",
    "nodes/ünï \"x'\\\t\n": b"odd\n",
    "run": b"#!/bin/sh\0\xff\r\n",
}


def _read(folder: Path, ref: str, place: str = "out") -> dict[str, bytes]:
    with opened(folder, bare=True) as repository:
        return dict(trees.read(repository, ref, place))


def _merge_base(folder: Path) -> str:
    with opened(folder) as repository:
        return trees.merge_base(repository)


def _code(function: object, *arguments: object) -> str:
    with pytest.raises(CpuplanError) as caught:
        function(*arguments)  # type: ignore[operator]
    (finding,) = caught.value.diagnostics
    return finding.code


def test_files_of_any_commit(project: Path) -> None:
    (project / "out/a").write_text("not committed\n")
    assert _read(project, "HEAD") == SECOND
    assert _read(project, "HEAD~1") == {"a": b"first\n", "gone": b"gone\n"}
    assert _read(project, "HEAD", "out/nodes") == {"ünï \"x'\\\t\n": b"odd\n"}


def test_a_folder_that_the_commit_does_not_have_is_empty(project: Path) -> None:
    assert _read(project, "HEAD", "other") == {}
    assert _read(project, "HEAD", "out/a") == {}


@pytest.mark.parametrize("ref", ["nothing", "--all", "", "HEAD:sites", "a b", "x\ny", "^HEAD"])
def test_what_is_no_commit(project: Path, ref: str) -> None:
    assert _code(_read, project, ref) == "CP689"


def test_outside_of_a_repository(tmp_path: Path) -> None:
    assert _code(_read, tmp_path, "HEAD") == "CP688"
    assert _code(_merge_base, tmp_path) == "CP688"
    assert _code(_read, tmp_path / "missing", "HEAD") == "CP688"


def test_without_the_program(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert _code(_read, project, "HEAD") == "CP688"


def test_the_callers_git_leads_nowhere_else(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "-q", "other")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other/.git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    assert _read(project, "HEAD") == SECOND


def test_no_program_of_the_repository_runs(project: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    spy = tmp_path / "spy"
    spy.write_text(f"#!/bin/sh\ntouch {ran}\n")
    spy.chmod(0o755)
    for name in ("core.fsmonitor", "core.pager", "diff.external"):
        git(project, "config", name, str(spy))
    assert _read(project, "HEAD") == SECOND
    assert _merge_base(project)
    assert not ran.exists()


@pytest.mark.parametrize(
    "words",
    [
        ["clone", "-q", "--bare"],
        ["clone", "-q", "--depth=1"],
        ["clone", "-q", "--filter=blob:none", "--no-checkout"],
        ["clone", "-q", "--filter=tree:0", "--no-checkout"],
        ["clone", "-q", "-c", "core.autocrlf=true"],
    ],
    ids=lambda words: words[-1],
)
def test_forms_of_clones(project: Path, tmp_path: Path, words: list[str]) -> None:
    top = project.parents[1]
    git(top, "config", "uploadpack.allowFilter", "true")
    git(top, "config", "uploadpack.allowAnySHA1InWant", "true")
    clone = tmp_path / "clone"
    git(tmp_path, *words, f"file://{top}", str(clone))
    if "--bare" in words:
        assert _read(clone, "HEAD", "sites/lab/out") == SECOND
        return
    (clone / "sites/lab").mkdir(parents=True, exist_ok=True)
    assert _read(clone / "sites/lab", "origin/HEAD") == SECOND


def test_a_partial_clone_asks_once_for_all_files(tmp_path: Path) -> None:
    top, clone = tmp_path / "top", tmp_path / "clone"
    for number in range(30):
        write(top, f"out/{number}", f"{number}\n")
    git(top, "init", "-q")
    commit(top, "many")
    git(top, "config", "uploadpack.allowFilter", "true")
    git(top, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", "--no-checkout", f"file://{top}", "clone")
    before = len([*(clone / ".git/objects/pack").glob("*.promisor")])
    assert len(_read(clone, "HEAD")) == 30
    assert len([*(clone / ".git/objects/pack").glob("*.promisor")]) == before + 1


def test_a_worktree_and_a_submodule(project: Path, tmp_path: Path) -> None:
    top = project.parents[1]
    git(top, "worktree", "add", "-q", "--detach", str(tmp_path / "tree"), "HEAD~1")
    assert _read(tmp_path / "tree/sites/lab", "HEAD") == {"a": b"first\n", "gone": b"gone\n"}
    assert _merge_base(tmp_path / "tree/sites/lab") == git(top, "rev-parse", "HEAD~1").stdout[:-1]
    outer = tmp_path / "outer"
    git(tmp_path, "init", "-q", "outer")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(top), "out/part")
    commit(outer, "a submodule")
    assert _read(outer / "out/part/sites/lab", "HEAD") == SECOND
    assert _read(outer, "HEAD") == {}


@pytest.mark.parametrize("form", ["--object-format=sha256"])
def test_other_forms_of_repositories(tmp_path: Path, form: str) -> None:
    git(tmp_path, "init", "-q", form, "top")
    write(tmp_path / "top", "out/a", "first\n")
    commit(tmp_path / "top", "first")
    assert _read(tmp_path / "top", "HEAD") == {"a": b"first\n"}


def _diverged(project: Path) -> tuple[str, str]:
    """A branch beside main; the commit where it left, and its own."""
    git(project, "checkout", "-q", "-b", "change")
    write(project, "out/a", "third\n")
    commit(project, "third")
    git(project, "checkout", "-q", "main")
    write(project, "out/b", "other\n")
    commit(project, "other")
    git(project, "checkout", "-q", "change")
    return (
        git(project, "rev-parse", "main~1").stdout.strip(),
        git(project, "rev-parse", "HEAD").stdout.strip(),
    )


def test_the_merge_base_is_where_the_branch_left_the_main_branch(
    project: Path, tmp_path: Path
) -> None:
    left, change = _diverged(project)
    assert _merge_base(project) == left
    git(project, "checkout", "-q", "--detach")
    assert _merge_base(project) == left
    top = project.parents[1]
    git(tmp_path, "clone", "-q", "-b", "change", str(top), "clone")
    clone = tmp_path / "clone"
    # Its remote's HEAD is the branch that was checked out there.
    git(clone, "remote", "set-head", "origin", "main")
    assert _merge_base(clone / "sites/lab") == left
    # A main branch that is behind that of the remote is not asked.
    git(clone, "branch", "main", f"{left}~1")
    assert _merge_base(clone / "sites/lab") == left
    git(clone, "remote", "set-head", "origin", "change")
    assert _merge_base(clone / "sites/lab") == change


def test_a_shallow_clone_without_the_merge_base(project: Path, tmp_path: Path) -> None:
    _diverged(project)
    clone = tmp_path / "clone"
    url = f"file://{project.parents[1]}"
    git(tmp_path, "clone", "-q", "--depth=1", "--no-single-branch", "-b", "change", url, "clone")
    git(clone, "remote", "set-head", "origin", "main")
    with pytest.raises(CpuplanError, match="the clone is shallow") as caught:
        _merge_base(clone)
    assert "--unshallow" in caught.value.diagnostics[0].remedy
    git(clone, "fetch", "-q", "--unshallow")
    assert _merge_base(clone)


def test_without_a_main_branch_or_a_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "trunk", "top")
    assert _code(_merge_base, tmp_path / "top") == "CP689"
    commit(tmp_path / "top", "first")
    assert _code(_merge_base, tmp_path / "top") == "CP689"
    git(tmp_path / "top", "checkout", "-q", "--orphan", "main")
    commit(tmp_path / "top", "another first")
    git(tmp_path / "top", "checkout", "-q", "trunk")
    assert _code(_merge_base, tmp_path / "top") == "CP690"


def test_a_damaged_repository_is_told(project: Path) -> None:
    name = git(project, "rev-parse", "HEAD:sites/lab/out/a").stdout.strip()
    (project.parents[1] / ".git/objects" / name[:2] / name[2:]).unlink()
    assert _code(_read, project, "HEAD") == "CP688"


@pytest.mark.slow
def test_ten_thousand_files_take_about_a_second(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "top")
    for number in range(10_000):
        write(tmp_path / "top", f"out/nodes/{number % 100}/{number}", f"{number}\n" * 100)
    commit(tmp_path / "top", "many")
    begin = time.monotonic()
    read = _read(tmp_path / "top", "HEAD")
    assert len(read) == 10_000
    assert read["nodes/7/107"] == b"107\n" * 100
    assert time.monotonic() - begin < 20  # 0.1 s on an idle machine


def test_a_branch_called_head_is_no_main_branch(project: Path, tmp_path: Path) -> None:
    """Where nothing says which branch a remote has first, a pushed one of this name would be it."""
    top = project.parents[1]
    git(top, "push", "-q", ".", "main~1:refs/heads/HEAD")
    clone = tmp_path / "clone"
    git(tmp_path, "init", "-q", str(clone))
    git(clone, "remote", "add", "origin", str(top))
    git(clone, "fetch", "-q", "origin", "+refs/heads/*:refs/remotes/origin/*")
    if git(clone, "symbolic-ref", "-q", "refs/remotes/origin/HEAD", check=False).returncode == 0:
        git(clone, "symbolic-ref", "--delete", "refs/remotes/origin/HEAD")
    git(clone, "update-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main~1")
    git(clone, "checkout", "-q", "-b", "change", "origin/main")
    assert _merge_base(clone) == git(top, "rev-parse", "main").stdout.strip()

"""Which repository is used, in every form in which people have one, and what of it is seen."""

import errno
import os
import shutil
from pathlib import Path

import pytest

from cpuplan.diagnostics import CpuplanError
from cpuplan.git import trees
from cpuplan.git.program import checked_out, opened, run
from tests.git_projects import commit, git, write

ROOT = os.geteuid() == 0


@pytest.fixture
def top(tmp_path: Path) -> Path:
    write(tmp_path / "top", "sites/lab/out/a", "first\n")
    git(tmp_path / "top", "init", "-q")
    commit(tmp_path / "top", "first")
    return tmp_path / "top"


def _reads(folder: Path) -> bool:
    with opened(folder, bare=True) as repository:
        place = "out" if repository.prefix else "sites/lab/out"
        return dict(trees.read(repository, "HEAD", place)) == {"a": b"first\n"}


def _refused(folder: Path) -> str:
    with pytest.raises(CpuplanError) as caught, opened(folder):
        pass
    (finding,) = caught.value.diagnostics
    assert finding.code == "CP688"
    return finding.message


def test_the_path_in_the_work_tree_is_ours_to_say(top: Path, tmp_path: Path) -> None:
    for folder, prefix in ((top, ""), (top / "sites/lab", "sites/lab/")):
        with opened(folder) as repository:
            assert (repository.top, repository.prefix) == (top, prefix)
    (tmp_path / "link").symlink_to(top / "sites")
    with opened(tmp_path / "link/lab") as repository:
        assert (repository.top, repository.prefix) == (top, "sites/lab/")


def test_a_folder_that_looks_like_a_repository_is_none(top: Path) -> None:
    git(top, "init", "-q", "--bare", "sites/lab/bare")
    with opened(top / "sites/lab/bare") as repository:
        assert repository.place.git_dir == f"{top}/.git"
    # Unless somebody names it, and asks for one.
    with opened(top / "sites/lab/bare", bare=True) as repository:
        assert repository.place.git_dir == f"{top}/sites/lab/bare"


def test_a_linked_work_tree(top: Path, tmp_path: Path) -> None:
    git(top, "worktree", "add", "-q", "-b", "other", str(tmp_path / "tree"))
    assert _reads(tmp_path / "tree/sites/lab")
    write(tmp_path / "tree", "sites/lab/out/b", "second\n")
    commit(tmp_path / "tree", "second")
    with opened(tmp_path / "tree/sites/lab") as repository:
        assert set(trees.read(repository, "HEAD")) == {"a", "b"}
        assert checked_out(repository, "main") == str(top)
        assert checked_out(repository, "other") == str(tmp_path / "tree")
        assert checked_out(repository, "third") is None
    assert _reads(top / "sites/lab")
    shutil.move(tmp_path / "tree", tmp_path / "moved")
    assert "git worktree repair" in _refused(tmp_path / "moved")
    git(tmp_path / "moved", "worktree", "repair")
    with opened(tmp_path / "moved") as repository:
        assert repository.place.common == f"{top}/.git"


def test_a_work_tree_beside_its_repository(top: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", f"--separate-git-dir={tmp_path}/apart", str(top), "clone")
    told = _refused(tmp_path / "clone")
    remedy = told.partition("`git ")[2].partition("`")[0]
    git(tmp_path / "clone", *remedy.split())
    assert _reads(tmp_path / "clone/sites/lab")


@pytest.mark.parametrize("kind", ["file", "link"])
def test_a_dot_git_that_leads_to_the_repository_of_another(
    top: Path, tmp_path: Path, kind: str
) -> None:
    """An archive may bring it; `publish` would move branches of that repository."""
    git(tmp_path, "init", "-q", "other")
    commit(tmp_path / "other", "private")
    shutil.rmtree(top / ".git")
    if kind == "file":
        write(top, ".git", f"gitdir: {tmp_path}/other/.git\n")
    else:
        (top / ".git").symlink_to(tmp_path / "other/.git")
    assert "which does not name it" in _refused(top / "sites/lab")


@pytest.mark.parametrize("kind", ["file", "link"])
def test_a_dot_git_that_leads_into_the_work_tree(top: Path, kind: str) -> None:
    (top / ".git").rename(top / "moved")
    if kind == "file":
        write(top, ".git", "gitdir: moved\n")
    else:
        (top / ".git").symlink_to("moved")
    assert "where a commit can put anything" in _refused(top)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (".git", "no words\n"),
        (".git", "gitdir: \0\n"),
        (".git", "gitdir: " + "a" * 100_000),
    ],
)
def test_what_is_no_repository(top: Path, name: str, content: str) -> None:
    shutil.rmtree(top / ".git")
    write(top, name, content)
    _refused(top)


def test_an_empty_dot_git_is_not_passed_over(top: Path) -> None:
    (top / "sites/.git").mkdir()
    assert "is not a Git repository" in _refused(top / "sites/lab")


def test_a_pipe_in_the_place_of_a_file(top: Path) -> None:
    for name in ("HEAD", "config"):
        path = top / ".git" / name
        text = path.read_text()
        path.unlink()
        os.mkfifo(path)
        assert "a pipe" in _refused(top)
        path.unlink()
        path.write_text(text)
    assert _reads(top)


def test_a_common_folder_that_does_not_know_its_work_tree(top: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "other")
    write(top, ".git/commondir", f"{tmp_path}/other/.git\n")
    assert "is no work tree of" in _refused(top)


def test_objects_of_another_store(top: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--shared", str(top), "shared")
    assert _reads(tmp_path / "shared/sites/lab")
    git(tmp_path, "clone", "-q", "--shared", "shared", "again")
    assert _reads(tmp_path / "again/sites/lab")
    git(top, "init", "-q", "--bare", "docs/bare")
    write(top, ".git/objects/info/alternates", f"{top}/docs/bare/objects\n")
    assert "where a commit can put anything" in _refused(top)


@pytest.mark.skipif(not ROOT, reason="only root gives files away")
def test_a_repository_of_another_user(
    top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SUDO_UID", raising=False)
    own = tmp_path / "own"
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(own))
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", "/dev/null")
    for path in (top, top / ".git"):
        os.chown(path, 12345, -1)
        own.write_text("")
        assert "belongs to another user" in _refused(top)
        # The repository cannot trust itself.
        with (top / ".git/config").open("a") as file:
            file.write("[safe]\n\tdirectory = *\n")
        assert "belongs to another user" in _refused(top)
        for trusted in (str(top), f"{tmp_path}/*", "*"):
            own.write_text(f"[safe]\n\tdirectory = /elsewhere\n\tdirectory = {trusted}\n")
            assert _reads(top / "sites/lab")
        own.write_text(f"[safe]\n\tdirectory = {top}\n\tdirectory =\n")
        assert "belongs to another user" in _refused(top)
        own.unlink()
        monkeypatch.setenv("SUDO_UID", "12345")
        assert _reads(top / "sites/lab")
        monkeypatch.delenv("SUDO_UID")


@pytest.mark.skipif(not ROOT, reason="only root gives files away")
def test_objects_of_another_user(top: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--shared", str(top), "shared")
    os.chown(top / ".git/objects", 12345, -1)
    assert "belongs to another user" in _refused(tmp_path / "shared")


def test_a_sparse_clone_and_a_divided_index(top: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(top), "clone")
    git(tmp_path / "clone", "sparse-checkout", "set", "--sparse-index", "docs")
    assert _reads(tmp_path / "clone/sites/lab") if (tmp_path / "clone/sites/lab").exists() else True
    with opened(tmp_path / "clone") as repository:
        assert trees.read(repository, "HEAD", "sites/lab/out") == {"a": b"first\n"}
        assert "sites" in run(repository, "ls-files", "--stage").line
    git(top, "config", "core.splitIndex", "true")
    git(top, "update-index", "--split-index")
    with opened(top) as repository:
        assert "sites/lab/out/a" in run(repository, "ls-files", "--stage").line


def test_packed_branches(top: Path) -> None:
    git(top, "branch", "other")
    git(top, "pack-refs", "--all")
    git(top, "gc", "-q")
    assert _reads(top / "sites/lab")
    with opened(top) as repository:
        assert trees.commit_of(repository, "other")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[core]\n\trepositoryformatversion = 2\n", "is not known"),
        ("[extensions]\n\tlater = true\n", "the extension later"),
        ("[core\n", "bad config line"),
    ],
)
def test_forms_that_are_not_known(top: Path, text: str, told: str) -> None:
    (top / ".git/config").write_text(text)
    assert told in _refused(top)


def test_a_repository_without_configuration_is_one_of_plain_form(top: Path) -> None:
    (top / ".git/config").unlink()
    assert _reads(top / "sites/lab")


def test_what_is_made_for_a_question_goes_away(top: Path) -> None:
    before = sorted(path.name for path in (top / ".git").rglob("*"))
    with opened(top) as repository:
        made = run(repository, "hash-object", "-w", "--stdin", data=b"new").line
        assert run(repository, "cat-file", "-t", made).line == "blob"
        door = repository.door
    assert not door.exists()
    assert sorted(path.name for path in (top / ".git").rglob("*")) == before


def test_names_of_our_folder_are_told_to_nobody(top: Path) -> None:
    write(top, ".git/refs/heads/other.lock", "")
    with opened(top, writes=True) as repository:
        told = run(repository, "update-ref", "refs/heads/other", "HEAD").error
        assert f"{top}/.git/refs/heads/other.lock" in told
        assert str(repository.door) not in told


def test_limits_of_an_answer(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(top) as repository:
        data = b"x" * 200_000
        made = run(repository, "hash-object", "-w", "--stdin", data=data).line
        with pytest.raises(CpuplanError, match="told more than 1,000 bytes"):
            run(repository, "cat-file", "blob", made, most=1000)
        assert run(repository, "cat-file", "blob", made).output == data
        # A program that waits.
        alias = {"GIT_CONFIG_GLOBAL": str(repository.door / "alias")}
        (repository.door / "alias").write_text("[alias]\n\twait = !sleep 3\n")
        with pytest.raises(CpuplanError, match="no answer in"):
            run(repository, "wait", limit=0.2, also=alias)


def test_a_folder_for_temporary_files_that_is_full(
    top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(**_: object) -> str:
        raise OSError(errno.ENOSPC, "No space left on device", "/tmp")

    monkeypatch.setattr("tempfile.mkdtemp", full)
    assert "No space left on device" in _refused(top)

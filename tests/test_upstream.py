"""What is told of a new release of a ported project, and the heads that it is told from."""

from pathlib import Path

import pytest

from tests.git_projects import commit, edit, git, write
from tests.upstream import ROOT, Head, UpstreamError, heads_of, main, read_heads

DIGITS = "0123456789abcdef0123456789abcdef01234567"
BODY = "".join(f"line {number}\n" for number in range(20))


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A project of two releases: a file is changed, one renamed, one gone, others are the same."""
    repo = tmp_path / "repo"
    for name in ("same", "changed", "moved", "gone", "unported"):
        write(repo, f"pkg/{name}.go", f"package {name}\n{BODY}")
    write(repo, "pkg/binary.go", "\0")
    git(repo, "init", "-q")
    commit(repo, "first")
    git(repo, "tag", "-m", "first", "v1")
    edit(repo, "pkg/changed.go", "line 7\n", "line seven\nline eight\n")
    edit(repo, "pkg/unported.go", "line 7\n", "line seven\n")
    (repo / "pkg/gone.go").unlink()
    (repo / "lib").mkdir()
    (repo / "pkg/moved.go").rename(repo / "lib/moved.go")
    edit(repo, "lib/moved.go", "line 3\n", "")
    write(repo, "pkg/new.go", "package new\n")
    write(repo, ":(new).go", "package pathspec\n")
    write(repo, "pkg/binary.go", "\0\0")
    commit(repo, "second")
    git(repo, "tag", "v2")
    return repo


def _ported(tmp_path: Path, repo: Path, *names: str, project: str = "someone/thing") -> Path:
    """Modules that port files of the first release."""
    first = git(repo, "rev-parse", "v1^{commit}").stdout.strip()
    root = tmp_path / "cpuplan/upstream"
    write(root, "__init__.py", '"""Ports."""\n')
    for name in names:
        head = f"Upstream: {project} pkg/{name}.go\n  @ {first}"
        write(root, f"thing/{name}.py", f'"""A port.\n\n{head}\n"""\n\nA = 1\n')
    return root


def _told(root: Path, repo: Path, *commits: str) -> int:
    return main(["someone/thing", *commits, "--repo", str(repo)], root)


def test_changed_renamed_and_gone_files_are_told_with_their_modules(
    tmp_path: Path, repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = _ported(tmp_path, repo, "same", "changed", "moved", "gone", "new", "never", "binary")
    first, second = git(repo, "rev-parse", "v1^{commit}", "v2").stdout.split()
    assert _told(root, repo, "v1", "v2") == 1
    assert capsys.readouterr().out == (
        f"someone/thing {first[:12]}..{second[:12]}: 6 of 7 ported files changed\n"
        "changed: pkg/binary.go\n    cpuplan.upstream.thing.binary\n"
        "changed: pkg/changed.go (+2 -1)\n    cpuplan.upstream.thing.changed\n"
        "gone: pkg/gone.go\n    cpuplan.upstream.thing.gone\n"
        "renamed: pkg/moved.go -> lib/moved.go (+0 -1)\n    cpuplan.upstream.thing.moved\n"
        "unknown: pkg/never.go\n    cpuplan.upstream.thing.never\n"
        "added: pkg/new.go\n    cpuplan.upstream.thing.new\n"
    )


def test_files_that_are_the_same_are_no_change(
    tmp_path: Path, repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = _ported(tmp_path, repo, "same")
    assert _told(root, repo, "v1", "v2") == 0
    assert capsys.readouterr().out.endswith("0 of 1 ported files changed\n")


def test_heads_of_another_commit_are_told(
    tmp_path: Path, repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = _ported(tmp_path, repo, "same")
    assert _told(root, repo, "v2", "v2") == 0
    told = capsys.readouterr().out
    assert "heads at another commit than" in told
    assert told.endswith("    cpuplan.upstream.thing.same\n")


def test_a_bare_clone_and_a_project_without_its_owner(tmp_path: Path, repo: Path) -> None:
    root = _ported(tmp_path, repo, "changed")
    git(tmp_path, "clone", "-q", "--bare", str(repo), "bare")
    assert main(["thing", "v1", "v2", "--repo", str(tmp_path / "bare")], root) == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("other/thing", "v1", "v2"), "no project that is ported: name one of someone/thing"),
        (("someone/thing", "v1", "v3"), "v3 is not a commit in the repository of"),
        (("someone/thing", "v1", "v3"), "fetch it: `git fetch origin`"),
        (("someone/thing", "--", "--output=x", "v2"), "--output=x is not a commit"),
    ],
)
def test_what_is_unknown_is_an_error_with_a_remedy(
    tmp_path: Path,
    repo: Path,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    told: str,
) -> None:
    root = _ported(tmp_path, repo, "same")
    assert main(["--repo", str(repo), *words], root) == 2
    assert told in capsys.readouterr().err


def test_a_folder_without_repository_is_an_error_with_a_remedy(
    tmp_path: Path, repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = _ported(tmp_path, repo, "same")
    (tmp_path / "empty").mkdir()
    assert _told(root, tmp_path / "empty", "v1", "v2") == 2
    assert "run the command in a clone of the repository" in capsys.readouterr().err


def test_a_name_of_two_projects_is_no_answer(
    tmp_path: Path, repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _ported(tmp_path, repo, "same", project="else/thing")
    root = _ported(tmp_path, repo, "changed")
    assert main(["thing", "v1", "v2", "--repo", str(repo)], root) == 2
    assert "name one of else/thing, someone/thing" in capsys.readouterr().err


def test_a_head_may_have_several_lines_and_files() -> None:
    source = (
        '"""A port.\n\n'
        f"Upstream: a/b x.go\n    y/z.go\n    @ {DIGITS}\n"
        f"Upstream: c/d w.c @ {DIGITS}\n"
        '"""\nA = 1\n'
    )
    files = [("a/b", "x.go"), ("a/b", "y/z.go"), ("c/d", "w.c")]
    assert heads_of("m", source) == [Head("m", *file, DIGITS) for file in files]


@pytest.mark.parametrize(
    "docstring",
    [
        "A port.",
        f"Upstream: b x.go @ {DIGITS}",
        "Upstream: a/b x.go @ v1.2.3",
        f"Upstream: a/b @ {DIGITS}",
        f"Upstream: a/b x.go {DIGITS}",
        f"Upstream: a/b x.go @ {DIGITS}\n\nMore of the module.",
    ],
)
def test_other_heads_are_refused(docstring: str) -> None:
    with pytest.raises(UpstreamError, match="Upstream: owner/project path @ commit"):
        heads_of("m", f'"""{docstring}"""\nA = 1\n')


def test_a_package_of_which_nothing_is_said_but_what_it_is_needs_no_head() -> None:
    assert heads_of("m", '"""The ports of a project."""\n') == []


def test_every_module_of_a_port_has_its_head() -> None:
    projects = {head.project for head in read_heads(ROOT)}
    assert {"kubernetes/kubernetes", "cri-o/cri-o", "containers/nri-plugins"} <= projects

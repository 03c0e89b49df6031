"""Each command in each hostile repository: no program of the repository's author runs."""

import io
import shutil
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from tests import hostile_git
from tests.git_projects import branch, commit, cpuplan, edit, git, repository, write
from tests.projects import run_in
from tests.sampled import sampled

INTENT = "intents/core.yaml"
CMDLINE = "out/nodes/lab/core-core-hw/cmdline"
#: The commands that ask Git, or read where a repository may lie.
COMMANDS = (
    "validate",
    "validate --against main",
    "validate --against main~1",
    "compile --check",
    "compile",
    "compile --force",
    "plan",
    "plan --against main",
    "merge-check main",
    "merge-check",
    "provenance",
    "verify-output",
    "verify-output --ref HEAD",
    "fmt --check",
    "publish --branch deploy",
    "publish --branch deploy --allow-dirty",
    "publish --branch deploy --push x --allow-dirty",
    "publish --branch deploy --push ext::{spy} --allow-dirty",
)


@pytest.fixture(autouse=True)
def _no_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", "/dev/null")
    for who in ("AUTHOR", "COMMITTER"):
        for what in ("NAME", "EMAIL"):
            monkeypatch.setenv(f"GIT_{who}_{what}", "test")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository in whose folder `clusters` is a project, with two branches that differ."""
    top = tmp_path_factory.mktemp("hostile") / "top"
    project = repository(_made(top) / "clusters")
    shutil.rmtree(project / ".git")
    git(top, "init", "-q")
    commit(top, "base")
    edit(project, INTENT, "kind: Intent", "kind: Intent # of the packet core")
    assert cpuplan(project, "compile") == 0
    commit(top, "a comment")
    branch(project, "change", lambda place: edit(place, INTENT, "cores: 2", "cores: 3"))
    return top


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


@pytest.fixture
def top(base: Path, tmp_path: Path) -> Path:
    hostile_git.make_spy(tmp_path)
    return Path(shutil.copytree(base, tmp_path / "top", symlinks=True))


def _run(folder: Path, *words: str) -> tuple[int, str]:
    told = io.StringIO()
    with redirect_stderr(told), redirect_stdout(told):
        code = cpuplan(folder, *words)
    return code, told.getvalue()


def _run_all(top: Path, place: Path) -> dict[str, tuple[int, str]]:
    """Each command, in the project's folder or from above: exit codes and what was told."""
    outcomes = {}
    edited = top / "clusters" / CMDLINE
    text = edited.read_text()
    for index, command in enumerate(COMMANDS):
        words = command.format(spy=place / "spy").split()
        is_asked = words[0] in ("validate", "compile")
        edited.write_text("edited: Git is asked whether it has that\n" if is_asked else text)
        folder, start = (top, ["-C", "clusters"]) if index % 2 else (top / "clusters", [])
        code, told = _run(folder, *start, *words)
        assert not (place / "canary").exists(), (command, told)
        assert code != 70, (command, told)
        outcomes[command] = code, told
    return outcomes


def _cloned(top: Path, place: Path) -> Path:
    """What a job checks out of a merge request."""
    commit(top, "hostile")
    git(place, "clone", "-q", "--no-local", str(top), "ci")
    git(place / "ci", "branch", "-q", "main", "origin/main")
    return place / "ci"


@pytest.mark.parametrize("name", sampled(hostile_git.NESTED, 3))
def test_a_repository_inside_the_project_is_an_error(top: Path, tmp_path: Path, name: str) -> None:
    hostile_git.NESTED[name](top / "clusters", tmp_path)
    can_commit = not any(part in name for part in ("dot-git", "gitfile", "letters"))
    place = _cloned(top, tmp_path) if can_commit else top
    outcomes = _run_all(place, tmp_path)
    for command, (code, told) in outcomes.items():
        # What is merged are commits, which have no work tree's `.git`.
        if can_commit or not command.startswith("merge-check"):
            assert "[CP1110]" in told, (command, told)
            assert code in (1, 2), (command, told)
    shutil.rmtree(place / "clusters/out")
    told = _run(place / "clusters", "validate")[1]
    assert ("[CP1110]" in told) is ("out" not in name)


@pytest.mark.parametrize("name", sampled(hostile_git.OWN))
def test_the_projects_own_repository_is_data(top: Path, tmp_path: Path, name: str) -> None:
    commit(top, "all")
    hostile_git.OWN[name](top / "clusters" if name == "beside" else top, tmp_path)
    outcomes = _run_all(top, tmp_path)
    codes = {command: code for command, (code, _) in outcomes.items()}
    assert codes["validate --against main"] == 0, outcomes
    assert codes["plan --against main"] == 0
    assert codes["compile --force"] == 0
    assert codes["merge-check main"] == 0, outcomes["merge-check main"]
    assert "[CP696]" in outcomes["publish --branch deploy --push x --allow-dirty"][1]
    assert _run(top / "clusters", "compile", "--force")[0] == 0
    assert _run(top / "clusters", "publish", "--branch", "live", "--allow-dirty")[0] == 0
    assert not (tmp_path / "canary").exists()


@pytest.mark.parametrize("kind", sampled(["blob", "tree"], 1))
def test_what_is_missing_is_fetched_by_no_program(top: Path, tmp_path: Path, kind: str) -> None:
    path = f"clusters/{INTENT}" if kind == "blob" else "clusters/intents"
    name = git(top, "rev-parse", f"main:{path}").stdout.strip()
    (top / ".git/objects" / name[:2] / name[2:]).unlink()
    hostile_git.poison(top / ".git", tmp_path, "own")
    outcomes = _run_all(top, tmp_path)
    for command in ("validate --against main", "merge-check main"):
        assert "the object" in outcomes[command][1] or "missing" in outcomes[command][1]


def test_a_merge_runs_no_driver(top: Path, tmp_path: Path) -> None:
    project = top / "clusters"
    git(top, "checkout", "-q", "main")
    write(project, "intents/.gitattributes", "* merge=x\n")
    edit(project, INTENT, "cores: 2", "cores: 4")
    assert _run(project, "compile")[0] == 0
    commit(top, "theirs")
    hostile_git.poison(top / ".git", tmp_path, "own")
    code, told = _run(project, "merge-check", "change")
    assert (code, "both sides change it" in told) == (1, True), told
    assert not (tmp_path / "canary").exists()


def test_attributes_of_a_commit_hide_no_conflict(top: Path) -> None:
    """With `merge=union` Git would take both lines, and the gate would not see that they clash."""
    project = top / "clusters"
    git(top, "checkout", "-q", "main")
    write(project, "intents/.gitattributes", "*.yaml merge=union\n")
    edit(project, INTENT, "cores: 2", "cores: 4")
    assert _run(project, "compile")[0] == 0
    commit(top, "theirs")
    assert "both sides change it" in _run(project, "merge-check", "change")[1]


@pytest.mark.parametrize("kind", ["replace", "graft"])
def test_history_is_what_commits_say(top: Path, kind: str) -> None:
    """A replaced commit would make the change of a branch disappear."""
    change = git(top, "rev-parse", "change").stdout.strip()
    main = git(top, "rev-parse", "main").stdout.strip()
    before = _run(top / "clusters", "plan", "--against", "main")
    assert "core-core-hw" in before[1]
    if kind == "replace":
        git(top, "update-ref", f"refs/replace/{main}", change)
    else:
        write(top, ".git/info/grafts", f"{change}\n")
    assert _run(top / "clusters", "plan", "--against", "main") == before
    assert _run(top / "clusters", "merge-check", "main")[0] == 0


def test_a_tag_hides_no_branch(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    git(top, "tag", "main", "change")
    code, _, told = run_in(top / "clusters", ["plan", "--against", "main"], capsys)
    assert (code, "[CP6111]" in told) == (2, True)
    assert "refs/tags/main" in told
    code, _, told = run_in(top / "clusters", ["plan"], capsys)
    assert code == 0
    git(top, "tag", "--delete", "main")
    assert run_in(top / "clusters", ["plan"], capsys)[2] == told


def test_a_remote_in_the_work_tree_is_not_pushed_to(top: Path, tmp_path: Path) -> None:
    git(top, "init", "-q", "--bare", "docs/target")
    for name in hostile_git.HOOKS:
        shutil.copy(tmp_path / "spy", top / "docs/target/hooks" / name)
    git(top, "remote", "add", "origin", "docs/target")
    commit(top, "all")
    words = ("publish", "--branch", "deploy", "--allow-dirty", "--push")
    for remote in ("origin", "docs/target", f"file://{top}/docs/target"):
        code, told = _run(top / "clusters", *words, remote)
        assert (code, "[CP696]" in told) == (2, True), told
        assert "is in the work tree" in told
    assert not (tmp_path / "canary").exists()
    assert "deploy" not in git(top, "for-each-ref").stdout

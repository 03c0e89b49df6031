"""`cpuplan merge-check` and `validate --against`, in the repository of a team."""

import shutil
from pathlib import Path

import pytest

from tests.git_projects import branch, commit, edit, git, repository, write
from tests.projects import run_in

Capture = pytest.CaptureFixture[str]
CORE = "intents/core.yaml"


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with some branches."""
    project = repository(tmp_path_factory.mktemp("team") / "project")
    for name, old, new in (
        ("three", "reserved: {cores: 2}", "reserved: {cores: 3}"),
        ("four", "reserved: {cores: 2}", "reserved: {cores: 4}"),
        ("comment", "kind: Intent", "kind: Intent # of the packet core"),
    ):
        branch(project, name, lambda place, old=old, new=new: edit(place, CORE, old, new))  # type: ignore[misc]
    branch(
        project,
        "hft",
        lambda place: edit(
            place, "intents/hft.yaml", "reserved: {cores: 2}", "reserved: {cores: 3}"
        ),
    )
    return project


@pytest.fixture
def project(team: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(team, tmp_path / "project", symlinks=True))


def _check(project: Path, capture: Capture, ours: str, *words: str) -> tuple[int, str]:
    git(project, "checkout", "-q", ours)
    before = git(project, "for-each-ref").stdout, git(project, "status", "--porcelain").stdout
    code, _, told = run_in(project, ["merge-check", *words], capture)
    after = git(project, "for-each-ref").stdout, git(project, "status", "--porcelain").stdout
    assert before == after
    return code, told


@pytest.mark.parametrize(
    ("ours", "theirs"), [("three", "hft"), ("hft", "three"), ("three", "comment")]
)
def test_branches_that_merge(team: Path, capsys: Capture, ours: str, theirs: str) -> None:
    code, told = _check(team, capsys, ours, theirs)
    size = "12 nodes in 4 classes, each with a layout that a side has"
    assert (code, told) == (0, f"merging {theirs} gives a valid project: {size}\n")


def test_the_main_branch_is_merged_by_default(team: Path, capsys: Capture) -> None:
    code, told = _check(team, capsys, "three")
    assert code == 0
    assert told.startswith("merging main gives a valid project")


def test_two_branches_that_move_the_same_cpus(team: Path, capsys: Capture) -> None:
    code, told = _check(team, capsys, "three", "four")
    assert code == 1
    assert "intents/core.yaml: both sides change it" in told
    assert (
        "class core-core-hw of cluster lab: HEAD moves CPUs 2,18 from isolated to reserved" in told
    )
    assert "and four moves CPUs 2-3,18-19 from isolated to reserved; both move CPUs 2,18" in told


def test_layouts_that_git_merges_and_the_inputs_do_not_fit(project: Path, capsys: Capture) -> None:
    """Each side changes another line of one intent: Git finds no conflict, and unites the lock."""
    git(project, "checkout", "-q", "main")
    text = (project / CORE).read_text()
    (project / CORE).write_text(text.replace("  pools:\n", "  pools:\n\n\n\n    # below\n\n\n\n"))
    text = (project / CORE).read_text()
    (project / CORE).write_text(
        text.replace("    shared:", "\n\n\n    # shared\n\n\n\n    shared:")
    )
    commit(project, "room")
    branch(
        project,
        "a",
        lambda place: edit(place, CORE, "reserved: {cores: 2}", "reserved: {cores: 3}"),
    )
    branch(
        project, "b", lambda place: edit(place, CORE, "shared: {cores: 1}", "shared: {cores: 2}")
    )
    code, told = _check(project, capsys, "a", "b")
    assert code == 1
    assert "both sides change it" not in told
    assert "class core-core-hw of cluster lab: HEAD moves" in told
    assert "[CP698]" in told


def test_a_merge_that_is_no_valid_project(project: Path, capsys: Capture) -> None:
    def node(place: Path) -> None:
        path = place / "inventories/hft-nodes.yaml"
        path.write_text(path.read_text() + "  - name: hft-9\n    labels: {also: extra}\n")

    def intent(place: Path) -> None:
        text = (place / "intents/hft.yaml").read_text()
        text = text.replace("{name: hft}", "{name: also}").replace("{role: hft}", "{also: extra}")
        write(place, "intents/also.yaml", text)

    branch(project, "one-node", node)
    branch(project, "one-intent", intent)
    code, told = _check(project, capsys, "one-node", "one-intent")
    assert code == 1
    assert "[CP220]" in told


def test_a_project_in_a_folder_of_its_repository(
    team: Path, tmp_path: Path, capsys: Capture
) -> None:
    top = tmp_path / "top"
    place = top / "sites/lab"
    git(team, "checkout", "-q", "main")
    shutil.copytree(team, place, ignore=shutil.ignore_patterns(".git"))
    git(top, "init", "-q")
    commit(top, "sites")
    for name, cores in (("a", 3), ("b", 4)):
        git(top, "checkout", "-q", "-B", name, "main")
        shutil.copy(team / CORE, place / CORE)
        edit(place, CORE, "reserved: {cores: 2}", f"reserved: {{cores: {cores}}}")
        assert run_in(place, ["compile"], capsys)[0] == 0
        commit(top, name)
    code, _, told = run_in(place, ["merge-check", "a"], capsys)
    assert code == 1
    assert "intents/core.yaml: both sides change it" in told
    assert "both move CPUs 2,18" in told
    assert run_in(place, ["validate", "--against", "a"], capsys)[0] == 0


def test_what_cannot_be_merged(project: Path, capsys: Capture) -> None:
    assert "[CP689]" in _check(project, capsys, "main", "nothing")[1]
    git(project, "checkout", "-q", "--orphan", "alone")
    commit(project, "another root")
    assert "[CP690]" in _check(project, capsys, "main", "alone")[1]


def _against(project: Path, capture: Capture, *words: str) -> tuple[int, str]:
    code, _, told = run_in(project, ["validate", "--against", "main", *words], capture)
    return code, told


def test_only_new_findings_are_reported(project: Path, capsys: Capture) -> None:
    git(project, "checkout", "-q", "main")
    edit(project, CORE, "shared: {cores: 1}", "shard: {cores: 1}")
    commit(project, "an old mistake")
    edit(project, CORE, "kind: Intent", "# one\n# two\nkind: Intent")
    code, told = _against(project, capsys)
    assert code == 0
    assert "[CP" not in told
    assert "not reported: main has" in told
    edit(project, "intents/hft.yaml", "shared: {cores: 1}", "shred: {cores: 1}")
    code, told = _against(project, capsys)
    assert code == 1
    assert "shred" in told
    assert "shard" not in told
    assert run_in(project, ["validate"], capsys)[0] == 1


def test_against_a_valid_commit_and_a_wrong_one(project: Path, capsys: Capture) -> None:
    git(project, "checkout", "-q", "main")
    assert _against(project, capsys) == (
        0,
        "nothing new is wrong, compared with main: 12 nodes in 4 classes\n",
    )
    git(project, "rm", "-rq", "intents", "inventories")
    commit(project, "nothing is left")
    git(project, "checkout", "-q", "three")
    assert _against(project, capsys)[0] == 0
    code, _, told = run_in(project, ["validate", "--against", "none"], capsys)
    assert code != 0
    assert "[CP689]" in told
    assert run_in(project, ["validate", "--against", "main", CORE], capsys)[0] == 2


def test_a_paused_intent_is_judged_with_its_files(project: Path, capsys: Capture) -> None:
    git(project, "checkout", "-q", "main")
    edit(project, CORE, "spec:\n", "spec:\n  paused: true\n")
    assert run_in(project, ["compile"], capsys)[0] == 0
    commit(project, "paused")
    assert _against(project, capsys)[0] == 0
    (project / "out/nodes/lab/core-core-hw/cmdline").write_text("edited\n")
    code, told = _against(project, capsys)
    assert code == 1
    assert "[CP565]" in told

"""`cpuplan plan`: exit codes, options, and what is printed where."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.projects import make_project, run_in
from tests.unit.change.impact import by_cost

Plan = Callable[..., tuple[int, str, str]]
INTENT = "intents/main.yaml"


@pytest.fixture
def project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Path]:
    """The base project, compiled; rules are those of costs."""
    folder = make_project(tmp_path / "project")
    assert run_in(folder, ["compile"], capsys)[0] == 0
    with patch("cpuplan.change.impact.rules.steps", by_cost.steps):
        yield folder


@pytest.fixture
def plan(project: Path, capsys: pytest.CaptureFixture[str]) -> Plan:
    """Runs the command in the project, against its `out/`."""

    def run(*words: str) -> tuple[int, str, str]:
        return run_in(project, ["plan", "--against-folder", "out", *words], capsys)

    return run


def edit(project: Path, old: str, new: str) -> None:
    text = (project / INTENT).read_text()
    assert old in text
    (project / INTENT).write_text(text.replace(old, new))


def add_argument(project: Path) -> None:
    edit(project, "  pools:", "  kernel: {extraArguments: [quiet]}\n  pools:")


def test_nothing_changes(plan: Plan) -> None:
    assert plan("--exit-code", "--max-impact", "none") == (
        0,
        "No changes: out/ would be the same as in out.\n",
        "",
    )


def test_nothing_is_written(project: Path, plan: Plan) -> None:
    add_argument(project)
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    assert plan()[0] == 0
    assert before == {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), 0),
        (("--exit-code",), 3),
        (("--max-impact", "reboot"), 0),
        (("--max-impact", "reboot", "--exit-code"), 3),
        (("--max-impact", "drain"), 4),
        (("--max-impact", "none", "--exit-code"), 4),
    ],
)
def test_exit_codes(project: Path, plan: Plan, words: tuple[str, ...], code: int) -> None:
    add_argument(project)
    exit_code, printed, _ = plan(*words)
    assert exit_code == code
    assert printed.endswith("Plan against out: 1 cluster, 2 nodes: 2 reboot.\n")


def test_errors_of_the_project_are_reported(project: Path, plan: Plan) -> None:
    edit(project, "cores: 1", "cores: 99")
    code, printed, error = plan("--exit-code")
    assert (code, printed) == (1, "")
    assert "error[CP4" in error


def test_a_missing_file_of_pods_is_said_before_anything_is_compiled(plan: Plan) -> None:
    with patch("cpuplan.pipeline.load") as load:
        code, _, err = plan("--pods", "no.yaml")
    assert code == 2
    assert "'no.yaml' does not exist" in err
    assert "must be the first name" not in err
    assert not load.called


def test_a_comment_changes_no_node_and_no_file(project: Path, plan: Plan) -> None:
    edit(project, "spec:", "# a comment\nspec:")
    assert plan("--exit-code")[0] == 0


def test_other_reasons_are_other_files_and_change_no_node(project: Path, plan: Plan) -> None:
    edit(project, "isolated: rest", "isolated: rest\n  objective: [fewest-moved]")
    code, printed, _ = plan("--exit-code", "--max-impact", "none")
    assert code == 3
    assert printed == "No changes but in reasons and digests, against out: 1 file of out/.\n"
    assert plan("--format", "markdown")[1].startswith("## cpuplan: no changes but in reasons")


def test_an_empty_folder_makes_every_node_new(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    words = ["plan", "--against-folder", str(tmp_path / "empty"), "--format", "json"]
    code, printed, _ = run_in(project, words, capsys)
    assert code == 0
    assert json.loads(printed)["summary"]["nodesByFate"]["new"] == 2


def test_narrowing_leaves_out_nodes_but_not_the_verdict(project: Path, plan: Plan) -> None:
    add_argument(project)
    code, printed, error = plan("--node", "worker-0", "--max-impact", "drain")
    assert code == 4
    assert "  nodes: worker-0\n" in printed
    assert "note: 1 node more, excluded by --cluster or --node\n" in error
    assert "the impact on 2 nodes is reboot" in error


def test_narrowing_to_nodes_without_changes(project: Path, plan: Plan) -> None:
    edit(project, "matchLabels: {role: worker}", "nodes: [worker-0]")
    code, printed, _ = plan("--node", "worker-0", "--exit-code")
    assert (code, printed) == (3, "No changes of these nodes, compared with out.\n")


def test_the_result_goes_to_a_file(project: Path, plan: Plan) -> None:
    add_argument(project)
    assert plan("--format", "markdown", "-o", "plan.md")[:2] == (0, "")
    assert (project / "plan.md").read_text().startswith("## cpuplan: 2 nodes: 2 reboot\n")


def test_verbose_tells_each_class_with_whole_values(project: Path, plan: Plan) -> None:
    add_argument(project)
    assert "nrt " not in plan()[1]
    edit(project, "cores: 1", "cores: 2")
    assert "nrt zones" in plan("-v")[1]


@pytest.mark.parametrize(
    "words",
    [
        ("--against", "HEAD"),
        ("--max-unavailable", "0"),
        ("--max-unavailable", "half"),
        ("--minutes-per-reboot", "0"),
        ("--max-impact", "nothing"),
        ("--format", "html"),
    ],
)
def test_wrong_usage(plan: Plan, words: tuple[str, ...]) -> None:
    code, printed, error = plan(*words)
    assert (code, printed) == (2, "")
    assert "CP292" in error


def test_rounds_and_their_time(project: Path, plan: Plan) -> None:
    add_argument(project)
    line = "  lab, intent main: 2 nodes (reboot), 1 at a time: 2 rounds, 1 h 30 min\n"
    assert line in plan("--minutes-per-reboot", "45")[1]

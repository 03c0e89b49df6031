"""Commands as an ordinary user, where something may not be read.

It is always said, never a bug, and never a yes.
"""

import os
from pathlib import Path

import pytest

from tests.projects import make_project, run_in
from tests.unprivileged import unprivileged

POD = "kind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c}]}\n"
COMMANDS = (["validate"], ["compile"], ["compile", "--check"])
READING = (["fmt", "--check"], ["show", "worker-0"], ["simulate", "worker-0", "pod.yaml"])
INPUTS = (
    "intents",
    "inventories",
    "inventories/sub",
    "intents/main.yaml",
    "intents/plan.lock.yaml",
    ".",
)
OUTPUTS = ("out", "out/.cpuplan", "out/.cpuplan/classes", "out/.cpuplan/manifest", "out/nodes")


@pytest.fixture
def project(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Path:
    made = make_project(tmp_path / "project")
    (made / "inventories/sub").mkdir()
    (made / "pod.yaml").write_text(POD)
    # each once, for Python's own files may be root's too
    for words in (["compile"], *COMMANDS, *READING):
        assert run_in(made, words, capfd)[0] in (0, 3), words
    if os.geteuid() == 0:
        for path in (made, *made.rglob("*")):
            os.chown(path, 65534, 65534)
    return made


@pytest.mark.parametrize("path", [*INPUTS, *OUTPUTS])
def test_what_may_not_be_read_is_said(
    project: Path, path: str, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    place = project / path
    if not os.path.lexists(place):
        pytest.skip("nothing is written there")
    commands = (
        [*COMMANDS, *READING] if path in INPUTS and path != "intents/plan.lock.yaml" else COMMANDS
    )
    for words in commands:
        place.chmod(0o000)
        with unprivileged(tmp_path):
            if path == ".":
                code, _, said = run_in(tmp_path, ["-C", "project", *words], capfd)
            else:
                code, _, said = run_in(project, words, capfd)
        place.chmod(0o755)
        if words == ["validate"] and path in ("out", "out/.cpuplan", *OUTPUTS) and code == 0:
            continue  # it says nothing of out/
        assert code in (1, 2), (words, said)
        assert "Permission denied" in said, words


@pytest.mark.parametrize("target", ["x" * 300, "classes", "/etc", "nowhere"])
def test_classes_behind_a_link(
    project: Path, target: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """A link whose target is too long for a name, where the classes of `out/` are looked for.

    Found by fuzzing.
    """
    classes = project / "out/.cpuplan/classes"
    classes.rename(project / "before")
    classes.symlink_to(target)
    for words in COMMANDS:
        code, _, said = run_in(project, words, capfd)
        assert code in (1, 2, 3), (words, said)


@pytest.mark.parametrize("words", COMMANDS)
def test_a_lock_that_is_a_folder(
    project: Path, words: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    lock = project / "intents/plan.lock.yaml"
    lock.unlink()
    lock.mkdir()
    code, _, error = run_in(project, words, capfd)
    assert (code, "error[CP111]: intents/plan.lock.yaml" in error) == (1, True)


@pytest.mark.parametrize("words", [*COMMANDS, ["publish", "--branch", "live"], ["provenance"]])
def test_a_stage_that_came_with_the_repository(
    project: Path, words: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    stage = project / ".out.cpuplan-stage"
    stage.mkdir()
    (stage / "journal").write_text("[]")
    code, _, error = run_in(project, words, capfd)
    assert code in (1, 2, 3)
    assert words[0] == "publish" or "error[CP602]" in error
    assert (stage / "journal").read_text() == "[]"


@pytest.mark.parametrize("words", [["simulate"], ["show"], ["explain"], ["check", "--root"]])
def test_a_name_that_is_too_long(
    project: Path, words: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    code, _, error = run_in(project, [*words, "x" * 5000], capfd)
    assert code in (1, 2)
    assert "CP901" not in error


def test_a_lock_that_leads_to_a_name_that_is_too_long(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lock = project / "intents/plan.lock.yaml"
    lock.unlink()
    lock.symlink_to("x" * 300)
    code, _, error = run_in(project, ["validate"], capfd)
    assert (code, "CP901" in error) == (1, False)

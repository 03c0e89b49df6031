"""Records of values: what moves lines is not judged again, and what changes a value is."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cpuplan.base.files.cache import Sealed
from cpuplan.diagnostics.source import Position
from cpuplan.language.read import files
from cpuplan.write import record
from tests.git_projects import edit
from tests.projects import make_project, run_in

Capture = pytest.CaptureFixture[str]
INTENT = "intents/main.yaml"


@pytest.fixture
def project(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A compiled project with a warning."""
    monkeypatch.delenv("CPUPLAN_NO_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = make_project(tmp_path / "project")
    edit(made, INTENT, "matchLabels: {role: worker}", "nodes: [worker-0]")
    assert "CP221" in run_in(made, ["compile"], capsys)[2]
    return made


def _rewrite(project: Path) -> None:
    """Other lines and quotes, the same values."""
    text = (project / INTENT).read_text()
    text = text.replace("nodes: [worker-0]", '# one of them\n    nodes:\n    - "worker-0"')
    (project / INTENT).write_text(f"# more\n\n{text}")


@pytest.mark.parametrize("command", ["compile", "validate"])
def test_a_comment_moves_findings_only(project: Path, capsys: Capture, command: str) -> None:
    before = {path: path.read_bytes() for path in (project / "out").rglob("*") if path.is_file()}
    _rewrite(project)
    code, out, said = run_in(project, [command], capsys)
    assert code == 0
    assert "nothing has changed" in said or "out/ was compiled from them" in said
    # exactly what is said where nothing is remembered
    fresh = run_in(project, ["validate", "--no-cache"], capsys)
    assert said.splitlines()[:-1] == fresh[2].splitlines()[:-1]
    assert out == fresh[1]
    assert {path: path.read_bytes() for path in before} == before
    # and the next time by the bytes of the inputs
    assert record.find(files.read_inputs(project))


def test_no_cache_takes_no_record(project: Path, capsys: Capture) -> None:
    assert "nothing has changed" in run_in(project, ["compile"], capsys)[2]
    assert "nothing has changed" not in run_in(project, ["compile", "--no-cache"], capsys)[2]


def test_a_value_that_changes_is_judged(project: Path, capsys: Capture) -> None:
    _rewrite(project)
    edit(project, INTENT, "cores: 1", "cores: 2")
    assert "nothing has changed" not in run_in(project, ["compile"], capsys)[2]


@pytest.mark.parametrize(
    ("old", "new"), [("name: main", 'name: "main"'), ("cores: 1", "cores: 0x1")]
)
def test_other_words_are_other_values(project: Path, old: str, new: str) -> None:
    texts = files.read_inputs(project)
    same = record._digest_of_values(texts, record._sources(texts))
    edit(project, INTENT, old, new)
    now = files.read_inputs(project)
    sources = record._sources(now)
    # a text in quotes is the same text; what is refused has no values
    assert (record._digest_of_values(now, sources) == same) if '"' in new else not sources


def test_another_lock_or_file_is_another_project(project: Path, capsys: Capture) -> None:
    (project / INTENT).rename(project / "intents/other.yaml")
    assert "nothing has changed" not in run_in(project, ["compile"], capsys)[2]
    _rewrite_lock(project)
    assert record.unchanged(files.read_inputs(project), project / "out") is None


def _rewrite_lock(project: Path) -> None:
    lock = project / "intents/plan.lock.yaml"
    lock.write_text(lock.read_text() + "# edited\n")


def test_what_was_written_by_hand_is_seen(project: Path, capsys: Capture) -> None:
    _rewrite(project)
    path = next(path for path in (project / "out").rglob("*.json"))
    path.write_bytes(path.read_bytes() + b" ")
    assert "nothing has changed" not in run_in(project, ["compile"], capsys)[2]


@pytest.mark.parametrize("text", ["", "{}", "[" * 100_000, '{"places": [[[9, [], 1, 1], []]]}'])
def test_a_damaged_record_says_nothing(project: Path, capsys: Capture, text: str) -> None:
    _rewrite(project)
    for path in (project.parent / "cache/cpuplan").glob("*.json"):
        path.write_text(text)
    code, _, said = run_in(project, ["compile"], capsys)
    assert (code, "nothing has changed" in said) == (0, False)


def _rewrite_records(project: Path, change: Callable[[Any], None]) -> None:
    """Change what records say, with the digests of who has the key."""
    folder = project.parent / "cache/cpuplan"
    for path in folder.glob("*.json"):
        data = json.loads(path.read_bytes().partition(b"\n")[2])
        change(data)
        assert Sealed(folder).write([path.name], json.dumps(data).encode())


def _of_no_document(kept: Any) -> None:
    for place, _ in kept[1]:
        place[0] = 7


def _without_places(kept: Any) -> None:
    kept[1] = []


def _of_no_value(kept: Any) -> None:
    for place, _ in kept[1]:
        place[1] = ["spec", 1, True]


def _as_note(kept: Any) -> None:
    for finding in kept[0][0]:
        finding[6] = "note"


def _of_no_code(kept: Any) -> None:
    kept[0][0][0][0] = "CP000"


def _error(kept: Any) -> None:
    kept[0][0][0][0], kept[0][0][0][6] = "CP401", "error"


def _before_its_file(kept: Any) -> None:
    kept[0][0][0][3][1] = -1


def _of_fewer_than_no_nodes(kept: Any) -> None:
    kept[0][2] = -1


def _with_more(kept: Any) -> None:
    kept[0].append(0)


@pytest.mark.parametrize(
    "change",
    [
        _of_no_document,
        _without_places,
        _of_no_value,
        _as_note,
        _of_no_code,
        _error,
        _before_its_file,
        _of_fewer_than_no_nodes,
        _with_more,
    ],
)
def test_what_no_record_can_say(
    project: Path, capsys: Capture, change: Callable[[Any], None]
) -> None:
    _rewrite(project)
    _rewrite_records(project, change)
    code, _, said = run_in(project, ["compile"], capsys)
    assert (code, "nothing has changed" in said) == (0, False)


@pytest.mark.parametrize("word", ["worker-1", "error", "CP221"])
def test_a_record_that_somebody_edited_says_nothing(
    project: Path, capsys: Capture, word: str
) -> None:
    for path in (project.parent / "cache/cpuplan").glob("*.json"):
        path.write_text(path.read_text().replace(word, "x" * len(word)))
    said = run_in(project, ["compile"], capsys)[2]
    assert ("nothing has changed" in said) == (word == "error")  # of which there is none


def test_a_record_of_other_inputs_says_nothing(project: Path, capsys: Capture) -> None:
    """A project with an error, and the record of another one in its place."""
    folder = project.parent / "cache/cpuplan"
    known = next(folder.glob("*.json")).read_bytes()
    edit(project, INTENT, "cores: 1", "cores: 400")
    texts = files.read_inputs(project)
    for digest in (texts.digest(), record._digest_of_values(texts, record._sources(texts))):
        path = record._place(digest)
        assert path
        path.write_bytes(known)
        path.chmod(0o600)
    assert run_in(project, ["validate"], capsys)[0] == 1


def test_manifests_of_pods_are_not_all_in_the_values(project: Path) -> None:
    texts = files.read_inputs(project)
    assert record._sources(texts)
    with_pods = texts._replace(texts={**texts.texts, "pods/one.yaml": b"kind: Pod\n"})
    assert not record._sources(with_pods)


def test_a_part_of_a_text_has_no_place(project: Path, capsys: Capture) -> None:
    texts = files.read_inputs(project)
    sources, known = record._sources(texts), record.find(texts)
    assert known
    (finding,) = known.diagnostics
    assert record.name_places([finding], sources)
    inside = finding._replace(position=Position(INTENT, 1, 3, 4))
    assert record.name_places([inside], sources) is None
    assert record.name_places([finding._replace(position=None)], sources) == [(None, ())]

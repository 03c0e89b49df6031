"""Records of values: what moves lines is not judged again, and what changes a value is."""

from pathlib import Path

import pytest

from cpuplan.read import inputs
from cpuplan.source import Position
from cpuplan.write import places, record
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
    assert record.find(inputs.read(project))


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
    texts = inputs.read(project)
    same = record._digest_of_values(texts, record._sources(texts))
    edit(project, INTENT, old, new)
    now = inputs.read(project)
    sources = record._sources(now)
    # a text in quotes is the same text; what is refused has no values
    assert (record._digest_of_values(now, sources) == same) if '"' in new else not sources


def test_another_lock_or_file_is_another_project(project: Path, capsys: Capture) -> None:
    (project / INTENT).rename(project / "intents/other.yaml")
    assert "nothing has changed" not in run_in(project, ["compile"], capsys)[2]
    _rewrite_lock(project)
    assert record.unchanged(inputs.read(project), project / "out") is None


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


def test_places_that_are_gone_say_nothing(project: Path, capsys: Capture) -> None:
    _rewrite(project)
    for path in (project.parent / "cache/cpuplan").glob("*.json"):
        path.write_text(path.read_text().replace('"places": [[[', '"places": [[[7'))
    code, _, said = run_in(project, ["compile"], capsys)
    assert (code, "nothing has changed" in said) == (0, False)


def test_manifests_of_pods_are_not_all_in_the_values(project: Path) -> None:
    texts = inputs.read(project)
    assert record._sources(texts)
    with_pods = texts._replace(texts={**texts.texts, "pods/one.yaml": b"kind: Pod\n"})
    assert not record._sources(with_pods)


def test_a_part_of_a_text_has_no_place(project: Path, capsys: Capture) -> None:
    texts = inputs.read(project)
    sources, known = record._sources(texts), record.find(texts)
    assert known
    (finding,) = known.diagnostics
    assert places.named([finding], sources)
    inside = finding._replace(position=Position(INTENT, 1, 3, 4))
    assert places.named([inside], sources) is None
    assert places.named([finding._replace(position=None)], sources) == [(None, ())]

"""Answers that are repeated: the same to the byte, and only while nothing has changed."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cpuplan import pipeline
from cpuplan.base.files.cache import Sealed
from cpuplan.cli import recorded
from cpuplan.write import record
from tests.git_projects import edit
from tests.projects import make_project, plain_environment, run_in

Capture = pytest.CaptureFixture[str]
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: pinned}
spec:
  containers:
  - name: main
    resources: {limits: {cpu: "2", memory: 1Gi}}
"""
QUESTIONS = (
    ["show"],
    ["show", "worker-0"],
    ["explain", "worker-0", "2", "--no-alternatives"],
    ["simulate", "worker-0", "pod.yaml"],
    ["simulate", "pod.yaml", "--format", "json"],
)
SHOW, SIMULATE = QUESTIONS[1], QUESTIONS[3]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> Path:
    """A compiled project, and a folder for what is kept."""
    plain_environment(monkeypatch)
    monkeypatch.delenv("CPUPLAN_NO_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made = make_project(tmp_path / "project")
    (made / "pod.yaml").write_text(POD)
    assert run_in(made, ["compile"], capsys)[0] == 0
    return made


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The projects that were read to answer."""
    roots: list[Path] = []
    load = pipeline.load

    def spy(root: Path, *more: Any, **named: Any) -> pipeline.Project:
        roots.append(root)
        return load(root, *more, **named)

    monkeypatch.setattr(pipeline, "load", spy)
    return roots


def _answers(project: Path) -> list[Path]:
    return sorted((project.parent / "cache/cpuplan").glob("*.answer"))


def _is_repeated(
    project: Path, words: list[str], capsys: Capture, loads: list[Path]
) -> tuple[bool, tuple[int, str, str]]:
    loads.clear()
    printed = run_in(project, words, capsys)
    return not loads, printed


@pytest.mark.parametrize("words", QUESTIONS, ids=" ".join)
@pytest.mark.parametrize("colour", ["always", "never"])
def test_an_answer_is_repeated_as_it_was(
    project: Path, capsys: Capture, loads: list[Path], words: list[str], colour: str
) -> None:
    words = [*words, "--color", colour]
    was_repeated, first = _is_repeated(project, words, capsys, loads)
    is_repeated, second = _is_repeated(project, words, capsys, loads)
    assert (was_repeated, is_repeated) == (False, True)
    assert first == second
    assert first[0] == 0
    assert first[1]


def test_a_refused_pod_is_refused_again(project: Path, capsys: Capture, loads: list[Path]) -> None:
    edit(project, "pod.yaml", 'cpu: "2"', 'cpu: "400"')
    first = _is_repeated(project, SIMULATE, capsys, loads)[1]
    assert first[0] == 1
    assert _is_repeated(project, SIMULATE, capsys, loads) == (True, first)


def _touch(name: str, text: str = "") -> Callable[[Path], object]:
    def change(project: Path) -> object:
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        return (project / name).write_text(text)

    return change


def _append(name: str) -> Callable[[Path], object]:
    def change(project: Path) -> object:
        path = project / name
        return path.write_text(path.read_text() + "# more\n")

    return change


def _remove(name: str) -> Callable[[Path], object]:
    return lambda project: (project / name).unlink()


def _link(project: Path) -> None:
    (project / "pod.yaml").rename(project / "real.yaml")
    (project / "pod.yaml").symlink_to("real.yaml")


CHANGES: dict[str, Callable[[Path], object]] = {
    "intent": _append("intents/main.yaml"),
    "lock": _append("intents/plan.lock.yaml"),
    "no lock": _remove("intents/plan.lock.yaml"),
    "new intent": _touch("intents/new.yaml"),
    "new file that no intent names": _touch("pods/new.yaml", POD),
    "new folder": lambda project: (project / "inventories/more").mkdir(),
    "hidden": _touch("inventories/.hidden"),
    "output": _touch("out/new"),
    "repository": _touch("HEAD"),
    "named file": _append("pod.yaml"),
    "named file that is a link now": _link,
    "what was a node is a file, too": _touch("worker-0", POD),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_changed_is_looked_at(
    project: Path, capsys: Capture, loads: list[Path], name: str
) -> None:
    run_in(project, SIMULATE, capsys)
    assert _is_repeated(project, SIMULATE, capsys, loads)[0]
    CHANGES[name](project)
    assert not _is_repeated(project, SIMULATE, capsys, loads)[0]


PLATFORM_POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: agent
  namespace: site
  annotations: {target.workload.openshift.io/management: '{"effect": "PreferredDuringScheduling"}'}
spec:
  runtimeClassName: quick
  containers:
  - name: main
    resources: {requests: {cpu: 10m, memory: 1Mi}}
"""
NAMESPACE = """\
apiVersion: v1
kind: Namespace
metadata: {name: site, annotations: {workload.openshift.io/allowed: management}}
"""
HANDLER = """\
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: quick}
handler: runc
"""


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("ns.yaml", "allowed: management", "allowed: others", "CP7344"),
        ("class.yaml", "name: quick", "name: slow", "CP7341"),
    ],
)
def test_objects_beside_the_pods_are_part_of_the_question(
    project: Path,
    capsys: Capture,
    loads: list[Path],
    name: str,
    old: str,
    new: str,
    said: str,
) -> None:
    target = "platform: openshift\n    pool: worker\n    cpuPartitioning: true"
    edit(project, "intents/main.yaml", "platform: kubernetes", target)
    edit(project, "intents/main.yaml", '"1.33"', '"4.20"')
    for of, text in (("pod", PLATFORM_POD), ("ns", NAMESPACE), ("class", HANDLER)):
        _touch(f"beside/{of}.yaml", text)(project)
    words = ["simulate", "worker-0", "beside"]
    first = run_in(project, words, capsys)
    assert _is_repeated(project, words, capsys, loads) == (True, first)
    assert first[0] == 0
    assert said not in first[2]
    edit(project, f"beside/{name}", old, new)
    is_repeated, second = _is_repeated(project, words, capsys, loads)
    assert (is_repeated, second[0]) == (False, 1)
    assert said in second[2]


@pytest.mark.parametrize(
    ("name", "value"), [("COLUMNS", "64"), ("CI", "true"), ("CPUPLAN_NO_CACHE", "1")]
)
def test_another_environment_is_another_question(
    project: Path,
    capsys: Capture,
    loads: list[Path],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: str,
) -> None:
    run_in(project, SHOW, capsys)
    assert _is_repeated(project, SHOW, capsys, loads)[0]
    monkeypatch.setenv(name, value)
    assert not _is_repeated(project, SHOW, capsys, loads)[0]


def test_another_place_program_or_day_is_another_question(
    project: Path, capsys: Capture, loads: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_in(project, SHOW, capsys)
    for module, name in ((record, "program_digest"), (recorded, "today")):
        assert _is_repeated(project, SHOW, capsys, loads)[0]
        monkeypatch.setattr(module, name, lambda: "another")
        assert not _is_repeated(project, SHOW, capsys, loads)[0]
    copy = make_project(project.parent / "copy")
    assert not _is_repeated(copy, SHOW, capsys, loads)[0]
    assert not _is_repeated(project / "intents", SHOW, capsys, loads)[0]


@pytest.mark.parametrize("words", [["--no-cache"], ["-q"], ["--each"]])
def test_other_words_are_another_question(
    project: Path, capsys: Capture, loads: list[Path], words: list[str]
) -> None:
    run_in(project, SIMULATE, capsys)
    assert not _is_repeated(project, [*SIMULATE, *words], capsys, loads)[0]


@pytest.mark.parametrize(
    "words",
    [
        ["show", "worker-0", "--svg", "picture.svg"],
        ["simulate", "worker-0", "pod.yaml", "-o", "answer.txt"],
        ["simulate", "worker-0", "pod.yaml", "--svg", "picture.svg"],
        ["show", "nobody"],
        ["show", "altra-q80-30-1s"],
        ["explain", "cpu0-reserved"],
        ["simulate", "worker-0", "nowhere.yaml"],
    ],
    ids=" ".join,
)
def test_files_errors_and_catalogues_are_not_kept(
    project: Path, capsys: Capture, words: list[str]
) -> None:
    first = run_in(project, words, capsys)
    assert not _answers(project)
    assert run_in(project, words, capsys) == first


def test_a_bug_is_not_kept(project: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "solve", broken)
        assert run_in(project, SHOW, capsys)[0] == 70
    assert not _answers(project)
    assert run_in(project, SHOW, capsys)[0] == 0


def _open_elsewhere(project: Path) -> None:
    (project.parent / "elsewhere").write_text("")
    (project.parent / "elsewhere").read_text()


def _write(project: Path) -> None:
    (project / "out/written").write_text("")


def _start(_: Path) -> None:
    subprocess.run([sys.executable, "-c", ""], check=True)


def _change_meanwhile(project: Path) -> None:
    """With the same bytes at the end: what was read between may have been others."""
    os.utime(project / "intents/main.yaml")


@pytest.mark.parametrize("act", [_open_elsewhere, _write, _start, _change_meanwhile])
def test_what_does_more_than_read_the_project_is_not_kept(
    project: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
    act: Callable[[Path], None],
) -> None:
    solve = pipeline.solve

    def also(*given: Any, **named: Any) -> Any:
        act(project)
        return solve(*given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "solve", also)
        assert run_in(project, SHOW, capsys)[0] == 0
    assert not _answers(project)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _of_others(path: Path) -> None:
    path.chmod(0o666)


def _linked(path: Path) -> None:
    path.rename(path.with_name("real"))
    path.symlink_to(path.with_name("real"))


def _of_nobody(path: Path) -> None:
    if os.geteuid():
        pytest.skip("only root can give files away")
    os.chown(path, 65534, 65534)


def _edited(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"worker-0", b"worker-9"))


def _huge(path: Path) -> None:
    with path.open("ab") as file:
        file.truncate(record._MAX_BYTES + 1)


@pytest.mark.parametrize("harm", [_cut, _of_others, _linked, _of_nobody, _edited, _huge])
def test_a_file_that_somebody_else_wrote_says_nothing(
    project: Path, capsys: Capture, loads: list[Path], harm: Callable[[Path], None]
) -> None:
    first = run_in(project, SHOW, capsys)
    (kept,) = _answers(project)
    harm(kept)
    assert _is_repeated(project, SHOW, capsys, loads) == (False, first)


def test_the_answer_to_another_question_says_nothing(
    project: Path, capsys: Capture, loads: list[Path]
) -> None:
    first = run_in(project, SHOW, capsys)
    (kept,) = _answers(project)
    run_in(project, ["show"], capsys)
    (other,) = set(_answers(project)) - {kept}
    other.replace(kept)
    assert _is_repeated(project, SHOW, capsys, loads) == (False, first)


def _rewrite(project: Path, change: Callable[[Any], None]) -> None:
    """Change what answers say, with the digests of who has the key."""
    for path in _answers(project):
        data = json.loads(path.read_bytes().partition(b"\n")[2])
        change(data)
        assert Sealed(path.parent).write([path.name], json.dumps(data).encode())


def _code(code: int) -> Callable[[Any], None]:
    def change(data: Any) -> None:
        data[1] = code

    return change


def _number_for_text(data: Any) -> None:
    data[0][0][0] = 7


def _more(data: Any) -> None:
    data.append([])


@pytest.mark.parametrize("change", [_code(3), _code(70), _code(-1), _number_for_text, _more])
def test_what_no_answer_can_say(
    project: Path, capsys: Capture, loads: list[Path], change: Callable[[Any], None]
) -> None:
    first = run_in(project, SHOW, capsys)
    _rewrite(project, change)
    assert _is_repeated(project, SHOW, capsys, loads) == (False, first)


def test_no_answer_steers_a_terminal(project: Path, capsys: Capture) -> None:
    def title(data: Any) -> None:
        data[0][0][0] = "\x1b]0;title\x07::error::all\n"

    run_in(project, SHOW, capsys)
    _rewrite(project, title)
    code, out, _ = run_in(project, SHOW, capsys)
    assert (code, "\x1b" in out, out.startswith("::")) == (0, False, False)


def test_answers_do_not_drive_out_records(
    project: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "MOST", 3)
    records = sorted((project.parent / "cache/cpuplan").glob("*.json"))
    for cpu in range(2, 8):
        run_in(project, ["explain", "worker-0", str(cpu), "--no-alternatives"], capsys)
    assert len(_answers(project)) == 3
    assert sorted((project.parent / "cache/cpuplan").glob("*.json")) == records


def test_equal_files_elsewhere_are_other_files(project: Path, capsys: Capture) -> None:
    """A message names the file."""
    words = ["-C", str(project), "simulate", "worker-0", "pod.yaml"]
    said = []
    for name in ("one", "two"):
        folder = project.parent / name
        folder.mkdir()
        (folder / "pod.yaml").write_text(POD.replace('cpu: "2"', 'cpu: "-2"'))
        said.append([run_in(folder, words, capsys)[2] for _ in range(2)])
    assert [texts[0] for texts in said] == [texts[1] for texts in said]
    assert f"{project.parent}/one/pod.yaml" in said[0][0]
    assert f"{project.parent}/two/pod.yaml" in said[1][0]

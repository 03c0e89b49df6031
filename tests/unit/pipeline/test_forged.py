"""Results forged by somebody who has the key: refused, and not asked by what proves something."""

import json
import zlib
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from cpuplan import pipeline
from cpuplan.base.files.cache import Sealed
from cpuplan.pipeline import making
from cpuplan.pipeline.making import Cache, Making
from tests.git_projects import edit
from tests.projects import make_project, run_in

Capture = pytest.CaptureFixture[str]
INTENT = "intents/main.yaml"
#: Exit codes of gates that succeed.
FINE = 0


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> Path:
    """A compiled project, and a cache that has all of it."""
    monkeypatch.delenv("CPUPLAN_NO_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made = make_project(tmp_path / "project")
    assert run_in(made, ["compile"], capsys)[0] == 0
    return made


def _entries(project: Path) -> Iterator[tuple[list[str], Any]]:
    """What is kept of classes, by its names: results are lists of three, parts of four."""
    folder = project.parent / "cache/cpuplan/classes"
    for path in sorted(folder.iterdir()):
        head, _, content = path.read_bytes().partition(b"\n")
        yield head[65:].decode().split(), json.loads(zlib.decompress(content))


def _forge(project: Path, change: Callable[[Any], object], length: int) -> None:
    """Change the results (3), or the parts (4), and seal them as their writer would."""
    sealed = Sealed(project.parent / "cache/cpuplan/classes")
    known = list(_entries(project))
    for names, data in known:
        if len(data) == length:
            change(data)
            assert sealed.write(names, zlib.compress(json.dumps(data).encode()))
    for path in (project.parent / "cache/cpuplan").glob("*.json"):
        path.unlink()  # records would answer first


def _compiled(project: Path) -> tuple[dict[str, bytes], list[str]]:
    with chdir(project):
        making = Making(cache=Cache.of_user(Path()))
        compiled = pipeline.compile_project(pipeline.load(Path()), making=making)
    return compiled.files, [finding.code for finding in compiled.diagnostics]


def _plan(data: Any) -> Any:
    return data[0][0]


def _settings(data: Any) -> Any:
    return _plan(data)[5]


def _finding(severity: str, code: str = "CP401", **more: Any) -> list[Any]:
    place = ["Intent/main:spec", -1, 0, 0]
    fields: dict[str, Any] = {
        "code": code,
        "message": "forged",
        "remedy": "",
        "position": place,
        "label": "",
        "labels": [],
        "severity": severity,
        "stands_for": 1,
        "waiver": None,
        "field": "",
        "after": "",
        "classes": [],
    }
    return list({**fields, **more}.values())


def _more_cpus(data: Any) -> None:
    _plan(data)[2][0][1] = "f" * 100


def _a_cpu_twice(data: Any) -> None:
    for pool in _plan(data)[2]:
        pool[1] = "1"


def _unknown_component(data: Any) -> None:
    _settings(data)[0][0] = "passwd"


def _another_class(data: Any) -> None:
    _plan(data)[1] = "another"


def _no_plan(data: Any) -> None:
    data[0].clear()
    data[2].clear()


def _plan_twice(data: Any) -> None:
    data[0].append(_plan(data))
    data[2].append([])


def _no_findings(data: Any) -> None:
    data[2].clear()


def _boot_argument_without_type(data: Any) -> None:
    _settings(data)[0][2] = None


FORGED: dict[str, Callable[[Any], object]] = {
    "more CPUs": _more_cpus,
    "a CPU twice": _a_cpu_twice,
    "unknown component": _unknown_component,
    "another class": _another_class,
    "no plan": _no_plan,
    "a plan twice": _plan_twice,
    "no findings": _no_findings,
    "no value": _boot_argument_without_type,
    "an error as note": lambda data: data[1].append(_finding("note")),
    "an error as warning": lambda data: data[1].append(_finding("warning")),
    "no severity": lambda data: data[1].append(_finding("fine")),
    "no code": lambda data: data[1].append(_finding("error", "CP000")),
    "waived": lambda data: data[1].append(_finding("warning", "CP221", waiver=["", "2999-01-01"])),
    "later": lambda data: data[1].append(_finding("warning", "CP221", after="2999-01-01")),
    "for none": lambda data: data[1].append(_finding("warning", "CP221", stands_for=0)),
    "line": lambda data: data[1].append(_finding("warning", "CP221", position=["a", -7, 0, 0])),
    "surrogate": lambda data: data[1].append(_finding("warning", "CP221", message="\ud800")),
    "more": lambda data: data.append([]),
    "nothing": lambda data: data.clear(),
}


@pytest.mark.parametrize("name", FORGED)
def test_results_that_cannot_be_are_made_again(project: Path, name: str) -> None:
    expected = _compiled(project)
    _forge(project, FORGED[name], 3)
    assert _compiled(project) == expected


def _unit_without_a_template(data: Any) -> None:
    _settings(data).append(["units", "/usr/local/bin/nowhere.sh", True, [], None])


def _list_for_cpus(data: Any) -> None:
    for setting in _settings(data):
        setting[2] = {"map": {"a": {"cpus": "1"}}}


@pytest.mark.parametrize("change", [_unit_without_a_template, _list_for_cpus])
def test_results_that_nothing_can_be_made_of_are_left_aside(
    project: Path, change: Callable[[Any], object]
) -> None:
    """Each value is one that can be, but no file can be made of all together."""
    expected = _compiled(project)
    _forge(project, change, 3)
    for names, data in list(_entries(project)):
        if len(data) == 4:
            for name in names:
                (project.parent / "cache/cpuplan/classes" / name).unlink()
    assert _compiled(project) == expected


def _files_that_are_no_text(data: Any) -> None:
    for path in data[3]:
        data[3][path] = "\udcff"


def _parts_with_less(data: Any) -> None:
    data.pop()
    data.append({"a": 1})


@pytest.mark.parametrize("change", [_files_that_are_no_text, _parts_with_less])
def test_parts_that_cannot_be_are_made_again(
    project: Path, change: Callable[[Any], object]
) -> None:
    expected = _compiled(project)
    _forge(project, change, 4)
    assert _compiled(project) == expected


def test_files_that_cannot_be_read_back_are_made_again(project: Path, capsys: Capture) -> None:
    before = {path: path.read_bytes() for path in (project / "out").rglob("*") if path.is_file()}

    def cut(data: Any) -> None:
        for path, text in data[3].items():
            data[3][path] = text[:-1] + "{"

    _forge(project, cut, 4)
    code, _, said = run_in(project, ["compile", "--force"], capsys)
    assert (code, "CP570" in said) == (0, False)
    assert {path: path.read_bytes() for path in before} == before


def test_a_bomb_is_not_unpacked(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sealed = Sealed(project.parent / "cache/cpuplan/classes")
    bomb = zlib.compress(bytes(making._LIMIT_UNPACKED + 1))
    assert making._inflated(bomb) is None
    assert making._inflated(zlib.compress(b"a")[:-1]) is None
    assert making._inflated(zlib.compress(b"a") + b"b") is None
    expected = _compiled(project)
    for names, _ in list(_entries(project)):
        assert sealed.write(names, bomb)
    assert _compiled(project) == expected


def _init(data: Any) -> None:
    """Another program as the first one, on every boot line that the files have."""
    for path, text in data[3].items():
        data[3][path] = text.replace("isolcpus", "init=/bin/sh isolcpus")


GATES = (
    ["compile", "--check"],
    ["validate", "--strict"],
    ["validate", "--against", "HEAD"],
    ["merge-check", "HEAD"],
    ["plan", "--against-folder", "out", "--exit-code"],
    ["plan", "--against-folder", "out", "--max-impact", "none"],
    ["verify-output"],
)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files of caches that are read."""
    names: list[str] = []
    read = Sealed.read

    def spy(self: Sealed, name: str, limit: int) -> bytes | None:
        names.append(name)
        return read(self, name, limit)

    monkeypatch.setattr(Sealed, "read", spy)
    return names


@pytest.mark.parametrize("words", GATES, ids=" ".join)
def test_gates_read_nothing_that_was_kept(
    project: Path, capsys: Capture, opened: list[str], words: list[str]
) -> None:
    from tests.git_projects import git

    git(project, "init", "-q")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "all")
    run_in(project, words, capsys)
    assert opened == []


def test_others_do(project: Path, capsys: Capture, opened: list[str]) -> None:
    for words in (["validate"], ["compile"], ["show", "worker-0"]):
        assert run_in(project, words, capsys)[0] == 0
        assert opened
        opened.clear()


@pytest.mark.parametrize(
    ("name", "value"),
    [("CI", "true"), ("CI", "1"), ("TF_BUILD", "True"), ("JENKINS_URL", "http://ci")],
)
def test_nothing_is_read_in_ci(
    project: Path,
    capsys: Capture,
    opened: list[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: str,
) -> None:
    monkeypatch.setenv(name, value)
    for words in (
        ["validate"],
        ["compile"],
        ["show", "worker-0"],
        ["plan", "--against-folder", "out"],
    ):
        assert run_in(project, words, capsys)[0] == 0
    assert opened == []
    monkeypatch.setenv(name, "")
    monkeypatch.setenv("CI", "false")
    assert run_in(project, ["validate"], capsys)[0] == 0
    assert opened


def test_forged_files_are_found_by_the_gate(project: Path, capsys: Capture) -> None:
    _forge(project, _init, 4)
    assert run_in(project, ["compile", "--force"], capsys)[0] == 0
    written = [path for path in (project / "out").rglob("*") if path.is_file()]
    assert any(b"init=/bin/sh" in path.read_bytes() for path in written)
    assert run_in(project, ["compile", "--check"], capsys)[0] == 3


def test_a_forged_record_lets_no_gate_pass(project: Path, capsys: Capture) -> None:
    """Who has the key says that a project with an error is valid: no gate asks."""
    folder = project.parent / "cache/cpuplan"
    from cpuplan.language.read import files
    from cpuplan.write import record

    known = record.find(files.read_inputs(project))
    assert known
    edit(project, INTENT, "cores: 1", "cores: 400")
    now = files.read_inputs(project)
    record._write(now, now.digest(), known, [])
    assert run_in(project, ["validate"], capsys)[0] == 0
    assert folder.is_dir()
    for words in (["validate", "--strict"], ["compile", "--check"]):
        assert run_in(project, words, capsys)[0] == 1


def test_a_cache_in_the_repository_says_nothing(
    project: Path, capsys: Capture, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = project / ".cache"
    (project.parent / "cache").rename(place)
    monkeypatch.setenv("XDG_CACHE_HOME", str(place))
    for words in (["validate"], ["compile"], ["show", "worker-0"]):
        code, _, said = run_in(project, words, capsys)
        assert code == 0
        assert said.count("note[CP6120]") == 1
        assert "in the project's repository" in said
    code, out, said = run_in(project, ["validate", "--format", "json"], capsys)
    assert "CP6120" not in out
    assert opened == []

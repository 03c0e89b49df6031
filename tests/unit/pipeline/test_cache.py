"""Results of classes from earlier runs: never of another input, nor from anybody else."""

import os
import threading
from collections.abc import Callable
from contextlib import chdir
from copy import copy
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from cpuplan import pipeline
from cpuplan.base.cpuset import CpuSet
from cpuplan.diagnostics import Diagnostic
from cpuplan.pipeline import batch, making
from cpuplan.pipeline.batch import Unit, make
from cpuplan.pipeline.making import Cache, Making
from cpuplan.plan import Wave
from tests.projects import run_in
from tests.unit.test_pipeline import sample, tree

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return sample(tmp_path / "project")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "classes"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The classes that are really made, in their order."""
    names: list[str] = []

    def spy(unit: Unit, *arguments: Any, **options: Any) -> Any:
        names.extend(unit.names)
        return make(unit, *arguments, **options)

    monkeypatch.setattr(batch, "make", spy)
    return names


def _judge(project: Path, folder: Path) -> tuple[dict[str, bytes], list[Diagnostic]]:
    with chdir(project):
        loaded = pipeline.load(Path())
        compiled = pipeline.compile_project(loaded, making=Making(cache=Cache(folder)))
    return compiled.files, list(compiled.diagnostics)


def _comment(project: Path) -> None:
    for path in sorted((project / "intents").glob("*.yaml")):
        path.write_text(f"# one more line\n{path.read_text()}")


def test_a_comment_makes_no_class_again(project: Path, folder: Path, made: list[str]) -> None:
    path = project / "intents/edge.yaml"
    path.write_text(path.read_text().replace("    annotatePods: true #", "    #"))
    files, findings = _judge(project, folder)
    assert len(made) == len(pipeline.load(project).classes)
    assert any(finding.position for finding in findings)
    made.clear()
    _comment(project)
    files_after, findings_after = _judge(project, folder)
    assert made == []
    assert files_after == files
    # they are where their lines are now
    with chdir(project):
        fresh = pipeline.compile_project(pipeline.load(Path()))
    assert findings_after == list(fresh.diagnostics)
    assert findings_after != findings


def test_with_its_new_lock_nothing_is_made(project: Path, made: list[str], capsys: Capture) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("CPUPLAN_NO_CACHE")
        patch.setenv("XDG_CACHE_HOME", str(project.parent / "xdg"))
        assert run_in(project, ["compile"], capsys)[0] == 0
        assert made
        made.clear()
        before = tree(project / "out")
        _comment(project)
        assert run_in(project, ["compile", "--force"], capsys)[0] == 0
        assert made == []
        for words, variable in ((["--no-cache"], ""), ([], "1")):
            patch.setenv("CPUPLAN_NO_CACHE", variable)
            assert run_in(project, ["compile", "--force", *words], capsys)[0] == 0
            assert made
            made.clear()
        assert tree(project / "out") == before


def test_what_is_touched_is_made_again(project: Path, folder: Path, made: list[str]) -> None:
    _judge(project, folder)
    made.clear()
    path = project / "intents/edge.yaml"
    text = path.read_text()
    assert "extraArguments: [audit=0]" in text
    path.write_text(text.replace("extraArguments: [audit=0]", "extraArguments: [audit=1]"))
    files, _ = _judge(project, folder)
    assert made == ["edge/du-ice-lake-6338n-1s"]
    assert files == pipeline.compile_project(pipeline.load(project)).files


def _flip(data: bytes) -> bytes:
    return data[:-20] + bytes([data[-20] ^ 1]) + data[-19:]


def _forge(data: bytes) -> bytes:
    body = data.partition(b"\n")[0][64:] + b"\ncos\nsystem\n(S'exit 3'\ntR."
    return sha256(body).hexdigest().encode() + body


@pytest.mark.parametrize(
    "damage", [_flip, _forge, lambda data: data[:50], lambda _: b"", lambda data: data + b"more"]
)
def test_damaged_results_are_made_again(
    project: Path, folder: Path, made: list[str], damage: Callable[[bytes], bytes]
) -> None:
    files, findings = _judge(project, folder)
    number = len(made)
    for path in list(folder.iterdir()):
        data = path.read_bytes()
        path.unlink()  # two names may be those of one file
        path.write_bytes(damage(data))
    made.clear()
    assert _judge(project, folder) == (files, findings)
    assert len(made) == number
    # and then they are whole
    made.clear()
    _judge(project, folder)
    assert made == []


def test_what_others_may_write_is_not_believed(
    project: Path, folder: Path, made: list[str]
) -> None:
    _judge(project, folder)
    number = len(made)
    made.clear()
    for path in folder.iterdir():
        path.chmod(0o666)
    _judge(project, folder)
    assert len(made) == number
    made.clear()
    folder.chmod(0o777)
    names = sorted(path.name for path in folder.iterdir())
    _judge(project, folder)
    assert len(made) == number
    assert sorted(path.name for path in folder.iterdir()) == names
    folder.chmod(0o700)
    link = folder.parent / "link"
    link.symlink_to(folder)
    made.clear()
    _judge(project, link)
    assert len(made) == number


def test_a_folder_that_cannot_be_made(project: Path, tmp_path: Path, made: list[str]) -> None:
    file = tmp_path / "file"
    file.write_text("")
    files, _ = _judge(project, file / "classes")
    assert files
    assert made
    assert _judge(project, file)[0] == files


def test_another_program_has_other_results(
    project: Path, folder: Path, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _judge(project, folder)
    number = len(made)
    made.clear()
    monkeypatch.setattr(making, "program_digest", lambda: "another")
    _judge(project, folder)
    assert len(made) == number


def test_the_oldest_go_first(project: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "MOST", 4)
    _judge(project, folder)
    files = len(pipeline.load(project).classes)
    assert len(list(folder.iterdir())) == 4 + files
    path = project / "intents/edge.yaml"
    path.write_text(path.read_text().replace("[audit=0]", "[audit=1]"))
    _judge(project, folder)
    assert len(list(folder.iterdir())) <= 4 + files


def test_several_may_write_at_once(project: Path, folder: Path) -> None:
    expected = pipeline.compile_project(pipeline.load(project)).files
    are_same: list[bool] = []

    def compile_once() -> None:
        loaded = pipeline.load(project)
        making = Making(cache=Cache(folder))
        are_same.append(pipeline.compile_project(loaded, making=making).files == expected)

    threads = [threading.Thread(target=compile_once) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert are_same == [True] * 3
    assert not [path for path in folder.iterdir() if "." in path.name]


def test_file_systems_without_links(
    project: Path, folder: Path, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    files, _ = _judge(project, folder)
    made.clear()
    assert _judge(project, folder)[0] == files
    assert made == []


def test_every_attribute_of_a_class_counts(project: Path) -> None:
    node_class = pipeline.load(project).classes[0]
    others = {
        "nodes": ("another",),
        "waves": (Wave(1, "first", ()),),
        "devices": ({"name": "nic"},),
        "cpu_model_number": 99,
        "topology": pipeline.load(project).classes[-1].topology,
        "spec": pipeline.load(project).classes[-1].spec,
        "target": node_class.target.model_copy(update={"version": "1.34"}),
        "cluster_facts": pipeline.load(project).classes[-1].spec,
    }
    own = making.Digests().facts(Unit((node_class,), ((),)), (True,))
    for name in vars(node_class):
        other = copy(node_class)
        setattr(other, name, others.get(name, "another"))
        assert making.Digests().facts(Unit((other,), ((),)), (True,)) != own, name
    assert making.Digests().facts(Unit((node_class,), ((),)), (False,)) != own
    assert making.Digests().facts(Unit((node_class,), ((),)), (True, "Intent")) != own


def test_written_defaults_are_not_left_out_ones(project: Path) -> None:
    spec = pipeline.load(project).classes[0].spec
    written = spec.model_copy(update={"paused": spec.paused})
    assert written == spec
    assert making.Digests().text(written) != making.Digests().text(spec)


def test_what_has_no_digest_is_not_kept() -> None:
    with pytest.raises(making.UnknownError):
        making.Digests().text({"value": object()})
    assert making.kept_digest("facts", {"a": CpuSet([1])}, None) != making.kept_digest(
        "facts", {"b": CpuSet([1])}, None
    )
    assert making.kept_digest("facts", {"a": CpuSet([1])}, None) == making.kept_digest(
        "facts", {"b": CpuSet(), "a": CpuSet([1])}, None
    )


def test_the_folder_is_closed(project: Path, folder: Path) -> None:
    _judge(project, folder)
    assert folder.stat().st_mode & 0o077 == 0
    assert folder.stat().st_uid == os.geteuid()

"""Files of classes from earlier runs: made again when what they are made of changes.

They are compared with `out/` in any case.
"""

import shutil
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

import pytest

from cpuplan import backends, pipeline
from cpuplan.backends import parts
from cpuplan.backends.parts import Parts, Wanted
from cpuplan.base import program
from cpuplan.base.program import program_digest, resource
from cpuplan.fleet import previous
from cpuplan.pipeline import making
from cpuplan.pipeline.making import PLAIN, Cache, Making
from cpuplan.workers import Workers, divide
from tests.git_projects import add_class, edit
from tests.projects import run_in

Capture = pytest.CaptureFixture[str]
CLASSES = ["core-core-hw", "du-du-hw", "hft-hft-hw"]
CLUSTER = """---
apiVersion: cpuplan.io/v1alpha1
kind: Cluster
metadata: {name: lab}
spec:
  nodeResourceTopology: {exporter: resource-topology-exporter, crd: scheduler-plugins}
"""
KERNEL = "kernel: {extraArguments: [audit=0]}"
INTENT = "intents/core.yaml"
NODES = "inventories/core-nodes.yaml"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    for name in ("core", "du", "hft"):
        add_class(made, name)
    return made


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The classes whose files are really made, in their order."""
    names: list[str] = []
    of = parts.of

    def spy(wanted: Wanted) -> Parts:
        names.append(wanted.plan.node_class.name)
        return of(wanted)

    monkeypatch.setattr(parts, "of", spy)
    return names


def _files(project: Path, *, jobs: int = 1, cached: bool = True) -> dict[str, bytes]:
    cache = Cache(project.parent / "classes") if cached else None
    with chdir(project):
        how = Making(Workers(jobs), cache)
        compiled = pipeline.compile_project(pipeline.load(Path()), making=how)
    return compiled.files


def test_files_are_kept(project: Path, made: list[str]) -> None:
    first = _files(project)
    assert made == CLASSES
    assert _files(project) == first
    assert made == CLASSES


@pytest.mark.parametrize(
    ("path", "old", "new", "again"),
    [
        (NODES, "core-[0-2]", "core-[0-3]", CLASSES[:1]),
        (INTENT, 'version: "1.3', 'delivery: [tree, butane], version: "1.3', CLASSES[:1]),
        (
            INTENT,
            "isolated: rest",
            "isolated: rest\n  kernel: {extraArguments: [audit=0]}",
            CLASSES[:1],
        ),
        (INTENT, "kind: Intent", "kind: Intent # a comment", []),
    ],
)
def test_what_a_change_touches_is_made_again(
    project: Path, made: list[str], path: str, old: str, new: str, again: list[str]
) -> None:
    before_it = _files(project)
    made.clear()
    text = (project / path).read_text()
    assert old in text, text
    (project / path).write_text(text.replace(old, new))
    files = _files(project)
    assert made == again
    made.clear()
    assert files == _files(project, cached=False)
    assert (files == before_it) == (not again)


def test_a_cluster_object_makes_its_classes_again(project: Path, made: list[str]) -> None:
    _files(project)
    made.clear()
    with (project / NODES).open("a") as file:
        file.write(CLUSTER)
    files = _files(project)
    assert made == CLASSES
    assert "clusters/lab/expected/nrt/core-core-hw.yaml" in files
    assert files == _files(project, cached=False)


def test_facts_that_other_classes_decide_count(project: Path) -> None:
    plan, _ = pipeline.solve(pipeline.load(project))
    node = plan.nodes[0]
    backend = backends.of(node.node_class)
    names = {
        making.parts_digest("result", Wanted(node, backend, facts))
        for facts in ({}, {"pool": "a"}, {"pool": "b"})
    }
    assert len(names) == 3
    assert making.parts_digest("result", Wanted(node, backend, {"a": object()})) == ""  # type: ignore[dict-item]


def test_another_program_makes_them_again(
    project: Path, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _files(project)
    made.clear()
    monkeypatch.setattr(making, "program_digest", lambda: "another")
    _files(project)
    assert made == CLASSES


def test_templates_and_packages_are_of_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    templates = tmp_path / "templates"
    shutil.copytree(resource("templates"), templates)
    monkeypatch.setattr(
        program, "resource", lambda name: templates if name == "templates" else resource(name)
    )
    digest: Callable[[], str] = program_digest.__wrapped__
    own = digest()
    assert own == program_digest()
    template = min(templates.rglob("*.j2"))
    template.write_text(template.read_text() + "\n")
    changed = digest()
    assert changed != own
    monkeypatch.setattr(program, "_releases", lambda: ["ortools-1.dist-info"])
    assert digest() not in (own, changed)


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:], lambda _: b"", bytes]
)
def test_damaged_files_are_made_again(
    project: Path, made: list[str], damage: Callable[[bytes], bytes]
) -> None:
    first = _files(project)
    made.clear()
    folder = project.parent / "classes"
    intact = damage is bytes
    for path in list(folder.iterdir()):
        data = path.read_bytes()
        path.unlink()
        path.write_bytes(damage(data))
    assert _files(project) == first
    assert made == ([] if intact else CLASSES)


def test_a_result_is_no_file(project: Path, made: list[str]) -> None:
    """What stands under a name of another kind is not taken, whole as it is."""
    first = _files(project)
    made.clear()
    folder = project.parent / "classes"
    contents = sorted((path.stat().st_size, path) for path in folder.iterdir())
    other = contents[-1][1].read_bytes()
    for _, path in contents:
        path.unlink()
        path.write_bytes(other)
    assert _files(project) == first
    # but that of the one whose name it is
    assert len(made) == 2


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_any_number_of_processes_gives_the_same(
    project: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    monkeypatch.setattr(divide, "_MANY", 0)
    plain = _files(project, cached=False)
    assert _files(project, jobs=jobs) == plain
    assert _files(project, jobs=jobs) == plain
    assert _files(project, jobs=jobs, cached=False) == plain


def test_without_a_cache_all_are_made(project: Path, made: list[str]) -> None:
    plan, _ = pipeline.solve(pipeline.load(project))
    loaded = pipeline.load(project)
    assert pipeline.emit(loaded, plan) == pipeline.emit(loaded, plan, PLAIN)
    assert made == CLASSES * 2


def test_files_of_a_paused_class_are_not_taken(
    project: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CPUPLAN_NO_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(project.parent / "xdg"))
    assert run_in(project, ["compile"], capsys)[0] == 0
    edit(project, INTENT, "spec:\n", "spec:\n  paused: true\n")
    assert run_in(project, ["compile"], capsys)[0] == 0
    record = previous.read(project / "out")["lab", "core-core-hw"]
    assert record["paused"]


def test_what_is_kept_is_no_reason_to_call_out_unchanged(
    project: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CPUPLAN_NO_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(project.parent / "xdg"))
    assert run_in(project, ["compile"], capsys)[0] == 0
    path = project / "out/clusters/lab/expected/state/core-core-hw.json"
    good = path.read_bytes()
    path.write_bytes(good.replace(b"core", b"gore", 1))
    assert run_in(project, ["compile", "--check"], capsys)[0] == 3
    assert run_in(project, ["compile", "--force"], capsys)[0] == 0
    assert path.read_bytes() == good

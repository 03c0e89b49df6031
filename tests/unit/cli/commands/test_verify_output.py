"""`cpuplan verify-output` and `cpuplan provenance`."""

import json
import os
import shutil
from hashlib import sha256
from pathlib import Path

import pytest

from tests.git_projects import edit, git, repository
from tests.projects import run_in

Capture = pytest.CaptureFixture[str]
CMDLINE = "out/nodes/lab/core-core-hw/cmdline"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = repository(tmp_path_factory.mktemp("verify") / "project")
    git(project, "config", "user.name", "Somebody")
    git(project, "config", "user.email", "somebody@example.com")
    return project


@pytest.fixture
def project(base: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(base, tmp_path / "project", symlinks=True))


def _verify(project: Path, capture: Capture, *words: str) -> tuple[int, str]:
    code, _, told = run_in(project, ["verify-output", *words], capture)
    return code, told


def test_every_file_is_compared(project: Path, capsys: Capture) -> None:
    assert _verify(project, capsys) == (0, "104 files: all of out is what the inputs give\n")
    (project / CMDLINE).write_text("edited\n")
    (project / "out/nodes/lab/hft-hft-hw.json").unlink()
    (project / "out/clusters/edge/cluster.json").unlink()
    os.symlink("elsewhere", project / "out/clusters/edge/cluster.json")
    (project / "out/README").write_text("theirs\n")
    code, told = _verify(project, capsys)
    assert code == 3
    for text in (
        f"error[CP609]: {CMDLINE} does not match",
        "error[CP608]: out/nodes/lab/hft-hft-hw.json is missing",
        "error[CP699]: out/clusters/edge/cluster.json is a symbolic link",
        "error[CP699]: out/README is in the folder, but the inputs do not give it",
    ):
        assert text in told


def test_the_manifest_and_the_lock_count(project: Path, capsys: Capture) -> None:
    manifest = project / "out/.cpuplan/manifests/lab"
    text = manifest.read_text()
    manifest.write_text(text.replace("nodes/lab/hft-hft-hw.json\thft-hft-hw\n", ""))
    assert "CP609]: out/.cpuplan/manifests/lab does" in _verify(project, capsys)[1]
    manifest.unlink()
    assert "CP608]: out/.cpuplan/manifests/lab is" in _verify(project, capsys)[1]
    (manifest.parent / "gone").write_text(text.splitlines()[0] + "\n")
    assert "CP610]: out/.cpuplan/manifests/gone" in _verify(project, capsys)[1]
    (manifest.parent / "gone").unlink()
    manifest.write_text(text + "old\n")
    (project / "out/old").write_text("left over\n")
    code, told = _verify(project, capsys)
    assert (code, "CP610]: out/old" in told) == (3, True)
    git(project, "checkout", "-q", "--", "out")
    (project / "intents/plan.lock.yaml").unlink()
    assert "[CP620]" in _verify(project, capsys)[1]


def test_no_record_is_believed(project: Path, capsys: Capture) -> None:
    assert run_in(project, ["compile"], capsys)[0] == 0
    edit(project, "intents/core.yaml", "reserved: {cores: 2}", "reserved: {cores: 3}")
    assert _verify(project, capsys)[0] == 3
    edit(project, "intents/core.yaml", "cores: 3", "cores: 300")
    assert _verify(project, capsys)[0] == 1


def test_a_statement_has_every_file_and_input(project: Path, capsys: Capture) -> None:
    code, text, _ = run_in(project, ["provenance"], capsys)
    assert code == 0
    statement = json.loads(text)
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    subjects = {subject["name"]: subject["digest"]["sha256"] for subject in statement["subject"]}
    assert len(subjects) == 104
    assert subjects["nodes/lab/core-core-hw/cmdline"] == (
        sha256((project / CMDLINE).read_bytes()).hexdigest()
    )
    build = statement["predicate"]["buildDefinition"]
    inputs = {dependency["name"] for dependency in build["resolvedDependencies"]}
    assert {"intents/core.yaml", "intents/plan.lock.yaml", "inventories/hft.yaml"} <= inputs
    assert {*statement["predicate"]["runDetails"]["builder"]["version"]} == {"cpuplan", "ortools"}
    assert run_in(project, ["provenance"], capsys)[1] == text
    (project / CMDLINE).write_text("edited\n")
    assert run_in(project, ["provenance"], capsys)[:2] == (3, "")


def test_against_a_statement(project: Path, capsys: Capture) -> None:
    statement = str(project.parent / "statement.json")
    words = ("--against-provenance", statement)
    assert run_in(project, ["provenance", "-o", statement], capsys)[0] == 0
    assert _verify(project, capsys, *words)[0] == 0
    edit(project, "intents/core.yaml", "kind: Intent", "kind: Intent # a comment")
    code, told = _verify(project, capsys, *words)
    assert (code, "intents/core.yaml is not as in the statement" in told) == (3, True)
    git(project, "checkout", "-q", "--", ".")
    edit(project.parent, "statement.json", '"nodes/lab/core-core-hw/cmdline"', '"nodes/lab/other"')
    told = _verify(project, capsys, *words)[1]
    assert f"{CMDLINE} is not in the statement" in told
    assert "out/nodes/lab/other is in the statement, but missing" in told


@pytest.mark.parametrize("text", ["{}", "no JSON", '{"_type": "other"}', "[[]]", '{"_type": 1}'])
def test_what_is_no_statement(project: Path, capsys: Capture, text: str) -> None:
    (project / "statement.json").write_text(text)
    code, told = _verify(project, capsys, "--against-provenance", "statement.json")
    assert code != 0
    assert "[CP699]" in told


def test_what_was_published_is_verified_from_git(project: Path, capsys: Capture) -> None:
    assert run_in(project, ["publish", "--branch", "deploy"], capsys)[0] == 0
    shutil.rmtree(project / "out")
    git(project, "checkout", "-q", "--", "out")
    assert _verify(project, capsys, "--ref", "deploy") == (
        0,
        "104 files: all of deploy:out is what the inputs give\n",
    )
    statement = git(project, "show", "deploy:out/.cpuplan/provenance.json").stdout
    (project.parent / "statement.json").write_text(statement)
    words = ("--ref", "deploy", "--against-provenance", "../statement.json")
    assert _verify(project, capsys, *words)[0] == 0
    edit(project, "intents/core.yaml", "reserved: {cores: 2}", "reserved: {cores: 3}")
    code, told = _verify(project, capsys, "--ref", "deploy")
    assert code == 3
    assert "deploy:out/nodes/lab/core-core-hw" in told
    assert _verify(project, capsys, "--ref", "deploy", "--folder", "elsewhere")[0] == 3
    assert _verify(project, capsys, "--folder", "elsewhere")[0] == 2

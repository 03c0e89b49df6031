"""Commands that memory or the stack does not suffice for: told with the file, and no bug."""

import json
import sys
from pathlib import Path

import pytest

from cpuplan.cli.main import COMMANDS, run
from tests.bounds.child import run_in_child
from tests.projects import make_project

#: The first command's words are enough for none to end before it works.
_WORDS = {
    "import": ["lscpu.txt"],
    "propose": ["gather"],
    "merge-check": ["main"],
    "publish": ["--branch", "out"],
    "show": ["worker-0"],
    "simulate": ["worker-0"],
    "explain": ["worker-0", "0"],
    "check": ["worker-0"],
    "agent": ["--once"],
    "schema": ["Intent"],
}


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("error", [MemoryError(), RecursionError("maximum recursion depth")])
def test_every_command(
    name: str,
    error: Exception,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def exhausted(*_: object, **__: object) -> None:
        raise error

    monkeypatch.chdir(tmp_path)
    for file in ("lscpu.txt", "gather"):
        (tmp_path / file).write_text("")
    monkeypatch.setattr("click.core.Context.invoke", exhausted)
    assert run([*name.split(), *_WORDS.get(name, [])]) == 2
    told = capsys.readouterr().err
    assert "error[CP1175]" in told
    assert "CP901" not in told


@pytest.mark.slow
def test_memory(tmp_path: Path) -> None:
    """The file is named, in the format that was asked for."""
    made = make_project(tmp_path / "project")
    (made / "intents/large.yaml").write_text("a:\n" + "- {a: b, c: d}\n" * 400_000)
    ran = run_in_child(made, ["validate", "--format", "json"], memory=80 << 20, seconds=30)
    assert ran.code == 2, ran.printed
    report = json.loads(ran.printed[ran.printed.index("{") :])
    (finding,) = report["diagnostics"]
    assert finding["code"] == "CP1175"
    assert "read last is intents/large.yaml" in finding["message"]


def test_nesting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make_project(tmp_path / "project")

    def deep(number: int) -> int:
        return deep(number + 1) + 1

    monkeypatch.setattr("cpuplan.pipeline.load", lambda *_, **__: deep(sys.maxsize))
    assert run(["-C", str(made), "validate"]) == 2

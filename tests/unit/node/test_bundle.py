"""The bundle: it runs with nothing but Python, and is the same bytes each time."""

import ast
import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from cpuplan.node import bundle as archive
from cpuplan.node.bundle import Modules
from tests.hosts import make_root
from tests.machines.plans import plan, regular
from tests.projects import REPOSITORY

STATE = REPOSITORY / "out/clusters/edge/expected/state/du-ice-lake-6338n-1s.json"
NODE = "du-00"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundle") / "cpuplan.pyz"
    path.write_bytes(archive.build())
    return path


def run(bundle: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Without the packages of this environment (-S), its variables and its folder (-I)."""
    command = [sys.executable, "-I", "-S", str(bundle), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=bundle.parent)


def test_it_is_the_same_each_time(bundle: Path) -> None:
    assert bundle.read_bytes() == archive.build()


def test_it_has_what_nodes_need_and_no_more(bundle: Path) -> None:
    with zipfile.ZipFile(bundle) as opened:
        names = opened.namelist()
    assert {name.partition("/")[0] for name in names} == {
        *("__main__.py", "click", "cpuplan", "licenses", "yaml")
    }
    assert "cpuplan/node/server.py" in names
    # How long a search lasts is an option of every command.
    assert {name for name in names if "/solve/" in name} == {
        "cpuplan/solve/__init__.py",
        "cpuplan/solve/budget.py",
    }
    assert "cpuplan/language/model/intent.py" not in names
    # 2 MB; the solver alone has 100.
    assert bundle.stat().st_size < 4_000_000


def test_old_pythons_can_read_its_first_file() -> None:
    ast.parse(archive._MAIN, feature_version=(3, 6))
    assert b'f"' not in archive._MAIN  # 3.5 and older


def test_old_pythons_are_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    said = io.StringIO()
    monkeypatch.setattr(sys, "version_info", (3, 9, 2))
    monkeypatch.setattr(sys, "stderr", said)
    with pytest.raises(SystemExit) as ended:
        exec(archive._MAIN, {})  # noqa: S102 - our own text
    assert ended.value.code == 2
    assert said.getvalue().startswith("cpuplan needs Python 3.11 or later; this is Python 3.9 (")


@pytest.mark.parametrize("output_format", ["text", "json", "sarif", "junit", "jsonl"])
def test_it_checks_a_node(bundle: Path, tmp_path: Path, output_format: str) -> None:
    root = make_root(plan(regular(cores=4, threads=2), offlined="7"), tmp_path / "root")
    options = ["--state", str(STATE), "--root", str(root), "--format", output_format]
    ended = run(bundle, "check", NODE, *options)
    assert ended.returncode == 1, ended.stderr
    assert "CP802" in ended.stdout + ended.stderr


def test_it_is_an_agent(bundle: Path, tmp_path: Path) -> None:
    root = make_root(plan(regular(cores=4, threads=2), offlined="7"), tmp_path / "root")
    file = tmp_path / "cpuplan.prom"
    options = ["--state", str(STATE), "--root", str(root), "--textfile", str(file)]
    ended = run(bundle, "agent", "--node", NODE, "--once", *options)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert 'verdict="differs"' in file.read_text()


def test_it_explains_codes(bundle: Path) -> None:
    assert run(bundle, "explain", "CP811").stdout.startswith("CP811: boot argument missing\n")


def test_it_lists_and_has_its_own_commands_only(bundle: Path) -> None:
    commands = run(bundle, "--help").stdout.partition("Commands:")[2]
    assert "agent" in commands
    assert "simulate" not in commands
    ended = run(bundle, "compile")
    assert ended.returncode == 2
    assert "error[CP893]: cpuplan compile needs" in ended.stderr


def write(folder: Path, **texts: str) -> Modules:
    for name, text in texts.items():
        path = folder / name.replace("__", "/")
        path = path.with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        (path.parent / "__init__.py").touch()
    (folder / "__init__.py").touch()
    return Modules(folder)


def test_modules_that_cannot_be_loaded_are_left_out(tmp_path: Path) -> None:
    modules = write(
        tmp_path,
        root="from cpuplan.a import x\ndef f():\n    from cpuplan import b, c\n    import json\n",
        a="import click, re\nfrom typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from cpuplan import d\n",
        b="import pydantic\n",
        c="from cpuplan import b\n",
        d="",
        e="from cpuplan.f import g\n",
        f__g="",
        f__h="",
    )
    needed = modules.needed
    assert list(needed(["cpuplan.root"], ["click"])) == ["cpuplan", "cpuplan.a", "cpuplan.root"]
    assert not needed(["cpuplan.root"], [])
    assert set(needed(["cpuplan.c"], ["pydantic"])) == {"cpuplan", "cpuplan.b", "cpuplan.c"}
    assert set(needed(["cpuplan.e"], [])) == {"cpuplan", "cpuplan.e", "cpuplan.f", "cpuplan.f.g"}
    assert {"cpuplan.f.g", "cpuplan.f.h"} <= set(needed(["cpuplan.f."], []))

"""The registry of formats: cheap to load, and on the page that describes them."""

import subprocess
import sys
from pathlib import Path

import pytest

from cpuplan.importers.formats import FORMATS, detect
from tests.projects import REPOSITORY

PAGE = (REPOSITORY / "docs/importing.md").read_text()
#: Modules of the package that only reading needs.
PARSERS = ("reader", "tar", "sysfs", "nrt", "xml")


@pytest.mark.parametrize("name", FORMATS)
def test_is_on_the_page(name: str) -> None:
    assert f"\n| `{name}`" in PAGE


def test_looks_need_no_parser() -> None:
    code = "import sys; from cpuplan.importers import formats; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.split()
    names = [name for name in loaded if name.startswith("cpuplan.importers.")]
    assert "cpuplan.importers.hwloc" in names
    assert not [name for name in names if name.rpartition(".")[2] in PARSERS]


def test_looks_like_nothing(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("worker-0 has 64 CPUs\n")
    assert detect(tmp_path / "notes.txt") is None
    assert detect(tmp_path) is None
    assert detect(tmp_path / "missing") is None

"""Small projects for tests, and the command line run on them in this process."""

import shutil
from collections.abc import Sequence
from contextlib import chdir
from pathlib import Path

import pytest

from cpuplan.cli.main import run

REPOSITORY = Path(__file__).parents[1]
#: What people read, written by hand or generated.
DOCUMENTS = [*sorted(REPOSITORY.glob("*.md")), *sorted((REPOSITORY / "docs").rglob("*.md"))]
REJECTED = Path(__file__).parent / "rejected"
BASE = REJECTED / "base"
SHARED = REPOSITORY.parent / "shared"

needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason=f"recorded data is not at {SHARED}")


def make_project(target: Path, *layers: Path) -> Path:
    """A project from the base project and, over it, the files of each layer.

    An empty file takes a file away.
    """
    for layer in (BASE, *layers):
        for path in sorted(layer.rglob("*")):
            place = target / path.relative_to(layer)
            if path.is_dir():
                place.mkdir(parents=True, exist_ok=True)
            elif path.stat().st_size == 0 and place.exists():
                place.unlink()
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, place)
    return target


def run_in(
    folder: Path, arguments: Sequence[str], capture: pytest.CaptureFixture[str]
) -> tuple[int, str, str]:
    """Run a command in `folder`: its exit code, standard output and standard error."""
    capture.readouterr()
    with chdir(folder):
        code = run(list(arguments))
    printed = capture.readouterr()
    return code, printed.out, printed.err


def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No colour and a known width, whatever the terminal of the tests is."""
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")

"""Snapshots of nodes that were booted with what was compiled for them, in `tests/boot/`.

`python -m tests.boot.capture` takes them anew, after which their table says what is held.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from cpuplan.plan.expected import folder
from cpuplan.plan.expected.state import Expected
from tests import checked
from tests.boot import guests
from tests.mutation.image import Content, File

FOLDER = Path(__file__).parent


def names() -> Sequence[str]:
    """The guests that are captured."""
    return sorted(path.name.partition(".")[0] for path in FOLDER.glob("*.tar.xz"))


def archive(name: str) -> Path:
    """The snapshot of a guest."""
    return FOLDER / f"{name}.tar.xz"


@cache
def expected(name: str) -> Expected:
    """What a guest must show."""
    return checked.expected(guests.plan(name))


def compiled(expected: Expected) -> dict[str, Content]:
    """The files of the plan, as today's compiler has them: a boot tells nothing of their bytes."""
    files: dict[str, Content] = {
        path.lstrip("/"): File(file.text, 0o755 if file.is_executable else 0o644)
        for path, file in expected.files.items()
    }
    if not expected.platform.has_pools:
        files[folder.STAMP_PATH.lstrip("/")] = File(folder.render_stamp(folder.stamp_of(expected)))
    return files

"""Processes that are started for work: what lies in the folder of the caller is none of theirs."""

import os
import subprocess
import sys
from pathlib import Path

_PROGRAM = """\
import sys, threading
sys.path = [path for path in sys.path if path]
from cpuplan.workers import executors
from cpuplan.workers.work import Work
from tests.unit.workers.test_isolated import Doubled

threading.Thread(target=threading.Event().wait, daemon=True).start()
if __name__ == "__main__":
    print(*executors.in_processes(Doubled(), [slice(0, 1), slice(1, 2)], 2))
"""


class _Packed(bytes):
    def packed(self) -> bytes:
        return bytes(self)


class Doubled:
    """Work that says where it was done."""

    def prepare(self) -> None:
        """Nothing."""

    def part(self, chosen: slice) -> _Packed:
        return _Packed(b"%d" % (2 * chosen.stop))


def test_modules_of_the_working_folder_are_not_imported(tmp_path: Path) -> None:
    """Python would look there first for `multiprocessing` itself."""
    (tmp_path / "program").mkdir()
    program = tmp_path / "program/program.py"
    program.write_text(_PROGRAM)
    for name in ("multiprocessing", "signal", "threading", "pickle"):
        (tmp_path / f"{name}.py").write_text(f"open('ran', 'w').write({name!r})\n")
    top = str(Path(__file__).parents[3])
    done = subprocess.run(
        [sys.executable, str(program)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": top},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert not (tmp_path / "ran").exists()
    assert done.stdout == "b'2' b'4'\n", done.stderr

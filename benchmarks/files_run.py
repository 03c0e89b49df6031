"""Files of cpuplan with a function that runs in the first `compile` of the project of `init`.

`python -m benchmarks.files_run [COMMAND...]`: their number, with -v their names before it; ends
with 1 above the limit. Nothing is known of earlier runs.
"""

import os
import subprocess
import sys
import tempfile
from inspect import CO_OPTIMIZED  # of a function's code, and not of a class's or module's
from pathlib import Path
from types import FrameType

import cpuplan
from cpuplan.cli.main import run

LIMIT = 220
_PACKAGE = str(Path(cpuplan.__file__).parent)


def files_run(words: list[str]) -> set[str]:
    """The files in which a function runs during a command."""
    files: set[str] = set()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code.co_flags & CO_OPTIMIZED:
            files.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        run(words)
    finally:
        sys.setprofile(None)
    return {file for file in files if file.startswith(_PACKAGE)}


def main() -> int:
    """Print the number of files."""
    words = sys.argv[1:]
    command = [word for word in words if word != "-v"] or ["compile"]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        project = str(Path(folder, "first"))
        subprocess.run([sys.executable, "-m", "cpuplan", "init", project], check=True)
        files = files_run(["-C", project, *command])
    if "-v" in words:
        print("\n".join(sorted(files)))
    print(f"{' '.join(command)}: functions run in {len(files)} files; limit {LIMIT}")
    return int(len(files) > LIMIT)


if __name__ == "__main__":
    sys.exit(main())

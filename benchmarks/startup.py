"""Commands as whole processes, side by side with what they are measured against.

`python -m benchmarks.startup [RUNS]`: medians of interleaved runs on a copy of the sample, and
their ratios.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).parents[1]
CLICK = "import click"
READERS = "import click, pydantic, yaml"


class Row(NamedTuple):
    """A command, what it is compared with, and how much longer it may take."""

    name: str
    arguments: tuple[str, ...]
    peer: str
    limit: float
    fresh: bool = False  # without the record of what was judged before


ROWS = (
    Row("--help", ("--help",), CLICK, 1.5),
    Row("validate", ("validate",), READERS, 2),
    Row("compile, nothing changed", ("compile",), READERS, 2.5),
    Row("validate, no record", ("validate",), READERS, float("inf"), fresh=True),
    Row("compile --check", ("compile", "--check"), READERS, float("inf")),
)


def seconds(words: Sequence[str], cache: Path) -> float:
    """The wall time of one process, with its records in the folder `cache`."""
    # Without its cache of compiled modules, every process would compile cpuplan's and not its
    # peers'.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    kept["XDG_CACHE_HOME"] = str(cache)
    begin = time.perf_counter()
    subprocess.run(words, check=True, capture_output=True, env=kept)
    return time.perf_counter() - begin


def main() -> None:
    """Print a table."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    program = Path(sys.executable).with_name("cpuplan")
    with tempfile.TemporaryDirectory() as folder:
        sample = Path(folder, "sample")
        for name in ("inventories", "intents", "out"):
            shutil.copytree(REPOSITORY / name, sample / name)
        cache = Path(folder, "cache")
        seconds([str(program), "-C", str(sample), "compile"], cache)
        nowhere = Path(folder, "nowhere")  # a file is no folder for records
        nowhere.touch()
        print(f"{'command':<40}{'median ms':>10}{'peer ms':>10}{'ratio':>8}{'limit':>8}")
        for row in ROWS:
            command = [str(program), "-C", str(sample), *row.arguments]
            peer = [sys.executable, "-c", row.peer]
            records = nowhere if row.fresh else cache
            pairs = [(seconds(command, records), seconds(peer, records)) for _ in range(runs + 1)][
                1:
            ]
            mine, theirs = (statistics.median(times) * 1000 for times in zip(*pairs, strict=True))
            print(f"{row.name:<40}{mine:>10.1f}{theirs:>10.1f}{mine / theirs:>8.2f}{row.limit:>8}")


if __name__ == "__main__":
    main()

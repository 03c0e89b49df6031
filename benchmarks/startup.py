"""Commands as whole processes, side by side with what they are measured against.

`python -m benchmarks.startup [RUNS]`: medians of interleaved runs on a copy of the sample, and
(NEW) on the project that `init` makes, and their ratios; of CPU time, which other processes change
less.
"""

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).parents[1]
CLICK = "import click"
READERS = "import click, pydantic, yaml"
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: pinned}
spec:
  containers:
  - name: main
    resources: {limits: {cpu: "4", memory: 1Gi}}
"""


class Row(NamedTuple):
    """A command, what it is compared with, and how much longer it may take."""

    name: str
    arguments: tuple[str, ...]
    peer: str
    limit: float
    fresh: bool = False  # without the record of what was judged before
    is_new: bool = False  # on the project of `init`


#: What a record can answer (`cpuplan/cli/recorded.py`).
ANSWERED = (
    ("show", ("show", "worker-0")),
    ("explain", ("explain", "worker-0", "2", "--no-alternatives")),
    ("simulate", ("simulate", "worker-0", "pod.yaml")),
)
ROWS = (
    Row("--help", ("--help",), CLICK, 1.5),
    Row("validate", ("validate",), READERS, 2),
    Row("compile, nothing changed", ("compile",), READERS, 2.5),
    Row("validate, no record", ("validate",), READERS, float("inf"), fresh=True),
    Row("compile --check", ("compile", "--check"), READERS, float("inf")),
    *(Row(f"NEW {name}", words, READERS, 2, is_new=True) for name, words in ANSWERED),
    *(
        Row(f"NEW {name}, no record", words, READERS, limit, fresh=True, is_new=True)
        for (name, words), limit in zip(ANSWERED, (3.5, 3.5, 4), strict=True)
    ),
    # A gate asks no record: this is always a first run.
    Row("NEW compile --check", ("compile", "--check"), READERS, 4.5, is_new=True),
)


def seconds(words: Sequence[str], cache: Path) -> float:
    """The CPU time of one process, with its records in the folder `cache`."""
    # Without its cache of compiled modules, every process would compile cpuplan's and not its
    # peers'.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    kept["XDG_CACHE_HOME"] = str(cache)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, check=True, capture_output=True, env=kept, cwd=cache.parent)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


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
        new = Path(folder, "new")
        seconds([str(program), "init", str(new)], cache)
        seconds([str(program), "-C", str(new), "compile"], cache)
        Path(folder, "pod.yaml").write_text(POD)
        nowhere = Path(folder, "nowhere")  # a file is no folder for records
        nowhere.touch()
        print(f"{'command':<40}{'median ms':>10}{'peer ms':>10}{'ratio':>8}{'limit':>8}")
        for row in ROWS:
            command = [str(program), "-C", str(new if row.is_new else sample), *row.arguments]
            peer = [sys.executable, "-c", row.peer]
            records = nowhere if row.fresh else cache
            pairs = [(seconds(command, records), seconds(peer, records)) for _ in range(runs + 1)][
                1:
            ]
            mine, theirs = (statistics.median(times) * 1000 for times in zip(*pairs, strict=True))
            print(f"{row.name:<40}{mine:>10.1f}{theirs:>10.1f}{mine / theirs:>8.2f}{row.limit:>8}")


if __name__ == "__main__":
    main()

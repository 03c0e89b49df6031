"""`cpuplan import` as a whole process, beside what it is measured against, in bounded memory.

`python -m benchmarks.import [RUNS]`: medians of interleaved runs. Recorded machines are looked for
in `../shared`, and what needs one is skipped with the reason where it is not there; the largest
machine is made here, on a file system in memory, since it has 104,000 files.
"""

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.machines import make_must_gather, make_root

REPOSITORY = Path(__file__).parents[1]
SHARED = REPOSITORY.parent / "shared"
READERS = (sys.executable, "-c", "import click, pydantic, yaml")
#: As the console script does, but always of this checkout.
PROGRAM = (sys.executable, "-c", "from cpuplan.__main__ import main; main()", "import")


class Row(NamedTuple):
    """A command, its peer or None, and how many times as long, or how many seconds, it may take."""

    name: str
    words: Sequence[str]
    peer: Sequence[str] | None
    limit: float


class SkipError(Exception):
    """Why a row cannot be measured here."""


def unpacked(folder: Path) -> Row:
    """A machine of 112 CPUs: gather-sysinfo's snapshot of a two-socket server, 19,000 files."""
    archive = SHARED / "corpus/intel-2s-112c-ocp-master/sysroot.tar.xz"
    if not archive.exists():
        raise SkipError(f"there is no {archive}")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="tar")
    return Row("112 CPUs, a folder", (*PROGRAM, str(folder), "--stdout"), READERS, 2.5)


def largest(folder: Path) -> Row:
    """A machine of 1,920 CPUs beside lscpu, which reads less.

    It prints no distances, memory, huge pages or devices.
    """
    if not shutil.which("lscpu"):
        raise SkipError("there is no lscpu")
    cpus = make_root(folder, 16)
    return Row(
        f"{cpus:,} CPUs, a folder",
        (*PROGRAM, str(folder), "--stdout"),
        ("lscpu", "-s", str(folder), "-p"),
        3,
    )


def fleet(folder: Path) -> Row:
    """Seconds for a must-gather of 100 nodes whose snapshots have up to 19,000 members."""
    samples = sorted((SHARED / "vectors/nto/must-gather").glob("real-*/*/nodes/*/sysinfo.tgz"))
    if not samples:
        raise SkipError(f"there is no must-gather in {SHARED / 'vectors/nto/must-gather'}")
    make_must_gather(folder, samples, 100)
    return Row("100 nodes, a must-gather", (*PROGRAM, str(folder), "--stdout"), None, 20)


ROWS: tuple[Callable[[Path], Row], ...] = (unpacked, largest, fleet)


class Run(NamedTuple):
    """Wall time in seconds and peak memory in MiB of one process."""

    seconds: float
    memory: float


def run(words: Sequence[str], environment: dict[str, str]) -> Run:
    """Run one process; wait4(2) tells its own peak, not that of all children."""
    begin = time.perf_counter()
    with subprocess.Popen(
        words, cwd=REPOSITORY, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - begin
    if process.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {process.returncode}")
    return Run(seconds, usage.ru_maxrss / 1024)


def measure(row: Row, runs: int, environment: dict[str, str]) -> None:
    """Print a line of the table. The first run of each is not counted: it fills caches."""
    mine, theirs = [], []
    for _ in range(runs + 1):
        mine.append(run(row.words, environment))
        if row.peer:
            theirs.append(run(row.peer, environment))
    median = statistics.median(run.seconds for run in mine[1:])
    peak = max(run.memory for run in mine)
    other = statistics.median(run.seconds for run in theirs[1:]) if theirs else 0
    ratio, limit = (f"{median / other:.2f}", f"{row.limit}") if other else ("", f"{row.limit} s")
    peer = f"{other * 1000:.0f}" if other else ""
    print(
        f"{row.name:<28}{median * 1000:>10.0f}{peer:>10}{ratio:>8}{limit:>8}{peak:>10.0f}",
        flush=True,
    )


def main() -> None:
    """Print a table."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 - a private folder is made in it
    print(
        f"{'machine':<28}{'median ms':>10}{'peer ms':>10}{'ratio':>8}{'limit':>8}{'peak MiB':>10}"
    )
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        # Compiled modules are kept, as an installed program has them, but not in the checkout.
        kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        environment = {**kept, "PYTHONPYCACHEPREFIX": f"{folder}/compiled"}
        for prepare in ROWS:
            place = Path(folder, prepare.__name__)
            try:
                row = prepare(place)
            except SkipError as reason:
                print(f"{prepare.__name__:<28}skipped: {reason}")
                continue
            measure(row, runs, environment)
            shutil.rmtree(place)
    print(
        f"the benchmark itself: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB"
    )


if __name__ == "__main__":
    main()

"""OpenShift's work as whole processes, in CPU time, beside what its own programs take.

`python -m benchmarks.openshift [RUNS]`: medians. The operator's `render` takes 8 ms of CPU for each
further profile; the profile creator 8.9 s on a disk and 1.15 s on a RAM disk for the largest
recorded must-gather (Intel Xeon, two cores, Go 1.27). Recorded must-gathers are looked for in
`../shared`.
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

REPOSITORY = Path(__file__).parents[1]
LARGEST = REPOSITORY.parent / "shared/vectors/nto/must-gather/real-bare-metal"
READERS = (sys.executable, "-c", "import click, pydantic, yaml")
#: As the console script does, but always of this checkout.
PROGRAM = (sys.executable, "-c", "from cpuplan.__main__ import main; main()")
MANY = 50

INVENTORY = """\
apiVersion: cpuplan.io/v1alpha1
kind: Hardware
metadata: {name: server}
spec:
  vendor: GenuineIntel
  modelNumber: 106
  regular: {sockets: 2, coresPerSocket: 28, threadsPerCore: 2, memoryPerNumaNode: 128Gi}
"""
PROFILE = """\
---
apiVersion: performance.openshift.io/v2
kind: PerformanceProfile
metadata: {name: profile-%(number)d}
spec:
  cpu: {reserved: "0-1,56-57", isolated: "2-55,58-111"}
  hugepages: {defaultHugepagesSize: 1G, pages: [{size: 1G, count: %(number)d}]}
  realTimeKernel: {enabled: true}
  nodeSelector: {node-role.kubernetes.io/pool-%(number)d: ""}
"""
NODES = """\
---
apiVersion: cpuplan.io/v1alpha1
kind: Nodes
metadata: {name: nodes-%(number)d}
spec:
  cluster: lab
  hardware: server
  labels: {node-role.kubernetes.io/pool-%(number)d: ""}
  nodes: [{name: "node-%(number)d"}]
"""


def cpu_seconds(words: Sequence[str], folder: Path) -> float:
    """User and system time of one process."""
    # Without its cache of compiled modules, every process would compile cpuplan's and not its
    # peers'.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, check=True, capture_output=True, cwd=folder, env=kept)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def make_project(folder: Path, profiles: int) -> Path:
    """A project of `profiles` PerformanceProfiles as they are, each for a node; compiled, so that
    it has a lock.
    """
    numbers = [{"number": number} for number in range(1, profiles + 1)]
    for name, text in (
        ("inventories/site.yaml", INVENTORY + "".join(NODES % number for number in numbers)),
        ("intents/profiles.yaml", "".join(PROFILE % number for number in numbers)),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    subprocess.run((*PROGRAM, "compile"), check=True, capture_output=True, cwd=folder)
    return folder


def compile_anew(folder: Path) -> float:
    """CPU time of a compilation that has a lock and writes every file."""
    shutil.rmtree(folder / "out")
    return cpu_seconds((*PROGRAM, "compile"), folder)


def main() -> None:
    """Print a table."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    with tempfile.TemporaryDirectory() as folder:
        one, many = (make_project(Path(folder, str(count)), count) for count in (1, MANY))
        rows = [
            (compile_anew(one), compile_anew(many), cpu_seconds(READERS, one)) for _ in range(runs)
        ]
        single, all_of_them, peer = (
            statistics.median(times) * 1000 for times in zip(*rows, strict=True)
        )
        print(
            f"one profile, compiled with a lock: {single:.0f} ms, "
            f"{single / peer:.1f} times {' '.join(READERS[2:])}"
        )
        print(
            f"each further profile: {(all_of_them - single) / (MANY - 1):.1f} ms, "
            "the operator's render 8 ms"
        )
        if not LARGEST.exists():
            print(f"skipped: there is no {LARGEST}")
            return
        words = (
            *PROGRAM,
            "propose",
            str(LARGEST),
            "--pool",
            "master",
            "--reserved",
            "4",
            "--stdout",
        )
        proposed = statistics.median(cpu_seconds(words, one) for _ in range(runs))
        print(
            f"an intent from a must-gather: {proposed:.2f} s, "
            "the profile creator 8.9 s, or 1.15 s in memory"
        )


if __name__ == "__main__":
    main()

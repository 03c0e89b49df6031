"""OpenShift's work as whole processes, in CPU time, run by run beside OpenShift's own programs.

`python -m benchmarks.openshift [RUNS]`: medians. The programs are looked for on the PATH; where one
is absent, its line has no ratio. Recorded must-gathers are looked for in `../shared`.
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
#: OpenShift's programs, both of openshift/cluster-node-tuning-operator.
OPERATOR, CREATOR = "cluster-node-tuning-operator", "performance-profile-creator"

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
POOL = """\
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata:
  name: pool-%(number)d
  labels: {machineconfiguration.openshift.io/role: pool-%(number)d}
spec:
  nodeSelector:
    matchLabels: {node-role.kubernetes.io/pool-%(number)d: ""}
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
    """A project, compiled and so with a lock, of `profiles` PerformanceProfiles for a node each."""
    numbers = [{"number": number} for number in range(1, profiles + 1)]
    for name, text in (
        ("inventories/site.yaml", INVENTORY + "".join(NODES % number for number in numbers)),
        ("intents/profiles.yaml", "".join(PROFILE % number for number in numbers)),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    subprocess.run((*PROGRAM, "compile"), check=True, capture_output=True, cwd=folder)
    return folder


def _put_aside(folder: Path) -> None:
    """Let a folder be written anew.

    It is not deleted: for some seconds, ext4 searches the inodes of deleted files whenever a file
    is created (fs/ext4/ialloc.c, recently_deleted), which takes as long as the work measured here.
    """
    if folder.exists():
        folder.rename(tempfile.mkdtemp(dir=folder.parents[1]))


def compile_anew(folder: Path) -> float:
    """CPU time of a compilation that has a lock and writes every file."""
    _put_aside(folder / "out")
    return cpu_seconds((*PROGRAM, "compile"), folder)


def operator_input(folder: Path, profiles: int) -> Path:
    """The same profiles for the operator's `render`, with the pools that they select."""
    numbers = [{"number": number} for number in range(1, profiles + 1)]
    texts = {"profile": PROFILE, "pool": POOL}
    for name, text in texts.items():
        for values in numbers:
            path = folder / "input" / f"{name}-{values['number']}.yaml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text % values)
    return folder


def render(folder: Path) -> float:
    """CPU time of the operator's `render`, which writes every file."""
    _put_aside(folder / "output")
    words = (OPERATOR, "render", "--asset-input-dir", "input", "--asset-output-dir", "output")
    return cpu_seconds(words, folder)


def compare(name: str, own: Sequence[float], peer: str, theirs: Sequence[float]) -> str:
    """A line of medians in milliseconds; a ratio only where the peer ran beside it."""
    time = statistics.median(own) * 1000
    if not theirs:
        return f"{name}: {time:.1f} ms ({peer} is not installed: nothing to compare with)"
    other = statistics.median(theirs) * 1000
    return f"{name}: {time:.1f} ms, {peer} {other:.1f} ms, {time / other:.2f} times"


def measure_profiles(folder: Path, runs: int) -> None:
    """Compile one profile and many, each run beside those of its peers."""
    single_project, project_of_many = (
        make_project(folder / str(count), count) for count in (1, MANY)
    )
    has_operator = shutil.which(OPERATOR) is not None
    inputs = [operator_input(folder / f"operator-{count}", count) for count in (1, MANY)]
    singles, readers, shares, operators = [], [], [], []
    for _ in range(runs):
        single, all_of_them = compile_anew(single_project), compile_anew(project_of_many)
        singles.append(single)
        shares.append((all_of_them - single) / (MANY - 1))
        readers.append(cpu_seconds(READERS, single_project))
        if has_operator:
            first, rest = map(render, inputs)
            operators.append((rest - first) / (MANY - 1))
    print(compare("one profile, compiled with a lock", singles, READERS[2], readers))
    print(compare("each further profile", shares, f"{OPERATOR} render", operators))


def measure_proposals(folder: Path, runs: int) -> None:
    """Propose an intent for a pool of the largest recorded must-gather."""
    if not LARGEST.exists():
        print(f"skipped: there is no {LARGEST}")
        return
    numbers = ("--pool", "master", "--reserved", "4", "--stdout")
    words = (*PROGRAM, "propose", str(LARGEST), *numbers)
    flags = ("--mcp-name=master", "--reserved-cpu-count=4", "--rt-kernel=false")
    peer = (CREATOR, f"--must-gather-dir-path={LARGEST}", *flags)
    own, theirs = [], []
    for _ in range(runs):
        own.append(cpu_seconds(words, folder))
        if shutil.which(CREATOR):
            theirs.append(cpu_seconds(peer, folder))
    print(compare("an intent from a must-gather", own, CREATOR, theirs))


def main() -> None:
    """Print a line for each kind of work."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    with tempfile.TemporaryDirectory() as folder:
        measure_profiles(Path(folder), runs)
        measure_proposals(Path(folder), runs)


if __name__ == "__main__":
    main()

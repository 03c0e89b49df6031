"""`cpuplan check` of a large captured node, side by side with reading its files and nothing else.

`python -m benchmarks.check [RUNS [THREADS]]`: a copy of a node with 256 CPUs, 2,000 threads in 400
processes and 800 interrupts, as a folder and as an archive. Processor time of whole processes,
medians of interleaved runs, in one run. The peer reads each file once, by Python, in the order of
the folders.
"""

import resource
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from cpuplan import pipeline
from tests.hosts import make_root

PROJECT = """\
apiVersion: cpuplan.io/v1alpha1
kind: Hardware
metadata: {name: large}
spec:
  vendor: GenuineIntel
  regular: {sockets: 2, coresPerSocket: 64, threadsPerCore: 2, memoryPerNumaNode: 256Gi}
---
apiVersion: cpuplan.io/v1alpha1
kind: Nodes
metadata: {name: lab}
spec: {cluster: lab, hardware: large, nodes: [{name: large-0}]}
---
apiVersion: cpuplan.io/v1alpha1
kind: Intent
metadata: {name: large}
spec:
  selector: {nodes: [large-0]}
  targets: [{platform: kubernetes, version: "1.34", runtime: crio}]
  pools: {reserved: {cores: 4, per: numaNode}, isolated: rest}
"""
PEER = """
import os, sys
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        with open(os.path.join(folder, name), "rb") as file:
            file.read()
"""
THREADS_OF_A_PROCESS, INTERRUPTS = 5, 800


def _processes(threads: int, services: str) -> Iterator[tuple[str, str]]:
    """Files of /proc for user threads; all where system services may be."""
    for number in range(threads):
        leader = 1000 + number - number % THREADS_OF_A_PROCESS
        task = 1000 + number
        folder = f"proc/{leader}/task/{task}"
        status = f"Name:\tserver\nTgid:\t{leader}\nPid:\t{task}\nCpus_allowed_list:\t{services}\n"
        zeros = " 0" * 30
        yield f"{folder}/status", status
        yield (
            f"{folder}/stat",
            f"{task} (server) S 1 {leader} {leader} 0 -1 4194560{zeros} 0 1 0 0\n",
        )
        yield f"{folder}/comm", "server\n"
        if task == leader:
            yield f"proc/{leader}/status", status
            yield f"proc/{leader}/stat", _stat(task, leader)
            yield f"proc/{leader}/comm", "server\n"
            yield f"proc/{leader}/cmdline", "/usr/bin/server\0"
            yield f"proc/{leader}/cgroup", "0::/system.slice/server.service\n"


def _stat(task: int, leader: int) -> str:
    """The line of a user thread (proc_pid_stat(5)): its flags are the ninth field."""
    return f"{task} (server) S 1 {leader} {leader} 0 -1 4194560{' 0' * 30} 0 1 0 0\n"


def _interrupts(services: str) -> Iterator[tuple[str, str]]:
    for number in range(INTERRUPTS):
        folder = f"proc/irq/{number}"
        yield f"{folder}/smp_affinity_list", f"{services}\n"
        yield f"{folder}/effective_affinity_list", f"{services.split('-', maxsplit=1)[0]}\n"
        yield f"{folder}/node", "0\n"
        yield f"{folder}/queue-{number}/none", ""


def make(folder: Path, threads: int) -> tuple[Path, Path]:
    """The project, compiled, and the root of its node."""
    project, root = folder / "project", folder / "root"
    for name in ("inventories", "intents"):
        (project / name).mkdir(parents=True)
    *inventory, intent = PROJECT.split("---\n")
    (project / "inventories/site.yaml").write_text("---\n".join(inventory))
    (project / "intents/main.yaml").write_text(intent)
    subprocess.run([sys.executable, "-m", "cpuplan", "-C", project, "compile", "-q"], check=True)
    plan, _ = pipeline.solve(pipeline.load(project))
    node = plan.by_node["lab", "large-0"]
    make_root(node, root)
    services = str(node.pool("reserved").cpus)
    for path, text in (*_processes(threads, services), *_interrupts(services)):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return project, root


def seconds(words: Sequence[str | Path]) -> float:
    """The processor time of one process, whatever it says of the node."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = subprocess.run(words, capture_output=True, check=False)
    if ended.returncode not in (0, 1) or b"Traceback" in ended.stderr:
        raise SystemExit(ended.stderr.decode())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _archive(root: Path, file: Path) -> Path:
    with tarfile.open(file, "w:gz", compresslevel=1) as archive:
        archive.add(root, arcname=".")
    return file


def _times(words: Sequence[str | Path], runs: int) -> list[float]:
    """Of runs after a first one, which fills caches."""
    return [seconds(words) for _ in range(runs + 1)][1:]


def main() -> None:
    """Print a table."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    threads = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    with tempfile.TemporaryDirectory() as place:
        project, root = make(Path(place), threads)
        options = ("check", "large-0", "-q", "--root")
        check: list[str | Path] = [sys.executable, "-m", "cpuplan", "-C", project, *options]
        archive = _archive(root, Path(place, "root.tar.gz"))
        rows: dict[str, list[str | Path]] = {
            "check, folder": [*check, root],
            "check, archive": [*check, archive],
            "read each file": [sys.executable, "-c", PEER, root],
            "start of Python": [sys.executable, "-c", ""],
        }
        times = {name: _times(words, runs) for name, words in rows.items()}
        print(f"{'256 CPUs, ' + format(threads, ',') + ' threads':<32}{'CPU ms':>10}")
        for name, took in times.items():
            print(f"{name:<32}{statistics.median(took) * 1000:>10.0f}")


if __name__ == "__main__":
    main()

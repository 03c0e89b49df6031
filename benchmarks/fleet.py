"""Fleets as whole processes: CPU seconds and peak memory of what a large project is asked for.

`python -m benchmarks.fleet [--nodes N] [--classes M] [--clusters C] [--runs R] [--also PYTHON ...]`
makes a fleet with a fixed seed in a temporary folder and prints medians. Each `--also` is the
interpreter of another checkout's environment, which is measured in the same run, in turn. There is
a limit for the fleet of the defaults.
"""

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

#: Server models: sockets, cores of a socket, GiB of a NUMA node.
MODELS = [(sockets, cores, 64 * sockets) for sockets in (1, 2) for cores in range(16, 36, 2)]
HARDWARE = """\
apiVersion: cpuplan.io/v1alpha1
kind: Hardware
metadata: {name: model-%d}
spec:
  vendor: GenuineIntel
  modelNumber: 106
  regular: {sockets: %d, coresPerSocket: %d, threadsPerCore: 2, memoryPerNumaNode: %dGi}
"""
NODES = """\
---
apiVersion: cpuplan.io/v1alpha1
kind: Nodes
metadata: {name: %(name)s}
spec:
  cluster: %(cluster)s
  hardware: model-%(model)d
  labels: {role: %(role)s}
  nodes: [{name: "%(name)s-[0000-%(last)04d]"}]
"""
INTENT = """\
apiVersion: cpuplan.io/v1alpha1
kind: Intent
metadata: {name: %(role)s}
spec:
  selector: {matchLabels: {role: %(role)s}}
  targets: [{platform: kubernetes, version: "1.36"%(mechanism)s, runtime: crio}]
  pools:
    reserved: {cores: %(reserved)d}
%(shared)s    isolated: rest
"""
CLUSTER = """\
apiVersion: cpuplan.io/v1alpha1
kind: Cluster
metadata: {name: %s}
spec:
  nodeResourceTopology: {exporter: %s, crd: %s}
"""
#: Every so many intents, pods get their CPUs from Koordinator.
KOORDINATOR = 10
EXPORTER = "resource-topology-exporter", "scheduler-plugins"
#: At most, for the fleet of the defaults: CPU seconds; memory is the same for all.
LIMITS = {"cold": 3.0, "a comment": 0.7, "one intent": 1.5, "--check": 1.6}
MEMORY = 200
#: The change of one intent, and its kind of change that changes nothing.
EDITED = "intents/role-1.yaml"


class Measured(NamedTuple):
    """User and system time of a process in seconds, and its peak memory in MiB."""

    cpu: float
    memory: float


def make_fleet(folder: Path, nodes: int, classes: int, clusters: int, seed: int = 18) -> None:
    """Write the documents of a fleet: classes of unlike sizes, `nodes` in all."""
    models = min(len(MODELS), classes)
    for name in ("inventories", "intents"):
        (folder / name).mkdir(parents=True)
    hardware = [HARDWARE % (index, *MODELS[index]) for index in range(models)]
    (folder / "inventories/hardware.yaml").write_text("---\n".join(hardware))
    groups: dict[str, str] = {}
    for index, size in enumerate(_sizes(nodes, classes, seed)):
        number, model = divmod(index, models)
        role, cluster = f"role-{number}", f"site-{number % clusters}"
        facts = {"name": f"{role}-{model}", "cluster": cluster, "model": model, "role": role}
        groups[role] = groups.get(role, "") + NODES % {**facts, "last": size - 1}
    for number, (role, text) in enumerate(groups.items()):
        (folder / f"inventories/{role}.yaml").write_text(text)
        (folder / f"intents/{role}.yaml").write_text(_intent(number, role))
    for number in range(0, clusters, 2):
        text = CLUSTER % (f"site-{number}", *EXPORTER)
        (folder / f"inventories/site-{number}.yaml").write_text(text)


def _intent(number: int, role: str) -> str:
    is_koordinator = number % KOORDINATOR == KOORDINATOR - 1
    return INTENT % {
        "role": role,
        "mechanism": ", mechanism: koordinator" if is_koordinator else "",
        "reserved": 2 + number % 3,
        "shared": "" if is_koordinator else "    shared: {cores: 2}\n",
    }


def _sizes(nodes: int, classes: int, seed: int) -> Iterator[int]:
    """Numbers of nodes whose sum is `nodes`; none is zero."""
    numbers = random.Random(seed)  # noqa: S311 - the same in every run
    cuts = sorted(numbers.sample(range(1, nodes), classes - 1))
    for start, end in zip([0, *cuts], [*cuts, nodes], strict=True):
        yield end - start


class Version:
    """A checkout, by its interpreter, and a project that it compiles."""

    def __init__(self, python: str, folder: Path) -> None:
        self.python, self.folder = python, folder
        self.project = folder / "project"
        self.measured: dict[str, list[Measured]] = {}

    def run(self, what: str, *words: str) -> None:
        """Measure a process."""
        places = {"XDG_CACHE_HOME": str(self.folder / "cache"), "HOME": str(self.folder)}
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        command = (self.python, "-m", "cpuplan", *words)
        process = subprocess.Popen(
            command,
            cwd=self.project,
            env={**kept, **places},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        assert process.stderr is not None
        said = process.stderr.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)}: {said[-2000:]}")
        run = Measured(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
        self.measured.setdefault(what, []).append(run)

    def edit(self, old: str, new: str) -> None:
        """Change one intent."""
        path = self.project / EDITED
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    def forget(self) -> None:
        """Begin again. Files are not deleted: ext4 would search for their inodes for some time."""
        aside = Path(tempfile.mkdtemp(dir=self.folder))
        for path in (self.project / "out", self.project / "intents/plan.lock.yaml"):
            if path.exists():
                path.rename(aside / path.name)
        shutil.rmtree(self.folder / "cache", ignore_errors=True)

    def measure(self, number: int) -> None:
        """One run of each kind of work."""
        self.forget()
        self.run("cold", "compile")
        self.run("nothing changed", "compile")
        self.edit("kind: Intent", f"kind: Intent # {number}")
        self.run("validate", "validate")
        self.run("a comment", "compile")
        self.run("--check", "compile", "--check")
        self.edit("shared: {cores: 2}", "shared: {cores: 3}")
        self.run("one intent", "compile")
        self.edit("shared: {cores: 3}", "shared: {cores: 2}")


def tell(versions: list[Version], *, is_default: bool) -> None:
    """A line for each kind of work: medians of each version, and the limit."""
    for what in versions[0].measured:
        parts = []
        for version in versions:
            cpu = statistics.median(run.cpu for run in version.measured[what])
            memory = statistics.median(run.memory for run in version.measured[what])
            parts.append(f"{cpu:6.2f} s {memory:5.0f} MiB")
        limit = f"  at most {LIMITS[what]} s, {MEMORY} MiB" if what in LIMITS and is_default else ""
        print(f"{what:16} {'   '.join(parts)}{limit}")


def main() -> None:
    """Make the fleet, measure, and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.fleet")
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--classes", type=int, default=200)
    parser.add_argument("--clusters", type=int, default=4)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--also", action="append", default=[], metavar="PYTHON")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        versions = []
        for number, python in enumerate([sys.executable, *given.also]):
            version = Version(python, Path(folder, str(number)))
            make_fleet(version.project, given.nodes, given.classes, given.clusters)
            versions.append(version)
        for number in range(given.runs):
            for version in versions:
                version.measure(number)
        tell(versions, is_default=(given.nodes, given.classes) == (10_000, 200))


if __name__ == "__main__":
    main()

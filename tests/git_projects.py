"""Projects in Git repositories: branches that are compiled, merged and mended as a team does it."""

import os
import shutil
import subprocess
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

from cpuplan.cli.main import run

ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    **{
        f"GIT_{who}_{what}": "test" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    },
}

HARDWARE = """\
apiVersion: cpuplan.io/v1alpha1
kind: Hardware
metadata: {name: %s}
spec:
  regular: {sockets: 2, coresPerSocket: %d, threadsPerCore: 2, memoryPerNumaNode: 16Gi}
"""
NODES = """\
apiVersion: cpuplan.io/v1alpha1
kind: Nodes
metadata: {name: %s}
spec:
  cluster: %s
  hardware: %s
  labels: {role: %s}
  nodes:
  - name: %s
"""
INTENT = """\
apiVersion: cpuplan.io/v1alpha1
kind: Intent
metadata: {name: %s}
spec:
  selector: {matchLabels: {role: %s}}
  targets:
  - %s
  pools:
    reserved: {cores: 2}
    shared: {cores: 1}
    isolated: rest
"""
OPENSHIFT = '{platform: openshift, version: "4.20", pool: worker-%s}'
KUBERNETES = '{platform: kubernetes, version: "1.36", runtime: crio}'


def git(folder: Path, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run Git in `folder`, with no configuration but the repository's."""
    command = ["git", "-c", "init.defaultBranch=main", *words]
    return subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=check
    )


def cpuplan(folder: Path, *words: str) -> int:
    """Run cpuplan in `folder`; its exit code."""
    with chdir(folder):
        return run(list(words))


def write(project: Path, name: str, text: str) -> None:
    path = project / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def add_class(
    project: Path, name: str, cluster: str = "lab", target: str = KUBERNETES, cores: int = 8
) -> None:
    """Nodes of one more class, with an intent of its own."""
    write(project, f"inventories/{name}.yaml", HARDWARE % (f"{name}-hw", cores))
    write(
        project,
        f"inventories/{name}-nodes.yaml",
        NODES % (name, cluster, f"{name}-hw", name, f"{name}-[0-2]"),
    )
    write(project, f"intents/{name}.yaml", INTENT % (name, name, target))


def edit(project: Path, name: str, old: str, new: str) -> None:
    path = project / name
    text = path.read_text()
    assert old in text, (name, old)
    path.write_text(text.replace(old, new, 1))


def repository(place: Path) -> Path:
    """A project of four classes in two clusters, begun with `init`, compiled and committed."""
    assert cpuplan(place.parent, "init", place.name) == 0
    (place / "inventories/example.yaml").unlink()
    (place / "intents/example.yaml").unlink()
    add_class(place, "core")
    add_class(place, "du", target=OPENSHIFT % "du", cluster="edge")
    add_class(place, "hft")
    add_class(place, "upf", target=OPENSHIFT % "upf", cluster="edge")
    assert cpuplan(place, "compile") == 0
    git(place, "init", "-q")
    commit(place, "base")
    return place


def commit(project: Path, message: str) -> None:
    git(project, "add", "-A")
    git(project, "commit", "-q", "--allow-empty", "-m", message)


def branch(project: Path, name: str, change: Callable[[Path], None]) -> None:
    """A branch of the base with one change, compiled and committed."""
    git(project, "checkout", "-q", "-b", name, "main")
    change(project)
    assert cpuplan(project, "compile", "--allow-removal") == 0, name
    commit(project, name)


def merge(project: Path, ours: str, theirs: str) -> bool:
    """Merge; whether Git found no conflict."""
    git(project, "checkout", "-q", "-B", "merged", ours)
    return git(project, "merge", "-q", "--no-edit", theirs, check=False).returncode == 0


def conflicts(project: Path) -> list[str]:
    """The files that Git could not merge."""
    return sorted(set(git(project, "diff", "--name-only", "--diff-filter=U").stdout.split()))


def fresh_check(project: Path, place: Path) -> int:
    """What `compile --check` says of a fresh clone of what is committed."""
    shutil.rmtree(place, ignore_errors=True)
    git(project, "clone", "-q", str(project), str(place))
    return cpuplan(place, "compile", "--check")

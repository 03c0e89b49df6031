"""Steps that a `case.yaml` of `tests/rejected/` names, in order, before its command runs.

A step is a name, or a mapping: its first key is the name, whose value is the first argument, and
the other keys are the further arguments. Paths begin at the project's folder.

    steps:
    - run: compile
    - replace: intents/main.yaml
      old: 'cores: 1'
      new: 'cores: 2'
"""

import gzip
import io
import json
import os
import shlex
import subprocess
import tarfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any, TypeAlias, TypeVar
from urllib.parse import quote

from cpuplan import pipeline
from cpuplan.base.cpuset import CpuSet, union
from cpuplan.cli import main
from cpuplan.upstream.kubelet import manager
from cpuplan.upstream.kubelet.cpumanager import state
from tests import git_projects, kubepods, processes
from tests.hosts import CPU, make_root

Step: TypeAlias = str | Mapping[str, Any]
Result = TypeVar("Result")

#: The CPUs of worker-0.
ONLINE = "0-15"
#: So that a commit has the same name whenever it is made.
_WHEN = {"GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}
#: One core of two threads: enough for an import.
_SMALLEST = {
    f"{CPU}/present": "0-1\n",
    f"{CPU}/online": "0-1\n",
    f"{CPU}/cpu0/topology/thread_siblings_list": "0-1\n",
    "proc/cpuinfo": (
        "vendor_id\t: GenuineIntel\nflags\t\t: lm\nmodel name\t: Intel(R) Xeon(R) Gold 6438N\n"
    ),
}


def call(functions: Mapping[str, Callable[..., Result]], step: Step, project: Path) -> Result:
    """What the function that a step names does with its arguments."""
    if isinstance(step, str):
        return functions[step](project)
    (name, first), *others = step.items()
    return functions[name](project, first, **dict(others))


def run(project: Path, words: str, ends: int = 0) -> None:
    """A command of cpuplan, and the exit code with which it ends."""
    with redirect_stderr(io.StringIO()):
        assert main.run(["-C", str(project), *shlex.split(words)]) == ends


def git(project: Path, words: str) -> None:
    """A command of Git; the same commit has the same name everywhere."""
    command = ["git", "-c", "init.defaultBranch=main", *shlex.split(words)]
    environment = {**git_projects.ENVIRONMENT, **_WHEN}
    subprocess.run(command, cwd=project, env=environment, capture_output=True, check=True)


def repository(project: Path) -> None:
    """A repository without a commit."""
    for words in ("init -q", "config user.name a", "config user.email a@b"):
        git(project, words)


def commit(project: Path, message: str) -> None:
    """A commit of all files."""
    git(project, "add -A")
    git(project, shlex.join(["commit", "-q", "-m", message]))


def write(project: Path, path: str, text: str, encoding: str = "utf-8") -> None:
    """A file, in the place of one that may be there."""
    (project / path).parent.mkdir(parents=True, exist_ok=True)
    (project / path).write_bytes(text.encode(encoding))


def append(project: Path, path: str, text: str) -> None:
    """A text at the end of a file."""
    with (project / path).open("a") as file:
        file.write(text)


def replace(project: Path, path: str, old: str, new: str) -> None:
    """A text in the place of the first that is `old`."""
    text = (project / path).read_text()
    assert old in text, text
    (project / path).write_text(text.replace(old, new, 1))


def remove(project: Path, path: str) -> None:
    """A file less."""
    (project / path).unlink()


def link(project: Path, path: str, to: str) -> None:
    """A symbolic link."""
    (project / path).symlink_to(to)


def folder(project: Path, path: str) -> None:
    """An empty folder, and those above it."""
    (project / path).mkdir(parents=True)


def pipe(project: Path, path: str) -> None:
    """A named pipe."""
    os.mkfifo(project / path)


def program(project: Path, path: str) -> None:
    """A program that can be run."""
    write(project, path, "")
    (project / path).chmod(0o755)


def resize(project: Path, path: str, size: int) -> None:
    """Cut a file short, or make it longer with zeros that take no room on the disk."""
    (project / path).touch()
    os.truncate(project / path, size)


def archive(project: Path, path: str, files: Mapping[str, str]) -> None:
    """A tar archive; names as they are given, also those that tar(1) only keeps with -P."""
    (project / path).parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(project / path, "w:gz" if path.endswith("gz") else "w") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))


def sysroot(project: Path, path: str, more: Mapping[str, str] | None = None) -> None:
    """An archive of the smallest machine that can be imported, and of further files."""
    archive(project, path, {**_SMALLEST, **(more or {})})


def sysinfo(project: Path, path: str, cores: int) -> None:
    """A node's sysinfo.tgz as must-gather has it: `cores` cores of two threads."""
    files = {"proc/cpuinfo": _SMALLEST["proc/cpuinfo"]}
    files |= {f"{CPU}/{name}": f"0-{2 * cores - 1}\n" for name in ("present", "online")}
    for cpu in range(2 * cores):
        siblings = f"{cpu % cores},{cpu % cores + cores}\n"
        files[f"{CPU}/cpu{cpu}/topology/thread_siblings_list"] = siblings
    archive(project, path, files)


def empty_members(project: Path, path: str, count: int) -> None:
    """A gzip file of many members with nothing in them."""
    (project / path).write_bytes(gzip.compress(b"", mtime=0) * count)


def node(project: Path) -> None:
    """The root of worker-0 in the folder `node`, as it is when everything holds."""
    plan, _ = pipeline.solve(pipeline.load(project))
    make_root(plan.by_node["lab", "worker-0"], project / "node")


def node_archive_with_links(project: Path) -> None:
    """The root of worker-0 in an archive, with a hundred NUMA nodes that are one large folder."""
    large = "sys/kernel/large"
    with tarfile.open(project / "node.tar", "w") as tar:
        tar.add(project / "node", ".")
        for number in range(20_000):
            tar.addfile(tarfile.TarInfo(f"{large}/{number}"))
        for number in range(100, 201):
            member = tarfile.TarInfo(f"sys/devices/system/node/node{number}/hugepages")
            member.type, member.linkname = tarfile.SYMTYPE, f"/{large}"
            tar.addfile(member)


def forged_state(project: Path) -> None:
    """An expected state with a value that no compilation gives, and the digest of what it says."""
    from tests.fuzz.wholes import with_digest

    (path,) = (project / "out/clusters/lab/expected/state").glob("*.json")
    data = json.loads(path.read_text())
    settings = data["settings"]
    first = [setting["component"] for setting in settings].index("kubelet")
    made = {"component": "kubelet", "key": "reservedMemory", "value": ["1Gi"], "because": []}
    settings.insert(first, made)
    path.write_text(with_digest(data))


def rendered(project: Path, path: str) -> None:
    """The rendered MachineConfig of the node, which has a file as it is there."""
    text = (project / path).read_text()
    line = (project / "node/proc/cmdline").read_text().strip()
    file = {"path": path.removeprefix("node"), "contents": {"source": f"data:,{quote(text)}"}}
    config = {
        "metadata": {"name": "rendered-worker-5"},
        "spec": {"kernelArguments": line.split(), "config": {"storage": {"files": [file]}}},
    }
    write(project, "node/etc/machine-config-daemon/currentconfig", json.dumps(config))


def cpu_manager(project: Path, default: str, containers: Sequence[str]) -> None:
    """The state file of the CPU manager with its checksum, of pods with a container each."""
    pods = {f"pod-{number}": {"app": cpus} for number, cpus in enumerate(containers, 1)}
    content = {"policyName": "static", "defaultCpuSet": default, "entries": pods}
    text = manager.write_checkpoint(content, manager.checksum(state.hash_input(content)))
    write(project, f"node/{kubepods.STATE}", text)


def threads(project: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Threads of the node: `tests.processes.Thread`."""
    processes.write(project / "node", *(processes.Thread(**row) for row in rows))


def control_groups(project: Path, effective: str, isolated: str) -> None:
    """The root of the control groups and those of pods; which CPUs other partitions left to it."""
    kubepods.write_root(project / "node", ONLINE)
    mount = project / "node" / kubepods.MOUNT
    (mount / "cpuset.cpus.effective").write_text(f"{effective}\n")
    (mount / "cpuset.cpus.isolated").write_text(f"{isolated}\n")


def control_group(
    project: Path, path: str, cpus: str, effective: str, files: Mapping[str, str]
) -> None:
    """A control group with a cpuset, and further files."""
    kubepods.write_group(project / "node", path, cpus, effective, **files)


def pod(
    project: Path, uid: str, containers: Mapping[str, str], state: Mapping[str, Mapping[str, str]]
) -> None:
    """A pod's containers with their CPUs, and what the kubelet's state gives to which pods."""
    root = project / "node"
    kubepods.write_root(root, ONLINE)
    kubepods.write_pod(root, uid, containers, ONLINE)
    given = union(CpuSet.parse(cpus) for names in state.values() for cpus in names.values())
    kubepods.write_state(root, str(CpuSet.parse(ONLINE) - given), state)


STEPS: dict[str, Callable[..., None]] = {
    "run": run,
    "git": git,
    "repository": repository,
    "commit": commit,
    "write": write,
    "append": append,
    "replace": replace,
    "remove": remove,
    "link": link,
    "folder": folder,
    "pipe": pipe,
    "program": program,
    "resize": resize,
    "archive": archive,
    "sysroot": sysroot,
    "sysinfo": sysinfo,
    "empty-members": empty_members,
    "node": node,
    "node-archive-with-links": node_archive_with_links,
    "forged-state": forged_state,
    "rendered": rendered,
    "cpu-manager": cpu_manager,
    "threads": threads,
    "control-groups": control_groups,
    "control-group": control_group,
    "pod": pod,
}

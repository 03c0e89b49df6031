"""The README's tutorial, word by word: every command of it, in order, in a shell, on recorded
sources.

What a reader has, and the test must supply: `_HAS` (files of theirs, by the name that the text
gives them) and `_ROOT` (`/`, which is the reader's host, stands for a folder). A command whose
comment begins with "or" is one way among several, so it is tried in a copy of the project.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from cpuplan import pipeline
from cpuplan.emit import to_yaml
from tests.hosts import make_root
from tests.machines import trees
from tests.projects import REPOSITORY
from tests.unit.profiles.propose.gathers import CLUSTER, gather, node

SECTION = "## Your first plan in ten minutes"
HOST = {
    **trees.server(cores=16, memory_kb=16 * 1024 * 1024),
    "proc/sys/kernel/hostname": "worker-0\n",
}
_ROOT = re.compile(r"(import sysroot |--root )/(?=\s|$)")
_PROFILE = {
    "apiVersion": "performance.openshift.io/v2",
    "kind": "PerformanceProfile",
    "metadata": {"name": "low"},
    "spec": {
        "cpu": {"reserved": "0-1,16-17", "isolated": "2-15,18-31"},
        "nodeSelector": {"node-role.kubernetes.io/worker-cnf": ""},
    },
}
_PODS = """\
apiVersion: v1
kind: Pod
metadata: {name: app}
spec:
  containers:
  - name: app
    resources: {requests: {cpu: 4, memory: 1Gi}, limits: {cpu: 4, memory: 1Gi}}
"""
_KUBELET = (
    "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
    "cpuManagerPolicy: none\n"
)
#: Files of the reader's in the project, and in their home.
_HAS = {"profiles/low.yaml": to_yaml(_PROFILE), "pods.yaml": _PODS, "kubelet.yaml": _KUBELET}
_NAMED = {**CLUSTER[0], "status": {"apiServerURL": "https://api.metro-7.example.com:6443"}}
_DUMP = "must-gather.local.4711"


class Block(NamedTuple):
    """A block of the text: its language, its text, and the file that the sentence before it names
    first.
    """

    language: str
    text: str
    file: str


def blocks() -> list[Block]:
    section = (
        (REPOSITORY / "README.md").read_text().partition(f"{SECTION}\n")[2].partition("\n## ")[0]
    )
    found = []
    for match in re.finditer(r"^```(\w+)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL):
        before = section[: match.start()].rstrip().rpartition("\n\n")[2]
        named = re.search(r"`([\w./-]+\.yaml)`", before)
        found.append(Block(match[1], match[2], named[1] if named else ""))
    return found


def commands(block: Block) -> list[str]:
    return [line.removeprefix("$ ") for line in block.text.splitlines() if line.startswith("$ ")]


def test_every_block_is_known() -> None:
    assert {block.language for block in blocks()} == {"console", "yaml"}
    assert all(commands(block) for block in blocks() if block.language == "console")
    assert all(block.file for block in blocks() if block.language == "yaml")


class Reader:
    """Somebody who does what the text says, at a host with a home folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder
        self.copies = 0
        self.host = trees.put(HOST, folder / "host")
        home, tools = folder / "home", folder / "tools"
        nodes = [node(f"cnf-{number}", "worker", "worker-cnf") for number in (0, 1)]
        gather(home / _DUMP, [_NAMED, *CLUSTER[1:], *nodes], {"cnf-0": HOST, "cnf-1": HOST})
        tools.mkdir()
        (tools / "cpuplan").write_text(f'#!/bin/sh\nexec {sys.executable} -m cpuplan "$@"\n')
        (tools / "cpuplan").chmod(0o755)
        self.environment = {
            "HOME": str(home),
            "PATH": f"{tools}:/usr/bin:/bin",
            "PYTHONPATH": str(REPOSITORY),
            "NO_COLOR": "1",
        }

    def writes(self, block: Block) -> None:
        """Put a document into the file that the text names."""
        (self.project / block.file).write_text(block.text)

    def runs(self, command: str) -> str:
        """Run one line of the text; what it says."""
        folder = self.project
        if "# or" in command:
            self.copies += 1
            folder = Path(shutil.copytree(self.project, self.folder / f"copy{self.copies}"))
        if command.startswith("cpuplan check"):
            self.boots()
        line = _ROOT.sub(rf"\g<1>{self.host}", command)
        done = subprocess.run(
            ["bash", "-e", "-c", f"{line}\npwd >{self.folder}/pwd"],
            cwd=folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        if folder is self.project:
            self.project = Path((self.folder / "pwd").read_text().strip())
        return done.stdout + done.stderr

    def boots(self) -> None:
        """Roll out what was compiled: the host boots with it."""
        plan, _ = pipeline.solve(pipeline.load(self.project))
        make_root(plan.by_node["lab", "worker-0"], self.host)


@pytest.mark.skipif(not os.path.exists("/bin/bash"), reason="the commands are for a shell")
def test_the_tutorial(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    said = {}
    for block in blocks():
        if block.language == "yaml":
            reader.writes(block)
            trees.put(_HAS, reader.project)
        for command in commands(block) if block.language == "console" else ():
            said[command] = reader.runs(command)
    told = "\n".join(said.values())
    assert (
        "cluster metro-7 (2 nodes): so named after the API server's address https://api.metro-7.example.com:6443"
        in told
    )
    assert "worker-0 matches its compiled settings" in told
    assert reader.copies >= 2

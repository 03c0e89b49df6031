"""Somebody who follows a page of the documentation, word by word: its commands, in a shell.

What a reader has, and a test must supply: `HAS` (files of theirs, by the name that the text gives
them) and `_ROOT` (`/`, which is the reader's host, stands for a folder). A command whose comment
begins with "or" is one way among several, so it is tried in a copy of the project.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from cpuplan import pipeline
from tests.hosts import make_root
from tests.machines import trees
from tests.projects import REPOSITORY
from tests.unit.profiles.propose.gathers import CLUSTER, gather, node

HOST = {
    **trees.server(cores=16, memory_kb=16 * 1024 * 1024),
    "proc/sys/kernel/hostname": "worker-0\n",
}
_ROOT = re.compile(r"(import sysroot |--root )/(?=\s|$)")
_NAMED = {**CLUSTER[0], "status": {"apiServerURL": "https://api.metro-7.example.com:6443"}}
_DUMP = "must-gather.local.4711"


class Block(NamedTuple):
    """A block: its language, its text, and the file that the sentence before it names first."""

    language: str
    text: str
    file: str


def blocks(page: str, section: str) -> list[Block]:
    """The blocks of a section, by its heading."""
    text = (REPOSITORY / page).read_text().partition(f"{section}\n")[2].partition("\n## ")[0]
    parts = []
    for match in re.finditer(r"^```(\w+)(?: \w+)?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        before = text[: match.start()].rstrip().rpartition("\n\n")[2]
        named = re.search(r"`([\w./-]+\.yaml)`", before)
        parts.append(Block(match[1], match[2], named[1] if named else ""))
    return parts


def commands(block: Block) -> list[str]:
    """The commands of a block."""
    return [line.removeprefix("$ ") for line in block.text.splitlines() if line.startswith("$ ")]


def shown(block: Block) -> list[str]:
    """What the text says that the commands of a block print, in part."""
    lines = block.text.splitlines()
    return [line for line in lines if line not in ("", "...") and not line.startswith("$ ")]


def _is_said(line: str, said: str) -> bool:
    """Whether a line was printed; `...` in it stands for anything."""
    pattern = ".*".join(map(re.escape, line.split("...")))
    return bool(re.search(f"^{pattern}$", said, re.MULTILINE))


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

    def follows(self, page: str, section: str) -> str:
        """Do what a section says, which shows lines that its commands print; all that they say."""
        told = ""
        for block in blocks(page, section):
            if block.language == "yaml":
                self.writes(block)
            if block.language == "console":
                said = "".join(map(self.runs, commands(block)))
                assert [line for line in shown(block) if not _is_said(line, said)] == []
                told += said
        return told

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
        code = 1 if "# exit code 1" in command else 0
        assert done.returncode == code, f"{command}\n{done.stdout}{done.stderr}"
        if folder is self.project:
            self.project = Path((self.folder / "pwd").read_text().strip())
        return done.stdout + done.stderr

    def boots(self) -> None:
        """Roll out what was compiled: the host boots with it."""
        plan, _ = pipeline.solve(pipeline.load(self.project))
        make_root(plan.by_node["lab", "worker-0"], self.host)

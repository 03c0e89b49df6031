"""docs/mixed-cpus.md, word by word: from a node to a running pod, with what each command prints."""

import os
import re
from pathlib import Path

import pytest

from tests.projects import REPOSITORY
from tests.reader import Reader, blocks, commands

PAGE, SECTION = "docs/mixed-cpus.md", "## From a node to a running pod"


def test_every_block_is_known() -> None:
    known = blocks(PAGE, SECTION)
    assert {block.language for block in known} == {"console", "yaml", "sh"}
    assert all(block.file for block in known if block.language == "yaml")


@pytest.mark.skipif(not os.path.exists("/bin/bash"), reason="the commands are for a shell")
def test_the_page(tmp_path: Path) -> None:
    told = Reader(tmp_path).follows(PAGE, SECTION)
    assert "worker-0 holds what was compiled for it" in told


def test_the_objects_that_the_page_applies_are_written(tmp_path: Path) -> None:
    """The commands for a cluster, which no test has, name what `compile` wrote."""
    reader = Reader(tmp_path)
    for block in blocks(PAGE, SECTION):
        if block.language == "yaml":
            reader.writes(block)
        for command in commands(block) if block.language == "console" else ():
            if "compile" in command or "init" in command or "import" in command:
                reader.runs(command)
    (applied,) = re.findall(r"oc apply -k (\S+)", (REPOSITORY / PAGE).read_text())
    manifests = reader.project / applied
    assert (manifests / "kustomization.yaml").is_file()
    assert (manifests / "00-machineconfigpool-worker-cnf.yaml").is_file()
    runtime_class = (manifests / "10-runtimeclass-dpdk.yaml").read_text()
    assert "name: performance-dpdk\n" in runtime_class
    assert "handler: high-performance\n" in runtime_class

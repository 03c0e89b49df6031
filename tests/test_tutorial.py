"""The README's tutorial, word by word: every command of it, in order, on recorded sources."""

import os
from pathlib import Path

import pytest

from cpuplan.base.emit import to_yaml
from tests.machines import trees
from tests.reader import Reader, blocks, commands

PAGE, SECTION = "README.md", "## Your first plan in ten minutes"
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
#: Files of the reader's in the project.
HAS = {
    "profiles/low.yaml": to_yaml(_PROFILE),
    "pods.yaml": _PODS,
    "kubelet.yaml": _KUBELET,
    "kubelet.conf.d/50-site.conf": _KUBELET.replace("cpuManagerPolicy: none", "maxPods: 200"),
}


def test_every_block_is_known() -> None:
    assert {block.language for block in blocks(PAGE, SECTION)} == {"console", "yaml"}
    assert all(commands(block) for block in blocks(PAGE, SECTION) if block.language == "console")
    assert all(block.file for block in blocks(PAGE, SECTION) if block.language == "yaml")


@pytest.mark.skipif(not os.path.exists("/bin/bash"), reason="the commands are for a shell")
def test_the_tutorial(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    said = {}
    for block in blocks(PAGE, SECTION):
        if block.language == "yaml":
            reader.writes(block)
            trees.put(HAS, reader.project)
        for command in commands(block) if block.language == "console" else ():
            said[command] = reader.runs(command)
    told = "\n".join(said.values())
    assert (
        "cluster metro-7 (2 nodes): so named after the API server's address https://api.metro-7.example.com:6443"
        in told
    )
    assert "worker-0 holds what was compiled for it" in told
    assert reader.copies >= 2

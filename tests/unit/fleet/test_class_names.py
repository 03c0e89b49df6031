"""What classes of nodes are called: a name that a folder can have, and no two alike."""

from pathlib import Path

import pytest

from cpuplan import pipeline
from cpuplan.base import naming
from cpuplan.base.cpuset import CpuSet
from cpuplan.fleet.class_names import LONGEST_LIST, offline_part
from tests.projects import make_project

HARDWARE = """\
apiVersion: cpuplan.io/v1alpha1
kind: Hardware
metadata: {{name: {name}}}
spec:
  vendor: GenuineIntel
  regular: {{sockets: 2, coresPerSocket: {cores}, threadsPerCore: 2, memoryPerNumaNode: 16Gi}}
---
"""
NODES = """\
apiVersion: cpuplan.io/v1alpha1
kind: Nodes
metadata: {name: lab}
spec:
  cluster: lab
  nodes:
"""
INTENT = """\
apiVersion: cpuplan.io/v1alpha1
kind: Intent
metadata: {{name: {name}}}
spec:
  selector: {{matchLabels: {{role: {role}}}}}
  targets:
  - {{platform: openshift, version: "4.20", pool: {pool}{more}}}
  pools: {{reserved: {{cores: 1, per: numaNode}}, isolated: rest}}
"""


def codes(project: Path) -> list[str]:
    return [
        finding.code
        for finding in pipeline.load(project).diagnostics
        if finding.code in ("CP234", "CP235")
    ]


@pytest.mark.parametrize(
    ("cpus", "part"), [("", ""), ("3", "-offline-3"), ("3-4,7", "-offline-3-4.7")]
)
def test_offline_cpus_are_told(cpus: str, part: str) -> None:
    assert offline_part(CpuSet.parse(cpus)) == part


def test_many_offline_cpus_are_told_by_a_digest() -> None:
    some, others = (CpuSet(range(first, 512, 2)) for first in (0, 1))
    parts = {offline_part(some), offline_part(others)}
    assert len(parts) == 2
    assert all(len(part) == len("-offline-") + 8 for part in parts)
    assert len(offline_part(CpuSet(range(0, 40, 2)))) <= len("-offline-") + LONGEST_LIST


def test_a_class_with_many_offline_cpus_compiles(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    odd = ",".join(map(str, range(1, 256, 2)))
    node = f"  - {{name: worker-0, hardware: large, labels: {{role: worker}}, offline: '{odd}'}}\n"
    (project / "inventories/site.yaml").write_text(
        HARDWARE.format(name="large", cores=128) + NODES + node
    )
    loaded = pipeline.load(project)
    assert [len(node_class.name) <= naming.LONGEST_NAME for node_class in loaded.classes] == [True]


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [
        (("du", "big-2s", ""), ("du-big", "2s", ""), ["CP235"]),
        (("du", "big-2s", ""), ("du-big", "4s", ""), []),
        # The objects of a split pool are called after the class, and those of the other intent
        # after it.
        (("du", "big", ", mixedHardware: split"), ("du-big", "4s", ""), ["CP235"]),
        (("du", "big", ""), ("du-big", "4s", ""), []),
    ],
)
def test_no_two_classes_or_sets_of_objects_are_called_alike(
    tmp_path: Path, first: tuple[str, str, str], second: tuple[str, str, str], wanted: list[str]
) -> None:
    project = make_project(tmp_path)
    (project / "intents/main.yaml").unlink()
    inventory, nodes = "", ""
    for number, (intent, machine, more) in enumerate((first, second)):
        inventory += HARDWARE.format(name=machine, cores=4 + 4 * number)
        nodes += (
            f"  - {{name: worker-{number}, hardware: {machine}, labels: {{role: r{number}}}}}\n"
        )
        text = INTENT.format(name=intent, role=f"r{number}", pool=f"p{number}", more=more)
        (project / f"intents/{number}.yaml").write_text(text)
    (project / "inventories/site.yaml").write_text(inventory + NODES + nodes)
    assert codes(project) == wanted

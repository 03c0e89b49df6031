"""Pods on every recorded machine, whatever gives out its CPUs: refused at a line, or simulated.

What the machine makes of a mechanism is said by cpuplan; no error of a port leaves it.
"""

from pathlib import Path

import pytest
import yaml

from tests.projects import needs_shared, run_in
from tests.test_corpus_layouts import CORPUS, MACHINES, SOURCES

MECHANISMS = ("kubelet", "balloons", "topology-aware", "dra", "koordinator")
EXPORTERS = ("resource-topology-exporter", "node-feature-discovery", "koordlet")

pytestmark = [needs_shared, pytest.mark.slow]


def intent(mechanism: str) -> str:
    return yaml.safe_dump(
        {
            "apiVersion": "cpuplan.io/v1alpha1",
            "kind": "Intent",
            "metadata": {"name": "main"},
            "spec": {
                "selector": {"matchLabels": {"role": "worker"}},
                "targets": [{"platform": "kubernetes", "version": "1.35", "mechanism": mechanism}],
                "pools": {"reserved": {"cores": 1, "per": "numaNode"}, "isolated": "rest"},
            },
        }
    )


def cluster(exporter: str) -> str:
    return yaml.safe_dump(
        {
            "apiVersion": "cpuplan.io/v1alpha1",
            "kind": "Cluster",
            "metadata": {"name": "lab"},
            "spec": {"nodeResourceTopology": {"exporter": exporter}},
        }
    )


PODS = """
kind: Pod
metadata: {name: own}
spec:
  containers:
  - {name: c, image: x, resources: {limits: {cpu: 2, memory: 64Mi}}}
---
kind: Pod
metadata:
  name: lse
  labels: {koordinator.sh/qosClass: LSE, koordinator.sh/priority-class: koord-prod}
spec:
  priority: 9500
  containers:
  - {name: c, image: x, resources: {limits: {cpu: 2, memory: 64Mi}}}
"""


@pytest.mark.parametrize("machine", MACHINES)
def test_machine(machine: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = next(path for pattern in SOURCES for path in sorted((CORPUS / machine).glob(pattern)))
    (tmp_path / "intents").mkdir()
    (tmp_path / "inventories").mkdir()
    (tmp_path / "pods.yaml").write_text(PODS)
    name = _imported(tmp_path, source, capfd)
    for mechanism in MECHANISMS:
        (tmp_path / "intents/main.yaml").write_text(intent(mechanism))
        for exporter in EXPORTERS if mechanism == "kubelet" else EXPORTERS[-1:]:
            (tmp_path / "inventories/lab-cluster.yaml").write_text(cluster(exporter))
            _ends(tmp_path, ["validate"], capfd)
            ways = [["--scheduler", "topology-aware"]]
            ways += [["--with", "all"], ["--scheduler", "both"]] if mechanism == "kubelet" else [[]]
            for way in ways:
                _ends(tmp_path, ["simulate", name, "pods.yaml", *way], capfd)


def _ends(folder: Path, words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    code, out, err = run_in(folder, words, capfd)
    assert code in (0, 1, 2), (words, out, err)
    if code == 2:
        assert "CP292" in err, (words, err)


def _imported(folder: Path, source: Path, capfd: pytest.CaptureFixture[str]) -> str:
    """The name of the machine's node, which has the label that the intents select."""
    outcome = run_in(folder, ["import", str(source), "--cluster", "lab", "--force"], capfd)
    assert outcome[0] == 0, outcome
    name = ""
    for path in (folder / "inventories").glob("*.yaml"):
        documents = list(yaml.safe_load_all(path.read_text()))
        for document in documents:
            if document["kind"] == "Nodes":
                (node,) = document["spec"]["nodes"]
                node["labels"] = {"role": "worker"}
                name = node["name"]
        path.write_text(yaml.safe_dump_all(documents))
    return name

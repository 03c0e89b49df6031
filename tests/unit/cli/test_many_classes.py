"""A fleet in one look: what commands print of many nodes in several classes."""

from pathlib import Path

import pytest

from tests.projects import make_project, plain_environment, run_in

Capture = pytest.CaptureFixture[str]

SECOND = """\
---
apiVersion: cpuplan.io/v1alpha1
kind: Hardware
metadata: {name: large}
spec: {regular: {sockets: 2, coresPerSocket: 8, threadsPerCore: 2}}
---
apiVersion: cpuplan.io/v1alpha1
kind: Nodes
metadata: {name: large}
spec:
  cluster: CLUSTER
  hardware: large
  nodes:
  - name: large-[00-19]
    labels: LABELS
  - name: large-[20-21]
    offline: "5,21"
    labels: LABELS
"""
PODS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: dpdk}
spec:
  replicas: 7
  template:
    spec:
      containers:
      - name: main
        resources: {limits: {cpu: 4, memory: 1Gi}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: wide}
spec:
  template:
    spec:
      containers:
      - name: main
        resources: {limits: {cpu: 10, memory: 1Gi}}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two small nodes, and 22 large ones, of which two have CPUs offline."""
    from cpuplan import pipeline

    plain_environment(monkeypatch)
    folder = make_project(tmp_path / "project")
    (node_class,) = pipeline.load(folder).classes
    site = (folder / "inventories/site.yaml").read_text()
    labels = next((line.strip() for line in site.splitlines() if "labels:" in line), "labels: {}")
    text = SECOND.replace("CLUSTER", node_class.cluster).replace("labels: LABELS", labels)
    (folder / "inventories/large.yaml").write_text(text)
    (folder / "pods.yaml").write_text(PODS)
    return folder


def test_show_has_a_line_for_each_class_and_says_what_is_special(
    project: Path, capsys: Capture
) -> None:
    code, out, _ = run_in(project, ["show"], capsys)
    assert code == 0
    head, *rows = out.splitlines()
    assert head.endswith("SPECIAL")
    assert len(rows) == 3
    (usual,) = (row for row in rows if "large-[00-19] (20)" in row)
    (odd,) = (row for row in rows if "large-[20-21] (2)" in row)
    assert odd.endswith("CPUs 5,21 offline")
    assert not usual.endswith("offline")


def test_simulate_sums_up_each_class_and_names_the_nodes_that_differ(
    project: Path, capsys: Capture
) -> None:
    code, out, _ = run_in(project, ["simulate", "pods.yaml"], capsys)
    assert code == 1  # the small nodes have no ten CPUs for the DaemonSet
    lines = out.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("CLASS"))
    table = [line.split() for line in lines[start + 1 : start + 4]]
    assert sorted(row[1] for row in table) == ["2", "2", "20"]
    assert sum(line.startswith("refused: default/wide (") for line in lines[start:]) == 1
    assert any(line.startswith("not as most of ") for line in lines)
    assert sum(" admitted" in line and "left" not in line for line in lines[:start]) <= 3
    verbose = run_in(project, ["simulate", "pods.yaml", "-v"], capsys)[1]
    assert "CLASS  " not in verbose
    assert verbose.count("large-07: ") == 1


def test_check_sums_up_each_class(project: Path, capsys: Capture, tmp_path: Path) -> None:
    assert run_in(project, ["compile"], capsys)[0] == 0
    for name in ("large-00", "large-01", "large-20"):
        root = tmp_path / "roots" / name
        (root / "etc").mkdir(parents=True)
        (root / "proc").mkdir()
        (root / "etc/hostname").write_text(f"{name}\n")
        (root / "proc/cmdline").write_text("quiet\n")
    code, out, _ = run_in(project, ["check", "--root", str(tmp_path / "roots")], capsys)
    assert code == 1
    at = out.index("CLASS ")
    rows = out[at:].splitlines()[1:]
    assert [row.split()[1:4] for row in rows] == [["2", "0", "2"], ["1", "0", "1"]]
    assert all(row.endswith(("all", "large-20")) for row in rows)

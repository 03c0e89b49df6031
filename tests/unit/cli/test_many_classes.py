"""A fleet in one look: what commands print of many nodes in several classes."""

import json
from pathlib import Path

import pytest

from tests.projects import make_project, plain_environment, run_in
from tests.unit.workers.fleets import make_fleet, make_roots

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


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """40 classes of 2 nodes each: 8 models, 5 intents, of which one is paused."""
    folder = make_fleet(tmp_path_factory.mktemp("fleet") / "project", 8, 5)
    intent = folder / "intents/role-4.yaml"
    intent.write_text(intent.read_text() + "  paused: true\n")
    return folder


def test_show_of_many_classes_fits_on_a_screen(fleet: Path, capsys: Capture) -> None:
    code, out, _ = run_in(fleet, ["show"], capsys)
    assert code == 0
    head, *rows = out.splitlines()
    assert head.split()[:2] == ["CLASSES", "NODES"]
    assert [row.split()[0] for row in rows[:5]] == [f"lab/role-{number}" for number in range(5)]
    assert "16     model-00, model-01 and 6 more  32 to 88" in rows[0]
    assert rows[5:-1] == ["lab/role-4 (8 classes): paused"]
    assert rows[-1] == "80 nodes in 40 classes; -v shows each class, and a name one node"
    verbose = run_in(fleet, ["show", "-v"], capsys)[1]
    assert len(verbose.splitlines()) == 41


def test_show_names_what_is_special_whatever_the_order_of_names(
    capsys: Capture, tmp_path: Path
) -> None:
    folder = make_fleet(tmp_path / "project", 10, 4)
    for path in [*(folder / "intents").glob("*"), *(folder / "inventories").glob("*")]:
        path.write_text(path.read_text().replace("role-1", "role-0-model-04"))
    site = folder / "inventories/nodes-0.yaml"
    place = "hardware: model-07\n"
    site.write_text(site.read_text().replace(place, f'{place}    offline: "5"\n'))
    more = site.read_text().replace("n-0-", "m-0-").replace("nodes-0", "more-0")
    (folder / "inventories/more.yaml").write_text(
        more.replace('    offline: "5"\n', "").replace("[0-1]", "[0-8]")
    )
    out = run_in(folder, ["show"], capsys)[1]
    (special,) = (line for line in out.splitlines() if "offline" in line)
    assert special.startswith("lab/role-0-model-07")
    assert special.endswith(": CPU 5 offline")


WIDE = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: wide}
spec:
  template:
    spec:
      containers:
      - name: main
        resources: {limits: {cpu: SIZE, memory: 1Gi}}
"""


def test_simulate_of_many_classes_names_the_odd_ones(
    fleet: Path, capsys: Capture, tmp_path: Path
) -> None:
    pods = tmp_path / "pods.yaml"
    pods.write_text(WIDE.replace("SIZE", "26"))
    code, out, _ = run_in(fleet, ["simulate", str(pods)], capsys)
    assert code == 1
    lines = out.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("CLASSES"))
    assert lines[start + 1].split()[:5] == ["lab/role-0", "(8", "classes)", "16", "0"]
    assert "refusals in lab/role-0 (8 classes): lab/role-0-model-00" in lines
    (refused,) = (line for line in lines[start:] if line.startswith("refused: "))
    assert refused.startswith("refused: default/wide (2 on lab/role-0-model-00, 2 on ")
    pods.write_text(WIDE.replace("SIZE", "72"))
    out = run_in(fleet, ["simulate", str(pods)], capsys)[1]
    assert "all fits in lab/role-0 (8 classes): lab/role-0-model-06, lab/role-0-model-07" in out


def test_check_of_many_classes_names_the_nodes_that_differ(
    fleet: Path, capsys: Capture, tmp_path: Path
) -> None:
    assert run_in(fleet, ["compile"], capsys)[0] == 0
    make_roots(fleet, tmp_path / "roots")
    words = ["check", "--root", str(tmp_path / "roots")]
    code, out, said = run_in(fleet, words, capsys)
    assert code == 1
    # Nothing was compiled of the paused ones.
    assert said.count("error[CP889]: ") == 4
    assert "error[CP889]: and 13 more; -v shows them" in said
    head, *rows = out.splitlines()
    assert head.startswith("CLASSES ")
    assert [row.split()[0] for row in rows] == [f"lab/role-{number}" for number in range(4)]
    assert all("n-" in row for row in rows)
    assert "CLASS  " in run_in(fleet, [*words, "-v"], capsys)[1]


def test_one_mistake_in_an_intent_is_one_finding(
    fleet: Path, capsys: Capture, tmp_path: Path
) -> None:
    folder = make_fleet(tmp_path / "project", 8, 1)
    intent = folder / "intents/role-0.yaml"
    intent.write_text(intent.read_text().replace("shared: {cores: 2}", "shared: {cores: 90}"))
    code, out, said = run_in(folder, ["validate"], capsys)
    assert code == 1
    assert said.count("error[") == 1
    assert "more: and 7 more here, on lab/role-0-model-01, " in said
    assert said.splitlines()[-1] == "8 errors"
    _, out, _ = run_in(folder, ["validate", "--format", "json"], capsys)
    assert len(json.loads(out)["diagnostics"]) == 8


def test_a_change_of_many_classes_fits_on_a_screen(capsys: Capture, tmp_path: Path) -> None:
    folder = make_fleet(tmp_path / "project", 6, 7)
    assert run_in(folder, ["compile"], capsys)[0] == 0
    for intent in (folder / "intents").glob("role-*.yaml"):
        intent.write_text(intent.read_text().replace("{cores: 1, per", "{cores: 2, per"))
    words = ["plan", "--against-folder", str(folder / "out")]
    code, out, _ = run_in(folder, words, capsys)
    assert code == 0
    lines = out.splitlines()
    assert sum(line == "6 classes alike: 12 nodes: reboot" for line in lines) == 3
    assert "5 more groups of classes (-v shows each class)" in lines
    assert "    lab/role-6-model-00 and 5 classes alike: 12 nodes: reboot" in lines
    assert len(json.loads(run_in(folder, [*words, "--format", "json"], capsys)[1])["changes"]) == 42
    assert "more groups" not in run_in(folder, [*words, "-v"], capsys)[1]
    _, _, said = run_in(folder, ["compile"], capsys)
    moved = [line for line in said.splitlines() if " move from " in line]
    assert len(moved) < 42
    assert sum(", and those of 5 classes more likewise: " in line for line in moved) >= 7

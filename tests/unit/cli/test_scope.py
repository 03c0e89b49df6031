"""`--cluster` and `--node`: what is printed is less, what is judged is the whole."""

import json
from pathlib import Path

import pytest

from cpuplan.render.diagnostics import FORMATS
from tests.projects import make_project, plain_environment, run_in

Capture = pytest.CaptureFixture[str]

#: Two clusters whose nodes are labelled for two intents; both intents want more than there is.
NODES = """\
---
apiVersion: cpuplan.io/v1alpha1
kind: Nodes
metadata: {name: CLUSTER}
spec:
  cluster: CLUSTER
  hardware: small
  nodes:
  - {name: "CLUSTER-[0-1]", labels: {role: CLUSTER}}
  - {name: "spare-0"}
"""
INTENT = """\
apiVersion: cpuplan.io/v1alpha1
kind: Intent
metadata: {name: CLUSTER}
spec:
  selector: {matchLabels: {role: CLUSTER}}
  targets: [{platform: kubernetes, version: "1.33", runtime: crio}]
  pools:
    reserved: {cores: 1, per: numaNode}
    isolated: rest
"""
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a}]}\n"
CLUSTERS = ("north", "south")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    plain_environment(monkeypatch)
    folder = make_project(tmp_path / "p")
    site = folder / "inventories/site.yaml"
    hardware = site.read_text().partition("---\n")[0]
    site.write_text(hardware + "".join(NODES.replace("CLUSTER", name) for name in CLUSTERS))
    (folder / "intents/main.yaml").unlink()
    for name in CLUSTERS:
        (folder / f"intents/{name}.yaml").write_text(INTENT.replace("CLUSTER", name))
    return folder


def spoil(project: Path) -> None:
    """Two errors, of an intent each."""
    for name in CLUSTERS:
        path = project / f"intents/{name}.yaml"
        path.write_text(path.read_text().replace("cores: 1", "cores: 5"))


def files(project: Path, capsys: Capture, *arguments: str) -> tuple[int, list[str], int]:
    """Exit code, files of the findings, and how many are elsewhere."""
    code, out, _ = run_in(project, [*arguments, "--format", "json"], capsys)
    data = json.loads(out)
    return code, [finding["file"] for finding in data["diagnostics"]], data["summary"]["elsewhere"]


def test_findings_of_a_cluster(project: Path, capsys: Capture) -> None:
    """Warnings tell of the spare node of each cluster, errors of each intent."""
    spoil(project)
    site = "inventories/site.yaml"
    assert files(project, capsys, "validate") == (
        1,
        ["intents/north.yaml", "intents/south.yaml", site, site],
        0,
    )
    assert files(project, capsys, "validate", "--cluster", "south") == (
        1,
        ["intents/south.yaml", site],
        2,
    )
    assert files(project, capsys, "validate", "--node", "north-1") == (1, ["intents/north.yaml"], 3)
    assert files(project, capsys, "validate", "--node", "north/spare-0") == (1, [site], 3)
    assert files(project, capsys, "validate", "--node", "spare-0") == (1, [site, site], 2)
    both = ("--cluster", "south", "--node", "spare-0", "--node", "south-0")
    assert files(project, capsys, "validate", *both) == (1, ["intents/south.yaml", site], 2)


def test_what_is_left_out_is_said_and_judged(project: Path, capsys: Capture) -> None:
    spoil(project)
    path = project / "intents/south.yaml"
    path.write_text(path.read_text().replace("cores: 5", "cores: 1"))
    code, _, err = run_in(project, ["validate", "--node", "south-0"], capsys)
    assert (code, "CP401" in err) == (1, False)
    assert "3 more, excluded by --cluster or --node" in err
    for name in FORMATS[1:]:
        code, out, err = run_in(
            project, ["validate", "--node", "south-0", "--format", name], capsys
        )
        assert code == 1
        assert "CP401" not in out
        assert "3 more, excluded" in err


def test_findings_of_an_intent_that_both_clusters_share(project: Path, capsys: Capture) -> None:
    path = project / "intents/north.yaml"
    path.write_text(
        path.read_text()
        .replace("{matchLabels: {role: north}}", "{}")
        .replace("cores: 1", "cores: 5")
    )
    (project / "intents/south.yaml").unlink()
    code, out, _ = run_in(project, ["validate", "--cluster", "south", "--format", "json"], capsys)
    data = json.loads(out)
    assert (code, data["summary"]["elsewhere"]) == (1, 1)
    classes = [finding["classes"] for finding in data["diagnostics"] if finding["code"] == "CP401"]
    assert classes == [["south/north-small"]]


def test_stale_files_of_a_node(project: Path, capsys: Capture) -> None:
    assert run_in(project, ["compile"], capsys)[0] == 0
    for path in (project / "out").rglob("*"):
        if path.is_file() and ".cpuplan" not in path.parts:
            path.unlink()
    code, paths, elsewhere = files(
        project, capsys, "compile", "--check", "--node", "north/north-0", "-v"
    )
    assert (code, elsewhere > 0) == (3, True)
    assert "out/clusters/north/expected/nrt/north-small.yaml" in paths
    assert not [
        file for file in paths if file.startswith(("out/clusters/south", "out/nodes/south"))
    ]
    assert [file for file in paths if file.startswith("out/nodes/north/north-small/")]


def test_a_filter_is_for_printing_only(project: Path, capsys: Capture) -> None:
    code, _, err = run_in(project, ["compile", "--cluster", "north"], capsys)
    assert (code, (project / "out").exists()) == (2, False)
    assert "compile always writes everything" in err


@pytest.mark.parametrize(
    "command", [["validate"], ["compile", "--check"], ["show"], ["simulate", "pods.yaml"]]
)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--cluster", "nort"], "--cluster nort matches nothing\n  help: did you mean 'north'?"),
        (["--node", "north-9"], "--node north-9 matches nothing\n  help: did you mean 'north-1'?"),
        (["--cluster", "south", "--node", "north-0"], "south --node north-0 matches nothing"),
    ],
)
def test_a_filter_that_matches_nothing_is_an_error(
    project: Path, capsys: Capture, command: list[str], words: list[str], said: str
) -> None:
    (project / "pods.yaml").write_text("{}")
    assert run_in(project, ["compile"], capsys)[0] == 0
    code, _, err = run_in(project, [*command, *words], capsys)
    assert code == 2
    assert said in err


def test_with_a_broken_inventory_nothing_is_left_out(project: Path, capsys: Capture) -> None:
    (project / "inventories/more.yaml").write_text("kind: [\n")
    code, _, err = run_in(project, ["validate", "--cluster", "west"], capsys)
    assert (code, "CP293" in err) == (1, False)


def test_classes_and_nodes_shown(project: Path, capsys: Capture) -> None:
    assert "south" not in run_in(project, ["show", "--cluster", "north"], capsys)[1]
    assert "north" not in run_in(project, ["show", "--node", "south-1"], capsys)[1]
    site = project / "inventories/site.yaml"
    site.write_text(
        site.read_text().replace("north-[0-1]", "both-[0-1]").replace("south-[0-1]", "both-[0-1]")
    )
    assert run_in(project, ["show", "both-0"], capsys)[0] == 2
    assert run_in(project, ["show", "both-0", "--cluster", "south"], capsys)[0] == 0


def test_simulated_nodes(project: Path, capsys: Capture) -> None:
    pod = POD.replace("{name: a}]", "{name: a, resources: {limits: {cpu: 99, memory: 1Gi}}}]")
    (project / "pods.yaml").write_text(pod.replace("99", "12"))
    assert run_in(project, ["simulate", "pods.yaml"], capsys)[0] == 0
    code, out, err = run_in(project, ["simulate", "pods.yaml", "--node", "south-1"], capsys)
    assert code == 0
    assert "south-1: 0 pods admitted" in out
    assert "north" not in out
    assert "3 nodes more, excluded by --cluster or --node" in err
    (project / "pods.yaml").write_text(pod)
    code, out, _ = run_in(
        project,
        ["simulate", "pods.yaml", "--each", "--node", "south-1", "--format", "json"],
        capsys,
    )
    assert (code, [group["nodes"] for group in json.loads(out)["nodes"]]) == (1, [["south-1"]])


def test_results_of_a_simulation_in_a_file(project: Path, capsys: Capture) -> None:
    (project / "pods.yaml").write_text(POD)
    code, out, _ = run_in(
        project, ["simulate", "pods.yaml", "--format", "json", "-o", "a.json"], capsys
    )
    assert (code, out) == (0, "")
    assert len(json.loads((project / "a.json").read_text())["nodes"]) == 3
    assert run_in(project, ["simulate", "pods.yaml", "-o", "a.txt"], capsys)[1] == ""
    assert (project / "a.txt").read_text().endswith("4 nodes: 1 pod admitted\n")
    code, out, _ = run_in(project, ["simulate", "nobody", "pods.yaml", "--format", "json"], capsys)
    assert (code, [finding["code"] for finding in json.loads(out)["diagnostics"]]) == (2, ["CP250"])


def test_errors_of_the_project_are_told_in_the_format_asked_for(
    project: Path, capsys: Capture
) -> None:
    spoil(project)
    (project / "pods.yaml").write_text("{}")
    command = ["simulate", "north-0", "pods.yaml", "--format", "json"]
    code, out, _ = run_in(project, command, capsys)
    assert (code, {finding["code"] for finding in json.loads(out)["diagnostics"]}) == (
        1,
        {"CP401", "CP221"},
    )

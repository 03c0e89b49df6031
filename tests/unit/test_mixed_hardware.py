"""Nodes of unlike hardware in one MachineConfigPool: split, or one common layout."""

import json
from pathlib import Path

import pytest

from cpuplan import pipeline
from tests.projects import REJECTED, make_project, run_in

LOCK = "intents/plan.lock.yaml"
MANIFESTS = "out/clusters/lab/manifests"
UNLIKE = REJECTED / "CP227-unlike-nodes"
SITE = "inventories/site.yaml"
INTENT = "intents/main.yaml"


def edit(project: Path, name: str, old: str, new: str) -> None:
    text = (project / name).read_text()
    assert old in text
    (project / name).write_text(text.replace(old, new))


def mixed(target: Path, how: str, smaller: str = "") -> Path:
    project = make_project(target, UNLIKE)
    for name in ("case.yaml", "expected.txt"):
        (project / name).unlink()
    edit(
        project, INTENT, "    pool: worker-du\n", f"    pool: worker-du\n    mixedHardware: {how}\n"
    )
    if smaller:
        edit(project, SITE, "regular: {coresPerSocket: 8}", smaller)
    return project


def manifests(project: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes()
        for path in (project / MANIFESTS).iterdir()
        if path.name[0].isdigit()
    }


def test_each_hardware_gets_a_pool(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = mixed(tmp_path, "split")
    code, _, said = run_in(project, ["compile"], capsys)
    assert code == 0, said
    assert said.count("CP289]") == 2
    labels = json.loads((project / "out/clusters/lab/node-labels/main-smaller.json").read_text())
    assert labels["odd"] == {"node-role.kubernetes.io/worker-du-smaller": ""}
    assert [name for name in sorted(manifests(project)) if name.startswith("00-")] == [
        "00-machineconfigpool-worker-du-small.yaml",
        "00-machineconfigpool-worker-du-smaller.yaml",
    ]
    assert b"role: worker-du-smaller" in manifests(project)["10-kubeletconfig-main-smaller.yaml"]


def test_labels_in_the_inventory_are_enough(tmp_path: Path) -> None:
    project = mixed(tmp_path, "split")
    edit(
        project,
        SITE,
        "hardware: smaller\n    labels: {role: worker}",
        (
            "hardware: smaller\n"
            "    labels: {role: worker, node-role.kubernetes.io/worker-du-smaller: ''}"
        ),
    )
    (problem,) = pipeline.load(project).diagnostics
    assert (problem.code, "worker-du-small " in problem.message) == ("CP289", True)


def test_pools_stay_when_hardware_comes_and_goes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = mixed(tmp_path, "split")
    assert run_in(project, ["compile"], capsys)[0] == 0
    both, locked = manifests(project), (project / LOCK).read_text()
    text = (project / SITE).read_text()
    edit(project, SITE, "  - name: odd\n    hardware: smaller\n    labels: {role: worker}\n", "")
    code, _, said = run_in(project, ["compile"], capsys)
    assert (code, "CP246" in said, manifests(project)) == (1, True, both)
    assert run_in(project, ["compile", "--allow-removal"], capsys)[0] == 0
    one = manifests(project)
    assert one == {name: data for name, data in both.items() if "smaller" not in name}
    (project / SITE).write_text(text)
    assert run_in(project, ["compile"], capsys)[0] == 0
    assert (manifests(project), (project / LOCK).read_text()) == (both, locked)


SAME_CPUS = (
    "vendor: GenuineIntel\n"
    "  regular: {coresPerSocket: 8, threadsPerCore: 2, memoryPerNumaNode: 16Gi}"
)


def test_a_common_layout_has_the_same_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = mixed(tmp_path, "common", SAME_CPUS)
    edit(project, INTENT, "{cores: 1, per: numaNode}", "{count: 4}")
    code, _, said = run_in(project, ["compile"], capsys)
    assert code == 0, said
    assert [name for name in sorted(manifests(project)) if name.startswith("10-kubelet")] == [
        "10-kubeletconfig-main.yaml"
    ]
    plan, _ = pipeline.solve(pipeline.load(project))
    assert len({tuple((pool.name, pool.cpus) for pool in node.pools) for node in plan.nodes}) == 1
    assert len(plan.nodes) == 2


def test_a_common_layout_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also by hardware that comes into the pool later."""
    project = mixed(tmp_path, "common", SAME_CPUS)
    edit(project, INTENT, "{cores: 1, per: numaNode}", "{count: 4}")
    text = (project / SITE).read_text()
    edit(project, SITE, "  - name: odd\n    hardware: smaller\n    labels: {role: worker}\n", "")
    assert run_in(project, ["compile"], capsys)[0] == 0
    (project / SITE).write_text(text)
    code, _, said = run_in(project, ["compile"], capsys)
    assert code == 0
    assert "move" not in said
    edit(project, INTENT, "{count: 4}", "{count: 6}")
    _, _, said = run_in(project, ["compile"], capsys)
    assert (
        said.count("from isolated to reserved: reserved takes 6 CPUs (intents/main.yaml:14)") == 2
    )


def test_a_common_layout_follows_its_nodes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The intent and the hardware of a pool get other names, and no CPU moves."""
    project = mixed(tmp_path, "common", SAME_CPUS)
    edit(project, INTENT, "{cores: 1, per: numaNode}", "{count: 4}")
    assert run_in(project, ["compile"], capsys)[0] == 0
    text = (project / LOCK).read_text()
    layout = next(line for line in text.splitlines() if "main-small," in line).partition("pools: ")[
        2
    ]
    pools = layout.partition(", solvedFrom")[0]
    odd = '{reserved: "3,7,11,15", isolated: "0-2,4-6,8-10,12-14"}'
    edit(project, INTENT, "spec:\n", "spec:\n  rules: [{disable: cpu0-reserved, because: moved}]\n")
    (project / LOCK).write_text(text.replace(pools, odd))
    code, _, said = run_in(project, ["compile"], capsys)
    assert code == 0, said
    assert (project / LOCK).read_text().count(odd) == 2, said
    edit(project, INTENT, "name: main", "name: du")
    edit(project, SITE, "name: smaller", "name: other-model")
    edit(project, SITE, "hardware: smaller", "hardware: other-model")
    code, _, said = run_in(project, ["compile"], capsys)
    assert code == 0, said
    assert "move" not in said.replace("removed", "")
    assert (project / LOCK).read_text().count(odd) == 2


def test_kubernetes_needs_no_split(tmp_path: Path) -> None:
    project = make_project(tmp_path, UNLIKE)
    edit(
        project,
        INTENT,
        'platform: openshift\n    version: "4.20"\n    pool: worker-du',
        'platform: kubernetes\n    version: "1.33"\n    runtime: crio',
    )
    for name in ("case.yaml", "expected.txt"):
        (project / name).unlink()
    loaded = pipeline.load(project)
    assert not loaded.diagnostics
    assert [each.name for each in loaded.classes] == ["main-small", "main-smaller"]

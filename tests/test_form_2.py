"""`out/` of form 2 is taken over by `compile`, and merged.

It has one manifest for all clusters, and a file for each node's NodeResourceTopology.
"""

import json
import shutil
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.emit import to_yaml
from cpuplan.fleet import lock
from cpuplan.fleet.previous import owned
from cpuplan.plan.expected import folder as objects
from tests.git_projects import add_class, commit, cpuplan, edit, fresh_check, git, merge, repository
from tests.projects import run_in
from tests.test_gate import tree

LOCK = "intents/plan.lock.yaml"
RECORD = ".cpuplan/classes/lab/core-core-hw.json"
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def team(tmp_path: Path) -> Path:
    return repository(tmp_path / "team")


def _as_form_2(project: Path) -> None:
    """Rewrite the manifests, and what is once for each class now, as form 2 has them."""
    folder = project / "out/.cpuplan"
    listed = owned(project / "out")
    shutil.rmtree(folder / "manifests")
    (folder / "written").unlink()
    paths = [path for path in listed if path[0] != "#" and "/expected/nrt/" not in path]
    for path in (project / "out").glob("clusters/*/expected/nrt/*.yaml"):
        for node, topology in list(objects.topology_objects(path.read_text())):
            (path.parent / f"{node}.yaml").write_text(to_yaml(topology))
            paths.append(f"{path.parent.relative_to(project / 'out')}/{node}.yaml")
        path.unlink()
    head = "# cpuplan manifest 2: the files of this folder that cpuplan owns"
    (folder / "manifest").write_text("\n".join([head, *sorted(paths)]) + "\n")
    attributes = project / "out/.gitattributes"
    text = attributes.read_text()
    attributes.write_text(text.replace(".cpuplan/manifests/* merge=union\n", ""))


def _pools(project: Path) -> dict[tuple[str, str], Mapping[str, CpuSet]]:
    """The layouts in the lock."""
    layouts, problems = lock.read((project / LOCK).read_bytes(), LOCK)
    assert not problems
    return {key: entry.pools for key, entry in layouts.items()}


def test_form_2_is_taken_over(team: Path, tmp_path: Path, capsys: Capture) -> None:
    locked = _pools(team)
    good = tree(team / "out")
    _as_form_2(team)
    (team / "out/clusters/lab/expected/nrt/own.yaml").write_text("{}\n")
    commit(team, "form 2")
    assert len(list((team / "out/clusters/lab/expected/nrt").iterdir())) == 7
    assert run_in(team, ["validate"], capsys)[0] == 0
    assert run_in(team, ["compile", "--check"], capsys)[0] == 3
    (team / LOCK).unlink()
    assert run_in(team, ["compile"], capsys)[0] == 0
    assert _pools(team) == locked
    (team / "out/clusters/lab/expected/nrt/own.yaml").unlink()
    assert tree(team / "out") == good
    commit(team, "form 3")
    assert fresh_check(team, tmp_path / "clone") == 0


def test_a_class_that_form_2_listed_and_is_lost_is_named(team: Path, capsys: Capture) -> None:
    _as_form_2(team)
    (team / LOCK).unlink()
    (team / "out/.cpuplan/classes/lab/core-core-hw.json").unlink()
    code, _, said = run_in(team, ["validate"], capsys)
    assert (code, "CP615" in said, "core-core-hw" in said) == (1, True, True)


def test_a_class_of_form_2_is_paused_once_it_was_compiled(team: Path, capsys: Capture) -> None:
    """Form 2 does not say which files are of the class, so that none of them could stay."""
    _as_form_2(team)
    commit(team, "form 2")
    edit(team, "intents/core.yaml", "spec:\n", "spec:\n  paused: true\n")
    code, _, said = run_in(team, ["compile"], capsys)
    assert (code, "error[CP566]" in said) == (1, True)
    assert "out/.cpuplan/manifests/lab" in said
    edit(team, "intents/core.yaml", "spec:\n  paused: true\n", "spec:\n")
    assert run_in(team, ["compile"], capsys)[0] == 0
    edit(team, "intents/core.yaml", "spec:\n", "spec:\n  paused: true\n")
    good = tree(team / "out")
    assert run_in(team, ["compile"], capsys)[0] == 0
    now = tree(team / "out")
    assert now.keys() == good.keys()
    assert [path for path in good if now[path] != good[path]] == [RECORD, ".cpuplan/written"]


def test_a_class_that_form_2_paused_keeps_its_files(team: Path, capsys: Capture) -> None:
    """Its own file lists them, with what is once for each node there."""
    edit(team, "intents/core.yaml", "spec:\n", "spec:\n  paused: true\n")
    assert run_in(team, ["compile"], capsys)[0] == 0
    _as_form_2(team)
    folder = team / "out/clusters/lab/expected/nrt"
    record = json.loads((team / "out" / RECORD).read_bytes())
    del record["paused"]["clusters/lab/expected/nrt/core-core-hw.yaml"]
    old = {path.name: path.read_bytes() for path in folder.glob("core-*.yaml")}
    record["paused"] |= {
        f"clusters/lab/expected/nrt/{name}": sha256(data).hexdigest() for name, data in old.items()
    }
    (team / "out" / RECORD).write_text(json.dumps(record))
    commit(team, "form 2")
    assert run_in(team, ["compile"], capsys)[0] == 0
    assert len(old) == 3
    assert {path.name for path in folder.iterdir()} == {*old, "hft-hft-hw.yaml"}
    assert {name: (folder / name).read_bytes() for name in old} == old
    listed = (team / "out/.cpuplan/manifests/lab").read_text().splitlines()
    assert "clusters/lab/expected/nrt/core-0.yaml\tcore-core-hw" in listed
    edit(team, "intents/core.yaml", "spec:\n  paused: true\n", "spec:\n")
    assert run_in(team, ["compile"], capsys)[0] == 0
    assert {path.name for path in folder.iterdir()} == {"core-core-hw.yaml", "hft-hft-hw.yaml"}


def _more_nodes_of_form_2(project: Path) -> None:
    """What the release of form 2 makes of three further nodes of `core` and a class."""
    edit(project, "inventories/core-nodes.yaml", "core-[0-2]", "core-[0-5]")
    add_class(project, "ax", cluster="edge")
    assert cpuplan(project, "compile") == 0
    _as_form_2(project)


@pytest.mark.parametrize("sides", [("new", "old"), ("old", "new")])
@pytest.mark.parametrize("committed", [False, True])
def test_a_branch_of_form_2_merges(
    team: Path, tmp_path: Path, capsys: Capture, sides: tuple[str, str], committed: bool
) -> None:
    _as_form_2(team)
    commit(team, "form 2")
    git(team, "checkout", "-q", "-b", "new", "main")
    edit(team, "intents/hft.yaml", "reserved: {cores: 2}", "reserved: {cores: 3}")
    assert cpuplan(team, "compile") == 0
    commit(team, "new")
    git(team, "checkout", "-q", "-b", "old", "main")
    edit(team, "intents/core.yaml", "reserved: {cores: 2}", "reserved: {cores: 3}")
    _more_nodes_of_form_2(team)
    commit(team, "old")
    merge(team, *sides)
    if committed:
        commit(team, "merged")
    code, _, said = run_in(team, ["compile"], capsys)
    assert code == 0, said
    pools = _pools(team)
    assert [len(pools["lab", f"{name}-{name}-hw"]["reserved"]) for name in ("hft", "core")] == [
        6,
        6,
    ]
    commit(team, "mended")
    assert fresh_check(team, tmp_path / "clone") == 0
    topology = {path.name for path in (team / "out").glob("clusters/*/expected/nrt/*")}
    assert topology == {f"{name}-{name}-hw.yaml" for name in ("ax", "core", "du", "hft", "upf")}
    assert len(owned(team / "out")) == len(set(owned(team / "out"))) + 2

"""`compile` mends or tells what merges, links, hands and old releases left in `out/` and lock."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.fleet import lock
from cpuplan.fleet.previous import owned
from tests.git_projects import add_class, commit, cpuplan, edit, fresh_check, git, merge, repository
from tests.projects import run_in

LOCK = "intents/plan.lock.yaml"
MANIFEST = "out/.cpuplan/manifests/lab"
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def team(tmp_path: Path) -> Path:
    return repository(tmp_path / "team")


def _markers(project: Path) -> None:
    lines = (project / MANIFEST).read_text().splitlines()
    lines[3:4] = ["<<<<<<< HEAD", lines[3], "=======", lines[3], ">>>>>>> theirs"]
    (project / MANIFEST).write_text("\n".join(lines) + "\n")


def _link_file(project: Path) -> None:
    path = next((project / "out").rglob("cmdline"))
    path.rename(project / "elsewhere")
    path.symlink_to(project / "elsewhere")


def _link_folder(project: Path) -> None:
    (project / "out/clusters").rename(project / "elsewhere")
    (project / "out/clusters").symlink_to("../elsewhere")


def _link_out(project: Path) -> None:
    (project / "out").rename(project / "elsewhere")
    (project / "out").symlink_to("elsewhere")


@pytest.mark.parametrize("change", [_markers, _link_file, _link_folder, _link_out])
def test_compile_says_unchanged_only_of_what_its_check_takes(
    team: Path, capsys: Capture, change: object
) -> None:
    assert callable(change)
    change(team)
    code, _, said = run_in(team, ["compile"], capsys)
    assert "nothing has changed" not in said
    assert code or run_in(team, ["compile", "--check"], capsys)[0] == 0


@pytest.mark.parametrize("gone", ["out/.cpuplan/classes", "out/.cpuplan"])
def test_layouts_that_are_lost_are_not_solved_as_if_there_had_been_none(
    team: Path, capsys: Capture, gone: str
) -> None:
    (team / LOCK).unlink()
    shutil.rmtree(team / gone)
    for command in ("validate", "compile"):
        code, _, said = run_in(team, [command], capsys)
        assert (code, "CP615" in said) == (1, True)
    assert run_in(team, ["compile", "--resolve"], capsys)[0] == 0
    assert run_in(team, ["compile", "--check"], capsys)[0] == 0


def test_a_class_that_is_cut_in_out_and_not_locked_is_named(team: Path, capsys: Capture) -> None:
    lines = (team / LOCK).read_text().splitlines()
    (team / LOCK).write_text("\n".join(line for line in lines if "class: core" not in line) + "\n")
    path = next((team / "out/.cpuplan/classes/lab").glob("core*"))
    path.write_bytes(path.read_bytes()[:50])
    code, _, said = run_in(team, ["validate"], capsys)
    assert (code, said.count("error[CP615]"), path.stem in said) == (1, 1, True)


def test_a_class_that_another_branch_renamed_is_no_removal(
    team: Path, tmp_path: Path, capsys: Capture
) -> None:
    """Git unites the lock's neighbouring lines, and the name of before is in it again."""
    git(team, "checkout", "-q", "-b", "renamed", "main")
    edit(team, "intents/hft.yaml", "metadata: {name: hft}", "metadata: {name: trade}")
    assert cpuplan(team, "compile", "--allow-removal") == 0
    commit(team, "renamed")
    git(team, "checkout", "-q", "-b", "more", "main")
    add_class(team, "i-new")
    edit(team, "intents/hft.yaml", "shared: {cores: 1}", "shared: {cores: 2}")
    assert cpuplan(team, "compile") == 0
    commit(team, "more")
    for sides in (("renamed", "more"), ("more", "renamed")):
        merge(team, *sides)
        for path in ("out", LOCK):
            git(team, "add", path)
        old = next(iter((team / "out/.cpuplan/classes/lab").glob("hft*")), None)
        if old:
            old.unlink()
        assert "hft" in (team / LOCK).read_text()
        assert run_in(team, ["compile"], capsys)[0] == 0, sides
        commit(team, "merged")
        assert fresh_check(team, tmp_path / "clone") == 0


@pytest.mark.parametrize("sides", [("gone", "changed"), ("changed", "gone")])
@pytest.mark.parametrize("committed", [False, True])
def test_what_one_side_removed_does_not_stay(
    team: Path, tmp_path: Path, capsys: Capture, sides: tuple[str, str], committed: bool
) -> None:
    """Git leaves the files that the other side changed; a file of somebody else stays."""
    (team / "out/clusters/edge/manifests/own.yaml").write_text("{}\n")
    commit(team, "own")
    git(team, "checkout", "-q", "-b", "gone", "main")
    (team / "intents/du.yaml").unlink()
    assert cpuplan(team, "compile", "--allow-removal") == 0
    commit(team, "gone")
    git(team, "checkout", "-q", "-b", "changed", "main")
    edit(team, "intents/du.yaml", "reserved: {cores: 2}", "reserved: {cores: 3}")
    assert cpuplan(team, "compile") == 0
    commit(team, "changed")
    assert not merge(team, *sides)
    git(team, "rm", "-qf", "intents/du.yaml")
    if committed:
        commit(team, "merged")
        assert fresh_check(team, tmp_path / "clone") in (1, 3)
    assert run_in(team, ["compile"], capsys)[0] == 0
    left = [path.name for path in (team / "out").rglob("*du*")]
    assert (left, (team / "out/clusters/edge/manifests/own.yaml").exists()) == ([], True)
    commit(team, "mended")
    assert fresh_check(team, tmp_path / "clone") == 0


def test_a_class_is_gone_although_one_of_its_nodes_is_elsewhere(
    team: Path, capsys: Capture
) -> None:
    (team / "intents/hft.yaml").unlink()
    edit(
        team,
        "inventories/hft-nodes.yaml",
        "- name: hft-[0-2]",
        "- name: hft-[1-2]\n  - {name: hft-0, labels: {role: core}}",
    )
    code, _, said = run_in(team, ["compile"], capsys)
    assert (code, "CP246" in said) == (1, True)
    assert run_in(team, ["compile", "--allow-removal"], capsys)[0] == 0
    assert "gone: true" in (team / LOCK).read_text()


def test_exchanged_names_move_no_cpu(team: Path, capsys: Capture) -> None:
    """Each layout stays with its nodes, also one that would be solved otherwise today."""
    edit(team, "inventories/hft-nodes.yaml", "hardware: hft-hw", "hardware: core-hw")
    assert run_in(team, ["compile", "--allow-removal"], capsys)[0] == 0
    entry = next(
        line for line in (team / LOCK).read_text().splitlines() if "class: core-core-hw" in line
    )
    locked, _ = lock.read((team / LOCK).read_bytes(), LOCK)
    pools = {name: str(cpus) for name, cpus in locked["lab", "core-core-hw"].pools.items()}
    swapped = _swap_shared(locked["lab", "core-core-hw"].pools)
    other = entry
    for name, cpus in swapped.items():
        other = other.replace(f'{name}: "{pools[name]}"', f'{name}: "{cpus}"')
    assert other != entry
    (team / LOCK).write_text((team / LOCK).read_text().replace(entry, other))
    code, _, said = run_in(team, ["compile"], capsys)
    assert code == 0, said
    before, _ = lock.read((team / LOCK).read_bytes(), LOCK)
    edit(team, "intents/hft.yaml", "metadata: {name: hft}", "metadata: {name: core}")
    edit(team, "intents/core.yaml", "metadata: {name: core}", "metadata: {name: hft}")
    code, _, said = run_in(team, ["compile"], capsys)
    after, _ = lock.read((team / LOCK).read_bytes(), LOCK)
    assert (code, "move" in said.replace("remove", "")) == (0, False), said
    assert after["lab", "hft-core-hw"].pools == before["lab", "core-core-hw"].pools
    assert after["lab", "core-core-hw"].pools == before["lab", "hft-core-hw"].pools


def _swap_shared(pools: dict[str, CpuSet]) -> dict[str, str]:
    """The layout with another core in shared: the one after it, which isolated has."""
    after = CpuSet(cpu + 1 for cpu in pools["shared"])
    assert after <= pools["isolated"]
    isolated = (pools["isolated"] - after) | pools["shared"]
    return {"reserved": str(pools["reserved"]), "shared": str(after), "isolated": str(isolated)}


# The release before: one file for all classes, a manifest with digests, a lock of many lines.


def _as_before(project: Path) -> None:
    """Rewrite the bookkeeping as the release before wrote it."""
    folder = project / "out/.cpuplan"
    classes = [
        json.loads(path.read_text()) for path in sorted((folder / "classes").rglob("*.json"))
    ]
    listed = [path for path in owned(project / "out") if path[0] != "#"]
    files = {path: "0" * 64 for path in listed if "classes/" not in path}
    shutil.rmtree(folder)
    folder.mkdir()
    (folder / "plan.json").write_text(json.dumps({"classes": classes, "version": 1}, indent=2))
    (folder / "inputs.json").write_text(json.dumps({"inputs": {}}))
    files |= {".cpuplan/plan.json": "0" * 64, ".cpuplan/inputs.json": "0" * 64}
    (folder / "manifest.json").write_text(json.dumps({"files": files}, indent=2) + "\n")
    locked, _ = lock.read((project / LOCK).read_bytes(), LOCK)
    entries = []
    for (cluster, name), entry in sorted(locked.items()):
        pools = "".join(f'    {pool}: "{cpus}"\n' for pool, cpus in entry.pools.items())
        entries.append(
            f'- cluster: {cluster}\n  class: {name}\n  solvedFrom: "{entry.solved_from}"\n'
            f"  pools:\n{pools}"
        )
    (project / LOCK).write_text(
        f"apiVersion: cpuplan.io/v1alpha1\nkind: Plan\nclasses:\n{''.join(entries)}"
    )


@pytest.mark.parametrize("lines", [None, 10], ids=["deleted", "cut"])
def test_layouts_of_the_release_before_are_found_in_out(
    team: Path, capsys: Capture, lines: int | None
) -> None:
    good, _ = lock.read((team / LOCK).read_bytes(), LOCK)
    _as_before(team)
    text = (team / LOCK).read_text()
    (team / LOCK).unlink()
    if lines:
        entries = re.split(r"^(?=- cluster)", text, flags=re.MULTILINE)
        (team / LOCK).write_text("".join(entries[:2]))
    assert run_in(team, ["compile"], capsys)[0] == 0
    taken, _ = lock.read((team / LOCK).read_bytes(), LOCK)
    assert {key: entry.pools for key, entry in taken.items()} == {
        key: entry.pools for key, entry in good.items()
    }
    edit(team, "intents/upf.yaml", "role: upf", "role: upg")
    assert "CP246" in run_in(team, ["compile"], capsys)[2]


@pytest.mark.parametrize("sides", [("new", "old"), ("old", "new")])
def test_a_branch_of_the_release_before_merges(
    team: Path, tmp_path: Path, capsys: Capture, sides: tuple[str, str]
) -> None:
    _as_before(team)
    commit(team, "before")
    git(team, "checkout", "-q", "-b", "new")
    edit(team, "intents/core.yaml", "reserved: {cores: 2}", "reserved: {cores: 3}")
    assert cpuplan(team, "compile") == 0
    commit(team, "new")
    git(team, "checkout", "-q", "-b", "old", "main")
    edit(team, "intents/hft.yaml", "kind: Intent", "kind: Intent # of traders")
    for name in ("plan.json", "manifest.json", "inputs.json"):
        path = team / "out/.cpuplan" / name
        path.write_text(path.read_text().replace("{", "{ ", 1))
    edit(team, LOCK, "solvedFrom:", "solvedFrom:  ")
    commit(team, "old")
    assert not merge(team, *sides)
    assert os.path.lexists(team / "out/.cpuplan/plan.json")
    code, _, said = run_in(team, ["compile"], capsys)
    assert code == 0, said
    assert not {"plan.json", "manifest.json", "inputs.json"} & set(
        os.listdir(team / "out/.cpuplan")
    )
    commit(team, "merged")
    assert fresh_check(team, tmp_path / "clone") == 0


@pytest.mark.parametrize("name", ["manifest.json", "plan.json", "inputs.json"])
@pytest.mark.parametrize("text", ["", "{}", "[[[", '{"files": {}}'])
def test_bookkeeping_of_before_is_seen_beside_a_record(
    team: Path, capsys: Capture, name: str, text: str
) -> None:
    (team / "out/.cpuplan" / name).write_text(text)
    assert run_in(team, ["compile"], capsys)[0] == 0
    assert run_in(team, ["compile", "--check"], capsys)[0] == 0

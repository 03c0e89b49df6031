"""What stands between a merge and a reboot: nothing is valid, unchanged or gone in silence."""

import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from cpuplan import pipeline
from cpuplan.backends import Output
from cpuplan.base.cpuset import CpuSet
from cpuplan.fleet import lock
from cpuplan.fleet.previous import is_manifest
from cpuplan.pipeline import lock_diff
from cpuplan.write import record
from tests.git_projects import OPENSHIFT, add_class, edit
from tests.projects import make_project, run_in

LOCK = "intents/plan.lock.yaml"
Capture = pytest.CaptureFixture[str]


def tree(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def layouts(project: Path) -> dict[tuple[str, str], dict[str, str]]:
    """The pools of each class, as the lock has them."""
    entries, problems = lock.read((project / LOCK).read_bytes(), LOCK)
    assert not problems
    return {key: _texts(entry.pools) for key, entry in entries.items()}


def _texts(pools: Mapping[str, CpuSet]) -> dict[str, str]:
    return {name: str(cpus) for name, cpus in pools.items()}


@pytest.fixture(autouse=True)
def _with_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CPUPLAN_NO_CACHE")


@pytest.fixture
def fleet(tmp_path: Path, capsys: Capture) -> Path:
    """Two clusters, four classes, compiled."""
    project = tmp_path / "fleet"
    add_class(project, "core")
    add_class(project, "hft")
    add_class(project, "du", "edge", OPENSHIFT % "du")
    add_class(project, "upf", "edge", OPENSHIFT % "upf", cores=12)
    assert run_in(project, ["compile"], capsys)[0] == 0
    return project


# The record: of this machine, of what was read, and never of `out/` unseen.


def test_a_record_is_no_part_of_the_project(fleet: Path, capsys: Capture) -> None:
    before = tree(fleet)
    assert "nothing has changed" in run_in(fleet, ["compile"], capsys)[2]
    assert "out/ was compiled from them" in run_in(fleet, ["validate"], capsys)[2]
    assert tree(fleet) == before


@pytest.mark.parametrize("command", ["compile", "validate"])
def test_a_repository_cannot_bring_its_own_record(
    fleet: Path, capsys: Capture, command: str
) -> None:
    """Whatever lies in the project, a broken intent is found."""
    edit(fleet, "intents/core.yaml", "reserved: {cores: 2}", "reserved: {cores: 200}")
    for name in (".cpuplan", "out/.cpuplan", ".cache/cpuplan"):
        place = fleet / name
        place.mkdir(parents=True, exist_ok=True)
        (place / "inputs.json").write_text(
            json.dumps({"inputs": {}, "warnings": False, "diagnostics": []})
        )
    assert run_in(fleet, [command], capsys)[0] == 1


def test_a_file_that_is_saved_meanwhile_is_not_recorded_as_compiled(
    fleet: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit(fleet, "intents/core.yaml", "reserved: {cores: 2}", "reserved: {cores: 3}")

    def emit(*given: object) -> Output:
        edit(fleet, "intents/core.yaml", "reserved: {cores: 3}", "reserved: {cores: 4}")
        return made(*given)  # type: ignore[arg-type]

    made = pipeline.emit
    monkeypatch.setattr(pipeline, "emit", emit)
    assert run_in(fleet, ["compile"], capsys)[0] == 0
    monkeypatch.undo()
    assert run_in(fleet, ["compile", "--check"], capsys)[0] == 3
    code, _, said = run_in(fleet, ["compile"], capsys)
    assert (code, "nothing has changed" in said) == (0, False)
    assert len(layouts(fleet)["lab", "core-core-hw"]["reserved"].split(",")) == 2
    assert run_in(fleet, ["compile", "--check"], capsys)[0] == 0


def test_warnings_are_kept_with_the_record_and_said_again(tmp_path: Path, capsys: Capture) -> None:
    project = make_project(tmp_path / "project")
    edit(project, "intents/main.yaml", "matchLabels: {role: worker}", "nodes: [worker-0]")
    assert "CP221" in run_in(project, ["compile"], capsys)[2]
    code, _, said = run_in(project, ["compile"], capsys)
    assert (code, "CP221" in said, "nothing has changed" in said) == (0, True, True)
    code, _, said = run_in(project, ["validate"], capsys)
    assert (code, "CP221" in said, "out/ was compiled from them" in said) == (0, True, True)
    assert run_in(project, ["validate", "--strict"], capsys)[0] == 1
    assert run_in(project, ["compile", "--strict"], capsys)[0] == 1


def test_a_record_of_another_program_says_nothing(
    fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = pipeline.load(fleet).inputs
    assert record.find(read)
    monkeypatch.setattr(record, "program_digest", lambda: "another")
    assert record.find(read) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"diagnostics": 1}', "[" * 100_000])
def test_a_damaged_record_says_nothing(fleet: Path, text: str) -> None:
    read = pipeline.load(fleet).inputs
    place = record._place(read.digest())
    assert place is not None
    place.write_text(text)
    assert record.find(read) is None


def test_without_a_home_there_is_no_record(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make_project(tmp_path / "project")
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/none")
    assert [run_in(project, ["compile"], capsys)[0] for _ in range(2)] == [0, 0]


# Tampering: restored or refused, never unchanged.


@pytest.mark.slow
def test_what_is_missing_or_edited_in_out_is_seen(fleet: Path, capsys: Capture) -> None:
    good = tree(fleet / "out")
    for name in good:
        # Of two classes on each platform, the files of one: the same code writes the others.
        if name == ".cpuplan/written" or re.search("hft|upf", name):
            continue
        for change in ("edit", "delete"):
            path = fleet / "out" / name
            if change == "edit":
                path.write_bytes(path.read_bytes() + b"# by hand\n")
            else:
                path.unlink()
            code, _, said = run_in(fleet, ["compile"], capsys)
            assert "nothing has changed" not in said, (name, change)
            if code:
                assert "CP603" in said or "CP604" in said, (name, change, said)
                assert run_in(fleet, ["compile", "--force"], capsys)[0] == 0 or is_manifest(name)
                path.write_bytes(good[name])
            assert run_in(fleet, ["compile", "--check"], capsys)[0] == 0, (name, change)
    assert {name: data for name, data in tree(fleet / "out").items() if "written" not in name} == {
        name: data for name, data in good.items() if "written" not in name
    }


# Nothing vanishes in silence.


def _empty(project: Path) -> None:
    for path in (project / "inventories").iterdir():
        path.unlink()


def _other_cluster(project: Path) -> None:
    for name in ("core", "hft"):
        edit(project, f"inventories/{name}-nodes.yaml", "cluster: lab", "cluster: lap")


GONE = {
    "empty inventories": (_empty, ("CP244",)),
    "no inventories": (lambda project: shutil.rmtree(project / "inventories"), ("CP244",)),
    "no intents but the lock": (
        lambda project: [
            path.unlink()
            for path in (project / "intents").glob("*.yaml")
            if "lock" not in path.name
        ],
        ("CP244",),
    ),
    "one cluster": (lambda project: (project / "inventories/du-nodes.yaml").unlink(), ("CP246",)),
    "one letter in a selector": (
        lambda project: edit(project, "intents/du.yaml", "{role: du}", "{role: dv}"),
        ("CP246", "du-du-hw", "3 nodes", "pool worker-du", "reserved 0-"),
    ),
    "one letter in a pool": (
        lambda project: edit(project, "intents/du.yaml", "worker-du", "worker-dv"),
        ("CP245", "worker-du", "3 nodes"),
    ),
    "one letter in a cluster": (
        _other_cluster,
        (
            "CP244",
            "cluster lab",
            "2 classes with 6 nodes",
            "core-core-hw and hft-hft-hw",
            "reserved 0-",
        ),
    ),
}


@pytest.mark.parametrize("name", GONE)
def test_what_was_compiled_goes_only_when_it_is_meant(
    fleet: Path, capsys: Capture, name: str
) -> None:
    change, words = GONE[name]
    before, locked = tree(fleet / "out"), layouts(fleet)
    change(fleet)
    for command in (
        ["validate"],
        ["compile"],
        ["compile", "--check"],
        ["compile", "--force"],
        ["compile", "--resolve"],
    ):
        code, _, said = run_in(fleet, command, capsys)
        assert code == 1, command
        assert all(word in said for word in words), said
    assert tree(fleet / "out") == before
    if "no intents" in name or "inventories" in name:
        return
    assert run_in(fleet, ["compile", "--allow-removal"], capsys)[0] == 0
    # The layouts of classes that are gone stay, until they are pruned.
    after = layouts(fleet)
    assert all(after.get(key, pools) == pools for key, pools in locked.items())
    assert [
        run_in(fleet, words, capsys)[0]
        for words in (["validate"], ["compile", "--check"], ["compile"])
    ] == [
        0,
        0,
        0,
    ]
    assert run_in(fleet, ["compile", "--prune"], capsys)[0] == 0
    assert len(layouts(fleet)) <= len(after)


def test_a_class_that_comes_back_finds_its_layout(fleet: Path, capsys: Capture) -> None:
    text = (fleet / LOCK).read_text()
    intent = (fleet / "intents/hft.yaml").read_text()
    edit(fleet, "intents/hft.yaml", "{role: hft}", "{role: gone}")
    assert run_in(fleet, ["compile", "--allow-removal"], capsys)[0] == 0
    assert "gone: true" in (fleet / LOCK).read_text()
    (fleet / "intents/hft.yaml").write_text(intent)
    assert run_in(fleet, ["compile"], capsys)[0] == 0
    assert (fleet / LOCK).read_text() == text


def test_nodes_that_are_not_compiled_any_more_are_named(fleet: Path, capsys: Capture) -> None:
    edit(fleet, "inventories/core-nodes.yaml", "core-[0-2]", "core-[0-1]")
    code, _, said = run_in(fleet, ["compile"], capsys)
    assert (code, "lab/core-core-hw: core-2 is no longer compiled" in said) == (0, True)


@pytest.mark.parametrize("cut", [0, 1, 50, 0.3, 0.5, 0.8, 0.97, -1, -4])
def test_a_lock_that_was_cut_is_no_first_lock(fleet: Path, capsys: Capture, cut: float) -> None:
    text = (fleet / LOCK).read_text()
    length = int(cut * len(text)) if isinstance(cut, float) else cut
    if length < 0:
        length += len(text.rstrip())
    before = tree(fleet / "out")
    (fleet / LOCK).write_text(text[:length])
    for command in (["validate"], ["compile"], ["compile", "--check"]):
        code, _, said = run_in(fleet, command, capsys)
        assert (code, LOCK in said) == (1, True), (command, said)
    assert tree(fleet / "out") == before


def test_a_lock_that_is_missing_is_taken_from_out(fleet: Path, capsys: Capture) -> None:
    """Nobody's CPUs move because a file was deleted."""
    text = (fleet / LOCK).read_text()
    odd = _with_odd_layout(fleet, capsys)
    (fleet / LOCK).unlink()
    assert run_in(fleet, ["compile", "--check"], capsys)[0] == 3
    assert run_in(fleet, ["compile"], capsys)[0] == 0
    assert layouts(fleet) == odd
    assert (fleet / LOCK).read_text() != text


def _with_odd_layout(project: Path, capsys: Capture) -> dict[tuple[str, str], dict[str, str]]:
    """A layout that no solver would choose, and that every rule allows."""
    start = "class: core-core-hw, pools: "
    as_solved = 'reserved: "0-1,16-17", shared: "8,24", isolated: "2-7,9-15,18-23,25-31"'
    odd = 'reserved: "0,5,16,21", shared: "7,23", isolated: "1-4,6,8-15,17-20,22,24-31"'
    edit(project, LOCK, f"{start}{{{as_solved}", f"{start}{{{odd}")
    code, _, said = run_in(project, ["compile"], capsys)
    assert code == 0, said
    changed = layouts(project)
    assert changed["lab", "core-core-hw"]["reserved"] == "0,5,16,21"
    return changed


# A layout belongs to its nodes.


def _hardware(project: Path) -> None:
    """The machine as an import tells it: another name, exact memory, written otherwise."""
    text = (project / "inventories/core.yaml").read_text()
    text = text.replace("name: core-hw", "name: xeon-8358").replace("16Gi", "15931Mi")
    (project / "inventories/imported.yaml").write_text(text)
    (project / "inventories/core.yaml").unlink()
    edit(project, "inventories/core-nodes.yaml", "hardware: core-hw", "hardware: xeon-8358")


def _renamed(project: Path) -> None:
    edit(project, "intents/core.yaml", "metadata: {name: core}", "metadata: {name: packet-core}")


def _both(project: Path) -> None:
    _hardware(project)
    _renamed(project)


def _split(project: Path) -> None:
    """One of the nodes gets an intent of its own, which says the same."""
    text = (project / "intents/core.yaml").read_text()
    edit(project, "intents/core.yaml", "{matchLabels: {role: core}}", "{nodes: ['core-[0-1]']}")
    own = text.replace("name: core}", "name: core-canary}", 1).replace(
        "{matchLabels: {role: core}}", "{nodes: [core-2]}"
    )
    (project / "intents/canary.yaml").write_text(own)


@pytest.mark.parametrize("with_out", [True, False])
@pytest.mark.parametrize("change", [_hardware, _renamed, _both, _split])
def test_no_cpu_moves_with_a_name(
    fleet: Path, capsys: Capture, change: object, with_out: bool
) -> None:
    odd = _with_odd_layout(fleet, capsys)["lab", "core-core-hw"]
    assert callable(change)
    change(fleet)
    if not with_out:
        shutil.rmtree(fleet / "out")
    code, _, said = run_in(fleet, ["compile"], capsys)
    assert code == 0, said
    after = {
        key: pools for key, pools in layouts(fleet).items() if key[1].startswith(("core", "packet"))
    }
    if change is _split and not with_out:
        return  # nothing tells where the node was: see the next test
    assert all(pools == odd for pools in after.values()), after
    assert " move " not in said
    assert ("lab", "core-core-hw") in after or change is not _split


def test_what_is_solved_afresh_is_said(fleet: Path, capsys: Capture) -> None:
    """A machine of another size gets another layout, and whoever had one is named."""
    edit(fleet, "inventories/core.yaml", "coresPerSocket: 8", "coresPerSocket: 10")
    edit(fleet, "inventories/core.yaml", "name: core-hw", "name: larger")
    edit(fleet, "inventories/core-nodes.yaml", "hardware: core-hw", "hardware: larger")
    code, _, said = run_in(fleet, ["compile"], capsys)
    assert code == 0
    assert (
        "lab/core-larger: solved from scratch, although core-0, "
        "core-1 and core-2 had a layout in core-core-hw"
    ) in said


def test_nodes_that_follow_another_layout_are_told(fleet: Path, capsys: Capture) -> None:
    _with_odd_layout(fleet, capsys)
    edit(fleet, "inventories/hft-nodes.yaml", "hardware: hft-hw", "hardware: core-hw")
    edit(fleet, "intents/core.yaml", "{matchLabels: {role: core}}", "{clusters: [lab]}")
    (fleet / "intents/hft.yaml").unlink()
    code, _, said = run_in(fleet, ["compile"], capsys)
    assert code == 0, said
    assert "lab/core-core-hw (hft-0, hft-1 and hft-2): CPUs" in said


def test_another_solver_is_told_from_the_one_before(
    fleet: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = lock_diff.solver_version()
    assert (fleet / LOCK).read_text().count(f'solver: "{version}"') == 4
    monkeypatch.setattr(lock_diff, "solver_version", lambda: "99.1")
    assert run_in(fleet, ["compile", "--check"], capsys)[0] == 0
    edit(fleet, "intents/core.yaml", "reserved: {cores: 2}", "reserved: {cores: 3}")
    code, _, said = run_in(fleet, ["compile"], capsys)
    assert code == 0
    assert f"lab/core-core-hw: solved by OR-Tools 99.1; the previous layout by {version}" in said
    text = (fleet / LOCK).read_text()
    assert (text.count(f'solver: "{version}"'), text.count('solver: "99.1"')) == (3, 1)


# What is told of a project that is not whole.


def test_without_an_inventory_nothing_more_is_claimed(tmp_path: Path, capsys: Capture) -> None:
    project = make_project(tmp_path / "project")
    (project / "inventories/site.yaml").unlink()
    assert (
        "as far as this can be checked without an inventory"
        in run_in(project, ["validate"], capsys)[2]
    )


def test_an_inventory_that_nobody_selects_is_not_called_missing(
    tmp_path: Path, capsys: Capture
) -> None:
    project = make_project(tmp_path / "project")
    (project / "intents/main.yaml").unlink()
    for command in ("validate", "compile", "validate"):  # the second one knows from a record
        said = run_in(project, [command], capsys)[2]
        assert ("valid, but no intent selects a node" in said) is (command == "validate")


def test_init_tells_git_what_it_must_know(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / ".gitignore").write_text("*.pyc")
    assert run_in(tmp_path, ["init"], capsys)[0] == 0
    assert (tmp_path / ".gitignore").read_text().splitlines()[0] == "*.pyc"
    assert ".*.cpuplan-stage" in (tmp_path / ".gitignore").read_text().splitlines()
    assert (
        "intents/plan.lock.yaml text eol=lf merge=union"
        in (tmp_path / ".gitattributes").read_text()
    )
    once = tree(tmp_path)
    assert run_in(tmp_path, ["init"], capsys)[0] == 0
    assert tree(tmp_path) == once
    assert os.path.isfile(tmp_path / "intents/example.yaml")


def test_every_phase_is_told_at_once(fleet: Path, capsys: Capture) -> None:
    """A misspelt key, a fact, a layout, and what a target lacks, also without a layout."""
    edit(fleet, "intents/core.yaml", "reserved:", "reserverd:")
    edit(fleet, "inventories/upf.yaml", "sockets: 2", "sockets: 0")
    edit(fleet, "intents/hft.yaml", "reserved: {cores: 2}", "reserved: {cores: 200}")
    option = (
        "  kubelet: {cpuManagerPolicyOptions: {prefer-align-cpus-by-uncorecache: 'true'}}\n  pools:"
    )
    edit(fleet, "intents/hft.yaml", "  pools:", option)
    edit(fleet, "intents/hft.yaml", '"1.36"', '"1.30"')
    edit(fleet, "intents/du.yaml", '"4.20"', '"4.1"')
    for command in (["validate"], ["compile"], ["compile", "--check"]):
        code, _, said = run_in(fleet, command, capsys)
        assert code == 1
        unsaid = [
            word
            for word in ("CP201", "CP203", "CP401", "CP504", "intents/du.yaml")
            if word not in said
        ]
        assert not unsaid, said


@pytest.mark.parametrize("text", ["", "a\n", "# cpuplan manifest 99\n"])
def test_a_manifest_that_compile_refuses_is_not_valid(
    fleet: Path, capsys: Capture, text: str
) -> None:
    (fleet / "out/.cpuplan/manifest").write_text(text)
    codes = [
        run_in(fleet, words, capsys)[0]
        for words in (["validate"], ["compile", "--check"], ["compile"])
    ]
    assert codes[0] == 1
    assert 0 not in codes


def test_a_link_in_the_place_of_out_is_not_valid(fleet: Path, capsys: Capture) -> None:
    (fleet / "out").rename(fleet / "elsewhere")
    (fleet / "out").symlink_to("elsewhere")
    codes = [
        run_in(fleet, words, capsys)[0]
        for words in (["validate"], ["compile", "--check"], ["compile"])
    ]
    assert 0 not in codes

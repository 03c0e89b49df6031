"""A team in Git: compiled branches merge in both ways, and what is mended passes on a new clone."""

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.git_projects import (
    OPENSHIFT,
    add_class,
    branch,
    commit,
    conflicts,
    cpuplan,
    edit,
    fresh_check,
    git,
    merge,
    repository,
)

Change = Callable[[Path], None]


def _intent(name: str, old: str, new: str) -> Change:
    return lambda project: edit(project, f"intents/{name}.yaml", old, new)


def _more_nodes(name: str) -> Change:
    return lambda project: edit(project, f"inventories/{name}-nodes.yaml", "[0-2]", "[0-5]")


def _remove(name: str) -> Change:
    def remove(project: Path) -> None:
        for path in (
            f"inventories/{name}.yaml",
            f"inventories/{name}-nodes.yaml",
            f"intents/{name}.yaml",
        ):
            (project / path).unlink()

    return remove


#: Changes by the classes that they touch: those of unlike classes must merge without a conflict.
CHANGES: dict[str, tuple[str, Change]] = {
    "core-3": ("core", _intent("core", "reserved: {cores: 2}", "reserved: {cores: 3}")),
    "core-4": ("core", _intent("core", "reserved: {cores: 2}", "reserved: {cores: 4}")),
    "core-shared": ("core", _intent("core", "shared: {cores: 1}", "shared: {cores: 2}")),
    "core-nodes": ("core", _more_nodes("core")),
    "core-comment": ("core", _intent("core", "kind: Intent", "kind: Intent # of the packet core")),
    "du-3": ("du", _intent("du", "reserved: {cores: 2}", "reserved: {cores: 3}")),
    "du-nodes": ("du", _more_nodes("du")),
    "hft-renamed": ("hft", _intent("hft", "metadata: {name: hft}", "metadata: {name: trading}")),
    "hft-gone": ("hft", _remove("hft")),
    "upf-gone": ("upf", _remove("upf")),
    "upf-pool": ("upf", _intent("upf", "worker-upf", "worker-gateway")),
    "ax-new": ("ax", lambda project: add_class(project, "ax")),
    "ay-new": ("ay", lambda project: add_class(project, "ay")),
    "cx-new": ("cx", lambda project: add_class(project, "cx", "edge", OPENSHIFT % "cx")),
    "cy-new": ("cy", lambda project: add_class(project, "cy", "edge", OPENSHIFT % "cy")),
}
PAIRS = list(itertools.permutations(CHANGES, 2))
#: Some of each kind, in both ways; the others are slow tests.
FIRST = {
    pair
    for some in (
        ("core-3", "du-3"),
        ("core-3", "core-4"),
        ("ax-new", "ay-new"),
        ("core-nodes", "hft-gone"),
    )
    for pair in (some, some[::-1])
}


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a branch for each change."""
    project = repository(tmp_path_factory.mktemp("team") / "project")
    for name, (_, change) in CHANGES.items():
        branch(project, name, change)
    return project


def _settle_intents(project: Path, side: str) -> bool:
    """Take one side of what people wrote; whether anything is left that is not mended by hand."""
    written = [
        path for path in conflicts(project) if not path.startswith("out/") and "lock" not in path
    ]
    for path in written:
        if git(project, "checkout", f"--{side}", "--", path, check=False).returncode:
            git(project, "rm", "-q", "--cached", "--", path)  # this side deleted it
            (project / path).unlink(missing_ok=True)
        else:
            git(project, "add", "--", path)
    return bool(written)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [pytest.param(*pair, marks=[] if pair in FIRST else [pytest.mark.slow]) for pair in PAIRS],
)
def test_branches_merge(team: Path, tmp_path: Path, ours: str, theirs: str) -> None:
    clean = merge(team, ours, theirs)
    try:
        if CHANGES[ours][0] != CHANGES[theirs][0]:
            assert clean, conflicts(team)
        by_hand = _settle_intents(team, "ours")
        valid, compiled = (cpuplan(team, *words) for words in (["validate"], ["compile"]))
        assert valid or not compiled
        # A class that one side renamed and the other took away may be gone now: that must be meant.
        assert compiled == 0 or (by_hand and cpuplan(team, "compile", "--allow-removal") == 0)
        commit(team, "merged")
        assert fresh_check(team, tmp_path / "clone") == 0
        assert cpuplan(tmp_path / "clone", "validate") == 0
    finally:
        git(team, "reset", "-q", "--hard")


@pytest.mark.parametrize("intents", ["ours", "theirs"])
@pytest.mark.parametrize("out", ["ours", "theirs", "both"])
def test_a_conflict_is_mended_from_any_side(
    team: Path, tmp_path: Path, intents: str, out: str
) -> None:
    assert not merge(team, "core-3", "core-4")
    try:
        assert _settle_intents(team, intents)
        left = conflicts(team)
        assert left
        if out != "both":
            git(team, "checkout", f"--{out}", "--", *left)
        assert cpuplan(team, "compile") == 0
        cores = {"ours": 3, "theirs": 4}[intents]
        assert f"{{cores: {cores}}}" in (team / "intents/core.yaml").read_text()
        commit(team, "merged")
        assert fresh_check(team, tmp_path / "clone") == 0
    finally:
        git(team, "reset", "-q", "--hard")


def test_two_intents_for_one_node_merge_to_no_valid_project(team: Path, tmp_path: Path) -> None:
    """One branch adds a node, the other an intent that selects it too: each is valid alone."""
    git(team, "checkout", "-q", "main")

    def node(project: Path) -> None:
        path = project / "inventories/hft-nodes.yaml"
        path.write_text(path.read_text() + "  - name: hft-9\n    labels: {also: extra}\n")

    def intent(project: Path) -> None:
        add_class(project, "extra")
        edit(project, "intents/extra.yaml", "{role: extra}", "{also: extra}")
        edit(project, "inventories/extra-nodes.yaml", "{role: extra}", "{also: extra}")

    branch(team, "one-node", node)
    branch(team, "one-intent", intent)
    for ours, theirs in (("one-node", "one-intent"), ("one-intent", "one-node")):
        merge(team, ours, theirs)
        assert [
            cpuplan(team, *words) for words in (["validate"], ["compile", "--check"], ["compile"])
        ] == [1, 1, 1]
        git(team, "reset", "-q", "--hard")


def test_line_ends_of_a_checkout_change_nothing(team: Path, tmp_path: Path) -> None:
    git(team, "checkout", "-q", "main")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "-c", "core.autocrlf=true", str(team), str(clone))
    assert [
        cpuplan(clone, *words) for words in (["validate"], ["compile", "--check"], ["compile"])
    ] == [0, 0, 0]
    assert git(clone, "status", "--porcelain").stdout == ""


def test_line_ends_change_nothing_without_attributes_either(team: Path, tmp_path: Path) -> None:
    git(team, "checkout", "-q", "-B", "bare", "main")
    git(team, "rm", "-q", ".gitattributes")
    commit(team, "a project that was not begun with init")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "-c", "core.autocrlf=true", "-b", "bare", str(team), str(clone))
    assert b"\r\n" in (clone / "intents/core.yaml").read_bytes()
    assert [
        cpuplan(clone, *words) for words in (["validate"], ["compile", "--check"], ["compile"])
    ] == [0, 0, 0]
    assert git(clone, "status", "--porcelain").stdout == ""

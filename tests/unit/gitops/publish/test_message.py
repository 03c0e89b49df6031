"""What a published commit says of two trees."""

import json

from cpuplan.gitops.publishing import Origin, compose, summary


def _class(nodes: list[str], **pools: str) -> bytes:
    return json.dumps(
        {"nodes": nodes, "pools": {n: {"cpus": c} for n, c in pools.items()}}
    ).encode()


PATH = ".cpuplan/classes/lab/du.json"
BEFORE = {PATH: _class(["a", "b"], reserved="0-1", isolated="2-7"), "clusters/lab/x": b""}
AFTER = {PATH: _class(["b", "c"], reserved="0-2", isolated="3-6"), "nodes/lab/du/x": b""}


def test_moves_nodes_and_files() -> None:
    assert summary(BEFORE, AFTER) == [
        "lab/du: CPU 2 moves from isolated to reserved",
        "lab/du: CPU 7 moves from isolated to no pool",
        "lab/du: c joins",
        "lab/du: a leaves",
        "1 file added, 1 file changed and 1 file removed",
    ]
    assert summary(BEFORE, BEFORE) == []


def test_a_damaged_plan_on_the_branch_has_no_pools() -> None:
    lines = summary({PATH: b"<<<<<<<"}, AFTER)
    assert lines[0] == "lab/du: CPUs 0-2 move from no pool to reserved"


def test_a_long_message_is_cut_and_keeps_its_trailers() -> None:
    after = {f".cpuplan/classes/c{n}/du.json": _class(["a"], reserved="0") for n in range(99)}
    after |= {f"clusters/c{n}/cluster.json": b"" for n in range(99)}
    text = compose({}, after, "out", ["c1", "c2"], Origin("", False, "0", "1"), summary({}, after))
    subject, empty, *body = text.splitlines()
    assert (subject, empty) == ("cpuplan: changes for 99 clusters", "")
    assert "* and 40 more lines" in body
    assert body[-5:] == [
        "Cpuplan-Folder: out",
        "Cpuplan-Clusters: c1 c2",
        "Cpuplan-Inputs-Commit: none",
        "Cpuplan-Inputs-Digest: sha256:0",
        "Cpuplan-Version: 1",
    ]

"""Layouts are kept while they can be, and else the fewest CPUs move."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from cpuplan import pipeline
from cpuplan.base.cpuset import CpuSet
from cpuplan.diagnostics import errors
from cpuplan.diagnostics.source import Position
from cpuplan.fleet import lock
from cpuplan.fleet.lock import Locked
from cpuplan.language.model.pools import GOAL_ORDER
from cpuplan.language.read.documents import Documents
from cpuplan.plan import NodeClass
from cpuplan.render.changes import move_lines
from cpuplan.solve import solver
from tests.projects import make_project, run_in
from tests.unit.solve import oracle
from tests.unit.solve.problems import machine, node_class
from tests.unit.solve.test_exhaustive import layouts, problems, sets_of

LOCK = "intents/plan.lock.yaml"
SERVER = machine(16, 2, sockets=2, numa_nodes=2, caches=4)


def project_of(
    node: NodeClass, layout: dict[str, CpuSet], solved_from: str = ""
) -> pipeline.Project:
    """A project of one class with a lock."""
    place = Position(LOCK, 1, 1)
    entry = Locked(solved_from or "other", layout, place, dict.fromkeys(layout, place))
    return pipeline.Project(Path(), Documents({}), (node,), {(node.cluster, node.name): entry}, ())


def compiled(node: NodeClass, layout: dict[str, CpuSet]) -> tuple[dict[str, CpuSet], list[str]]:
    """The layout of a class whose lock has `layout`, and what is said of moves."""
    project = project_of(node, layout)
    plan, problems = pipeline.solve(project)
    assert not problems
    found = move_lines(pipeline.moves(project, plan), project.locate)
    return {name: cpus for name, cpus in sets_of(plan.nodes[0]).items() if cpus}, list(found)


def parsed(layout: dict[str, str]) -> dict[str, CpuSet]:
    return {name: CpuSet.parse(cpus) for name, cpus in layout.items()}


ROWS = [
    # One core more is the one core that moves, also beside an odd layout.
    (
        {"reserved": {"cores": 3}},
        {"reserved": "0,9,16,25", "isolated": "1-8,10-15,17-24,26-31"},
        {"reserved": "0-1,9,16-17,25", "isolated": "2-8,10-15,18-24,26-31"},
        ["site/ran-icx: CPUs 1,17 move from isolated to reserved: reserved takes 3 whole cores"],
    ),
    # What still holds is kept, whatever was said before.
    (
        {"reserved": {"min": 2, "max": 6}},
        {"reserved": "0,9,16,25", "isolated": "1-8,10-15,17-24,26-31"},
        {"reserved": "0,9,16,25", "isolated": "1-8,10-15,17-24,26-31"},
        [],
    ),
    # A pool that is gone.
    (
        {"reserved": {"cores": 1}},
        {"reserved": "0,16", "shared": "5,21", "isolated": "1-4,6-15,17-20,22-31"},
        {"reserved": "0,16", "isolated": "1-15,17-31"},
        [
            (
                "site/ran-icx: CPUs 5,21 move from shared to isolated: "
                "the intent has no shared, which has CPUs 5,21"
            )
        ],
    ),
    # A machine with two CPUs less.
    (
        {"reserved": {"cores": 1}},
        {"reserved": "0,16", "isolated": "1-15,17-33"},
        {"reserved": "0,16", "isolated": "1-15,17-31"},
        ["site/ran-icx: CPUs 32-33 leave isolated: CPUs 32-33 of isolated are not online on icx"],
    ),
    # A machine with two CPUs more.
    (
        {"reserved": {"cores": 1}},
        {"reserved": "0,16", "isolated": "1-14,17-30"},
        {"reserved": "0,16", "isolated": "1-15,17-31"},
        ["site/ran-icx: CPUs 15,31 come into isolated: CPUs 15,31 are in no pool"],
    ),
]


@pytest.mark.parametrize(("pools", "before", "after", "said"), ROWS)
def test_fewest_cpus_move(
    pools: dict[str, Any], before: dict[str, str], after: dict[str, str], said: list[str]
) -> None:
    assert compiled(node_class(SERVER, pools), parsed(before)) == (parsed(after), said)


def test_solving_afresh_says_what_is_gained() -> None:
    node = node_class(SERVER, {"reserved": {"cores": 2}})
    project = project_of(
        node, parsed({"reserved": "0,8,16,24", "isolated": "1-7,9-15,17-23,25-31"})
    )
    plan, _ = pipeline.solve(project, resolve=True)
    assert list(move_lines(pipeline.moves(project, plan), project.locate)) == [
        (
            "site/ran-icx: CPUs 1,17 move from isolated to reserved: "
            "reserved is on 1 NUMA node instead of 2"
        ),
        (
            "site/ran-icx: CPUs 8,24 move from reserved to isolated: "
            "reserved is on 1 NUMA node instead of 2"
        ),
    ]


def test_an_edited_lock_is_told_from_an_edited_intent() -> None:
    node = node_class(SERVER, {"reserved": {"cores": 2}})
    edited = parsed({"reserved": "0,16", "isolated": "1-15,17-31"})
    _, (problem,) = pipeline.solve(project_of(node, edited, lock.digest(node)))
    assert problem.code == "CP240"
    assert "reserved takes 2 whole cores, and it has 1 core of the machine: 0,16" in problem.message
    assert not pipeline.solve(project_of(node, edited))[1]


def _numbers(spec: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The paths of all numbers of pools, QoS sets and workloads."""
    if isinstance(spec, dict):
        return [found for key in spec for found in _numbers(spec[key], (*path, key))]
    if isinstance(spec, list):
        return [found for key, value in enumerate(spec) for found in _numbers(value, (*path, key))]
    return [path] if type(spec) is int else []


@pytest.mark.slow
@settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))
@given(problems(), st.data())
def test_a_changed_number_moves_no_cpu_that_need_not(node: NodeClass, data: st.DataObject) -> None:
    node = node.saying(node.spec.model_copy(update={"objective": GOAL_ORDER}))
    assume(layouts(node))
    before = sets_of(solver.solve(node, lambda _: None))
    said = json.loads(node.spec.model_dump_json(by_alias=True, exclude_unset=True))
    paths = [path for path in _numbers(said) if path[0] in ("pools", "qos", "workloads")]
    assume(paths)
    *way, last = data.draw(st.sampled_from(paths))
    place = said
    for key in way:
        place = place[key]
    place[last] += data.draw(st.sampled_from([-1, 1, 2]))
    try:
        changed = node.saying(
            type(node.spec).model_validate(said | {"objective": list(GOAL_ORDER)})
        )
    except ValueError:
        assume(False)
    allowed = layouts(changed)
    plan, _ = pipeline.solve(project_of(changed, before))
    assert bool(plan.nodes) == (
        bool(allowed) and not errors(solver.check_statements(changed, lambda _: None))
    )
    if plan.nodes:
        after = {name: cpus.bits for name, cpus in sets_of(plan.nodes[0]).items()}
        fewest = min(oracle._moved(changed, layout, before) for layout in allowed)
        assert after in allowed
        assert oracle._moved(changed, after, before) == fewest


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


FURTHER = """\
apiVersion: cpuplan.io/v1alpha1
kind: Nodes
metadata: {name: edge}
spec:
  cluster: edge
  hardware: small
  nodes:
  - {name: edge-0, labels: {role: edge}}
---
apiVersion: cpuplan.io/v1alpha1
kind: Intent
metadata: {name: edge}
spec:
  selector: {matchLabels: {role: edge}}
  targets: [{platform: kubernetes, version: "1.33", runtime: crio}]
  pools: {reserved: {cores: 2}}
"""


def test_what_is_added_beside_changes_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = make_project(tmp_path / "project")
    assert run_in(project, ["compile"], capsys)[0] == 0
    before, entries = files(project / "out"), (project / LOCK).read_text()
    (project / "inventories/notes.txt").write_text("nothing for cpuplan\n")
    (project / "intents/edge.yaml").write_text(FURTHER)
    assert run_in(project, ["compile"], capsys)[0] == 0
    after = files(project / "out")
    own = {".cpuplan/manifests/edge", ".cpuplan/written"}
    assert {path: after[path] for path in before if path not in own} == {
        path: data for path, data in before.items() if path not in own
    }
    assert set(entries.splitlines()) <= set((project / LOCK).read_text().splitlines())


def test_a_node_more_in_a_class_keeps_the_lock(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = make_project(tmp_path / "project")
    assert run_in(project, ["compile"], capsys)[0] == 0
    text = (project / LOCK).read_bytes()
    (inventory,) = (
        path
        for path in (project / "inventories").rglob("*.yaml")
        if "worker-[0-1]" in path.read_text()
    )
    inventory.write_text(inventory.read_text().replace("worker-[0-1]", "worker-[0-2]"))
    assert run_in(project, ["compile"], capsys)[0] == 0
    assert (project / LOCK).read_bytes() == text


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("intents/main.yaml", "name: main", "name: other"),
        ("inventories", "labels:", "offline: 15\n    labels:"),
    ],
)
def test_a_class_of_another_name_starts_from_what_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], path: str, old: str, new: str
) -> None:
    """An intent is renamed; a CPU of some nodes breaks."""
    project = make_project(tmp_path / "project")
    assert run_in(project, ["compile"], capsys)[0] == 0
    text = (project / LOCK).read_text()
    odd = text.replace('"0,4,8,12"', '"0,5,8,13"').replace(
        "1-3,5-7,9-11,13-15", "1-4,6-7,9-12,14-15"
    )
    assert odd != text
    (project / LOCK).write_text(odd)
    for place in (
        (project / path).rglob("*.yaml") if (project / path).is_dir() else [project / path]
    ):
        place.write_text(place.read_text().replace(old, new))
    shutil.rmtree(project / "out")
    assert run_in(project, ["compile"], capsys)[0] == 0
    assert 'reserved: "0,5,8,13"' in (project / LOCK).read_text()


def test_checking_and_validating_write_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = make_project(tmp_path / "project")
    assert run_in(project, ["compile"], capsys)[0] == 0
    text = (project / LOCK).read_text()
    (project / LOCK).write_text(
        text.replace('"0,4,8,12"', '"0,5,8,13"').replace("1-3,5-7,9-11,13-15", "1-4,6-7,9-12,14-15")
    )
    before = files(project)
    code, _, said = run_in(project, ["compile", "--check", "--resolve"], capsys)
    assert code == 3
    assert (
        "lab/main-small: CPUs 4,12 move from isolated to reserved: low cores go to the first pools"
        in said
    )
    assert run_in(project, ["validate"], capsys)[0] == 0
    assert files(project) == before

"""The plan's file form."""

from pathlib import Path

from cpuplan import pipeline
from cpuplan.fleet import lock
from cpuplan.fleet.lock import Lock
from cpuplan.pipeline import lock_diff
from tests.projects import REPOSITORY, make_project


def test_a_plan_is_read_back_without_loss(tmp_path: Path) -> None:
    project = pipeline.load(REPOSITORY)
    solved, problems = pipeline.solve(project, resolve=True)
    assert not problems
    path = tmp_path / "plan.lock.yaml"
    path.write_text(lock.render(solved.nodes, {}, {}, solver=lock_diff.solver_version))
    locked, problems = lock.read(path.read_bytes(), "plan.lock.yaml")
    assert not problems
    kept, problems = pipeline.solve(project._replace(lock=locked))
    assert not problems
    assert [node.pools for node in kept.nodes] == [node.pools for node in solved.nodes]
    assert lock.render(kept.nodes, locked, {}, solver=lambda: "another") == path.read_text()


def test_the_digest_follows_pools_and_machine_only(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    before = lock.digest(pipeline.load(project).classes[0])
    intent = project / "intents/main.yaml"
    intent.write_text(
        "# a comment\n" + intent.read_text() + "  kubelet: {topologyManagerPolicy: restricted}\n"
    )
    assert lock.digest(pipeline.load(project).classes[0]) == before
    intent.write_text(intent.read_text().replace("cores: 1", "cores: 2"))
    assert lock.digest(pipeline.load(project).classes[0]) != before


def test_a_removed_class_stays_as_gone_and_is_none_again_when_it_comes_back(
    tmp_path: Path,
) -> None:
    project = pipeline.load(make_project(tmp_path))
    solved, _ = pipeline.solve(project, resolve=True)
    before = read(lock.render(solved.nodes, {}, {}, solver=lambda: "1"))
    assert [entry.gone for entry in before.values()] == [False]
    left = read(lock.render((), {}, before, solver=lambda: "2"))
    (entry,) = left.values()
    assert (entry.gone, entry.solver) == (True, "1")
    assert [entry.pools for entry in left.values()] == [entry.pools for entry in before.values()]
    back = read(lock.render(solved.nodes, left, {}, solver=lambda: "3"))
    assert [(entry.gone, entry.solver) for entry in back.values()] == [(False, "1")]


def test_another_layout_has_the_version_of_its_solver(tmp_path: Path) -> None:
    project = pipeline.load(make_project(tmp_path))
    solved, _ = pipeline.solve(project, resolve=True)
    before = read(lock.render(solved.nodes, {}, {}, solver=lambda: "1"))
    others = {key: entry._replace(pools={}) for key, entry in before.items()}
    after = read(lock.render(solved.nodes, others, {}, solver=lambda: "2"))
    assert [entry.solver for entry in after.values()] == ["2"]


def read(text: str) -> Lock:
    locked, problems = lock.read(text.encode(), "plan.lock.yaml")
    assert not problems
    return locked

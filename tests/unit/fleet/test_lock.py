"""The plan's file form."""

from pathlib import Path

from cpuplan import pipeline
from cpuplan.fleet import lock
from tests.projects import REPOSITORY, make_project


def test_a_plan_is_read_back_without_loss(tmp_path: Path) -> None:
    project = pipeline.load(REPOSITORY)
    solved, problems = pipeline.solve(project, resolve=True)
    assert not problems
    path = tmp_path / "plan.lock.yaml"
    path.write_text(lock.render(solved.nodes, {}, {}, solver=pipeline.solver_version))
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

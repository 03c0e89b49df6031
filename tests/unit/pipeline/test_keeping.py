"""Results are kept where they are made: nothing is lost with whoever waits for the rest."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir
from pathlib import Path

import pytest

from cpuplan import pipeline
from cpuplan.pipeline.batch import Batch, Made
from cpuplan.pipeline.making import Cache, Making
from cpuplan.workers import Workers, divide
from tests.unit.workers.fleets import make_fleet


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_fleet(tmp_path / "project", 5, 3)


def _compiled(project: Path, making: Making) -> dict[str, bytes]:
    with chdir(project):
        return pipeline.compile_project(pipeline.load(Path()), making=making).files


@pytest.mark.parametrize("workers", [Workers(), Workers(2), Workers(2, ThreadPoolExecutor(2))])
def test_the_same_is_kept_whoever_makes_it(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: Workers
) -> None:
    monkeypatch.setattr(divide, "_MANY", 0)
    folder = tmp_path / "classes"
    files = _compiled(project, Making(workers, Cache(folder)))
    assert files == _compiled(project, Making())
    assert sum("." not in path.name for path in folder.iterdir()) == 45  # three names each

    def fail(_self: Batch) -> Sequence[Made]:
        raise AssertionError("nothing is made again")

    monkeypatch.setattr(Batch, "_made", fail)
    assert _compiled(project, Making(Workers(), Cache(folder))) == files


def test_what_was_made_before_a_part_came_to_its_end(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Batch.results

    def interrupted(self: Batch) -> list[Made]:
        made(self.part(slice(0, 1)))
        raise KeyboardInterrupt

    monkeypatch.setattr(Batch, "results", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _compiled(project, Making(Workers(), Cache(tmp_path / "classes")))
    assert len(list((tmp_path / "classes").iterdir())) == 2

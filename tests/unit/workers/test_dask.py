"""A real scheduler of Dask with workers of its own, some of which are killed in the middle."""

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cpuplan import pipeline, workers
from cpuplan.cli import simulation
from cpuplan.diagnostics import CpuplanError
from cpuplan.simulate import fleet
from cpuplan.simulate.allocators.registry import start_planned
from cpuplan.workers import executors
from cpuplan.workers.dask import scheduler
from tests.projects import run_in
from tests.unit.test_pipeline import tree
from tests.unit.workers.fleets import PODS, make_fleet, make_roots
from tests.unit.workers.toy import Toy

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]

Capture = pytest.CaptureFixture[str]
_NUMBERS = tuple(range(40))
_SQUARES = [number * number for number in _NUMBERS]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=3, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as workers:
        yield workers


def _pids(cluster: Any) -> set[int]:
    from distributed import Client

    with Client(cluster.scheduler_address, set_as_default=False) as client:
        return set(client.run(os.getpid).values())


def test_a_killed_worker_has_its_part_done_again(cluster: Any, tmp_path: Path) -> None:
    work = Toy(_NUMBERS, fatal=21, once=tmp_path / "killed")
    with scheduler(cluster.scheduler_address) as who:
        assert who.jobs == 3
        assert list(workers.results(work, who)) == _SQUARES
    assert (tmp_path / "killed").exists()


def test_what_kills_every_worker_is_said(cluster: Any) -> None:
    with scheduler(cluster.scheduler_address) as who, pytest.raises(CpuplanError) as caught:
        list(workers.results(Toy(_NUMBERS, fatal=21, here=os.getpid()), who))
    assert [finding.code for finding in caught.value.diagnostics] == ["CP623"]


@contextmanager
def _killer(cluster: Any, killed: list[int]) -> Iterator[None]:
    """Kills the first worker that has got work."""

    def kill() -> None:
        from distributed import Client

        with Client(cluster.scheduler_address, set_as_default=False) as client:
            pids = client.run(os.getpid)
            end = time.monotonic() + 60
            while not killed and time.monotonic() < end:
                busy = [worker for worker, keys in client.processing().items() if keys]
                for worker in busy[:1]:
                    os.kill(pids[worker], signal.SIGKILL)
                    killed.append(pids[worker])
                time.sleep(0.01)

    thread = threading.Thread(target=kill)
    thread.start()
    yield
    thread.join()


def test_a_fleet_is_compiled_to_the_same_bytes(
    cluster: Any, tmp_path: Path, capsys: Capture
) -> None:
    here, there = (make_fleet(tmp_path / name, 8, 5) for name in ("here", "there"))
    expected = run_in(here, ["compile", "--jobs", "1"], capsys)
    killed: list[int] = []
    with _killer(cluster, killed):
        answer = run_in(there, ["compile", "--dask", cluster.scheduler_address], capsys)
    assert killed
    assert answer == expected
    assert answer[0] == 0
    assert tree(there) == tree(here)
    assert killed[0] not in _pids(cluster)
    code, _, _ = run_in(there, ["compile", "--check", "--dask", cluster.scheduler_address], capsys)
    assert code == 0


def _divided_and_killed(
    cluster: Any, project: Path, words: list[str], capsys: Capture
) -> tuple[int, str, str]:
    """What a command finds whose workers are killed in the middle, as one process finds it."""
    expected = run_in(project, [*words, "--jobs", "1"], capsys)
    killed: list[int] = []
    with _killer(cluster, killed):
        answer = run_in(project, [*words, "--dask", cluster.scheduler_address], capsys)
    assert killed
    assert killed[0] not in _pids(cluster)
    assert answer == expected
    return answer


def test_snapshots_are_checked_with_the_same_answers(
    cluster: Any, tmp_path: Path, capsys: Capture
) -> None:
    project = make_fleet(tmp_path / "project", 6, 4, nodes=4)
    assert run_in(project, ["compile"], capsys)[0] == 0
    make_roots(project, tmp_path / "roots")
    code, out, _ = _divided_and_killed(
        cluster, project, ["check", "--root", str(tmp_path / "roots"), "--format", "json"], capsys
    )
    assert code == 1
    assert len(json.loads(out)["nodes"]) == 96


@pytest.fixture
def started(tmp_path: Path, capsys: Capture) -> Path:
    """A compiled fleet of 36 classes, with pods."""
    project = make_fleet(tmp_path / "project", 6, 6)
    assert run_in(project, ["compile"], capsys)[0] == 0
    (project / "pods.yaml").write_text(PODS)
    return project


@pytest.mark.parametrize("more", [["--each"], ["--any-order"], []])
def test_pods_come_to_the_same_nodes(
    cluster: Any, started: Path, capsys: Capture, more: list[str]
) -> None:
    words = ["simulate", "pods.yaml", "--format", "json", *more]
    expected = run_in(started, [*words, "--jobs", "1"], capsys)
    assert run_in(started, [*words, "--dask", cluster.scheduler_address], capsys) == expected
    assert expected[0] == (1 if more else 0)
    assert sum(len(node["nodes"]) for node in json.loads(expected[1])["nodes"]) == 72


def test_a_worker_is_killed_while_nodes_start(cluster: Any, started: Path) -> None:
    plan, _ = pipeline.solve(pipeline.load(started))
    chosen = [(node, node.node_class.nodes) for node in plan.nodes]
    items = simulation.read_pods([started / "pods.yaml"]).items
    starter = fleet.Starter(start_planned)
    expected = fleet.on_each(chosen, items, starter)
    killed: list[int] = []
    with scheduler(cluster.scheduler_address) as who, _killer(cluster, killed):
        answers = fleet.on_each(chosen, items, starter, workers=who)
    assert killed
    assert answers == expected
    assert killed[0] not in _pids(cluster)


def test_another_cpuplan_on_the_workers(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "edition", lambda: "0.0.1 (of this test)")
    with scheduler(cluster.scheduler_address) as who, pytest.raises(CpuplanError) as caught:
        list(workers.results(Toy(_NUMBERS), who))
    (finding,) = caught.value.diagnostics
    assert finding.code == "CP624"
    assert "0.0.1 (of this test)" in finding.message


def test_a_scheduler_that_ends_in_the_middle() -> None:
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs=50
    )
    closing = threading.Timer(1.0, cluster.close)
    with scheduler(cluster.scheduler_address) as who:
        closing.start()
        with pytest.raises(CpuplanError) as caught:
            list(workers.results(Toy(tuple(range(-40, 0)), pause=0.05), who))
    assert [finding.code for finding in caught.value.diagnostics] == ["CP623"]
    closing.join()

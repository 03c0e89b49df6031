"""A real scheduler of Dask with workers of its own, some of which are killed in the middle."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cpuplan import workers
from cpuplan.diagnostics import CpuplanError
from cpuplan.workers import remote
from cpuplan.workers.dask import scheduler
from tests.projects import run_in
from tests.unit.test_pipeline import tree
from tests.unit.workers.fleets import make_fleet
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
    ) as found:
        yield found


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
    assert [each.code for each in caught.value.diagnostics] == ["CP623"]


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
        found = run_in(there, ["compile", "--dask", cluster.scheduler_address], capsys)
    assert killed
    assert found == expected
    assert found[0] == 0
    assert tree(there) == tree(here)
    assert killed[0] not in _pids(cluster)
    code, _, _ = run_in(there, ["compile", "--check", "--dask", cluster.scheduler_address], capsys)
    assert code == 0


def test_another_cpuplan_on_the_workers(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "edition", lambda: "0.0.1 (of this test)")
    with scheduler(cluster.scheduler_address) as who, pytest.raises(CpuplanError) as caught:
        list(workers.results(Toy(_NUMBERS), who))
    (found,) = caught.value.diagnostics
    assert found.code == "CP624"
    assert "0.0.1 (of this test)" in found.message


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
    assert [each.code for each in caught.value.diagnostics] == ["CP623"]
    closing.join()

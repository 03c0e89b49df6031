"""A function of each of some values, by whoever is there, and the first of its errors."""

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from cpuplan import pipeline
from cpuplan.base.codec import frame
from cpuplan.cli import simulation
from cpuplan.cli.answers import Statements
from cpuplan.cli.roots import check_places, find_places
from cpuplan.diagnostics import CpuplanError, diagnose
from cpuplan.plan import ConfiguredPlan
from cpuplan.simulate import fleet
from cpuplan.simulate.allocators.registry import start_planned
from cpuplan.simulate.fleet import Starter
from cpuplan.workers import HERE, Workers, calls, divide
from cpuplan.workers.calls import results_of
from tests.projects import run_in
from tests.sampled import sampled
from tests.unit.workers.fleets import PODS, make_fleet, make_roots

Capture = pytest.CaptureFixture[str]
_NUMBERS = range(40)


def _square(number: int) -> int:
    if number % 15 == 14:
        # Of these the last one is met first.
        time.sleep(0.1 / number)
        raise KeyError(number)
    return number * number


@contextmanager
def _spawned() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as executor:
        yield executor


@contextmanager
def _threads() -> Iterator[Executor]:
    with ThreadPoolExecutor(2) as executor:
        yield executor


@pytest.mark.parametrize("jobs", [1, 3])
def test_the_first_error_in_the_order_of_the_values(jobs: int) -> None:
    made: list[int] = []
    with pytest.raises(KeyError, match="14"):
        made.extend(results_of(_square, _NUMBERS, Workers(jobs), (KeyError,)))
    assert made == [number * number for number in range(14)]


def test_other_errors_are_nobody_s_answer() -> None:
    with pytest.raises(KeyError):
        list(results_of(_square, _NUMBERS, Workers(2), (ValueError,)))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_fleet(tmp_path_factory.mktemp("fleet") / "project", 4, 3)


@pytest.mark.parametrize("executor", [_threads, pytest.param(_spawned, marks=pytest.mark.slow)])
def test_any_executor_starts_nodes(project: Path, executor: type[Executor]) -> None:
    plan, _ = pipeline.solve(pipeline.load(project))
    chosen = [(node, node.node_class.nodes) for node in plan.nodes]
    (project / "pods.yaml").write_text(PODS)
    items = simulation.read_pods([project / "pods.yaml"]).items
    start = Starter(start_planned)
    with executor() as who:
        answers = fleet.on_each(chosen, items, start, workers=Workers(2, who))
        orders = fleet.any_order_on_each(plan.nodes, items[:3], start, Workers(2, who))
    assert answers == fleet.on_each(chosen, items, start)
    assert orders == fleet.any_order_on_each(plan.nodes, items[:3], start)
    assert answers.refuses or not answers.is_complete


@pytest.mark.parametrize("executor", [_threads, pytest.param(_spawned, marks=pytest.mark.slow)])
def test_any_executor_checks_snapshots(
    project: Path, tmp_path: Path, capsys: Capture, executor: type[Executor]
) -> None:
    assert run_in(project, ["compile"], capsys)[0] == 0
    make_roots(project, tmp_path / "roots")
    places, statements = find_places([tmp_path / "roots"]), Statements(project)
    expected = check_places(places, project / "out", statements, HERE)
    with executor() as who:
        assert check_places(places, project / "out", statements, Workers(2, who)) == expected
    assert len(expected[0]) == 24


class _Fatal:
    """Starts nodes, and kills the first process but this one that it is in."""

    def __init__(self, file: Path) -> None:
        self.file, self.here = file, os.getpid()

    def __call__(self, plan: ConfiguredPlan) -> str:
        if os.getpid() != self.here and plan.node_class.name.endswith("02"):
            try:
                self.file.touch(exist_ok=False)
            except FileExistsError:
                return plan.node_class.name
            os.kill(os.getpid(), signal.SIGKILL)
        return plan.node_class.name


def test_a_class_whose_process_was_killed_is_asked_again(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(divide, "_MANY", 0)
    plan, _ = pipeline.solve(pipeline.load(project))
    fatal = _Fatal(tmp_path / "killed")
    answers = list(results_of(fatal, plan.nodes, Workers(2)))
    assert answers == [node.node_class.name for node in plan.nodes]
    assert fatal.file.exists()


@pytest.mark.parametrize("more", sampled([[], ["--each"], ["--any-order"]], 1))
def test_any_number_of_processes_simulates_the_same(
    project: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, more: list[str]
) -> None:
    monkeypatch.setattr(divide, "_MANY", 0)
    (project / "pods.yaml").write_text(PODS)
    words = ["simulate", "pods.yaml", *more]
    said = [run_in(project, [*words, "--jobs", jobs], capsys) for jobs in ("1", "2", "3")]
    assert said[0] == said[1] == said[2]
    assert said[0][0] == (1 if more else 0)


class _Odd:
    """Results of work, as bytes that others sent."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def submit(self, *_: object, **__: object) -> "Future[bytes]":
        future: Future[bytes] = Future()
        future.set_result(self.data)
        return future


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0\0\0\1",
        frame([b""]),
        frame([b"=1", b"=2"]),
        frame([b"x2"]),
        frame([b'!{"a":1}']),
        frame([b"![7,[],[]]"]),
        frame([b"![-1,[],[]]"]),
        frame([b"=["]),
        frame([b'="1"']),
        b"cos\nsystem\n(S'exit 3'\ntR.",
    ],
)
def test_what_is_no_answer_is_said(data: bytes) -> None:
    workers = Workers(1, cast(Executor, _Odd(data)))
    with pytest.raises(CpuplanError) as caught:
        list(results_of(_square, range(2), workers, (KeyError,), int))
    assert [finding.code for finding in caught.value.diagnostics] == ["CP623"]


def test_errors_come_back_with_what_they_were_made_of() -> None:
    given = [CpuplanError([diagnose("CP623", what="a", problem="b")]), KeyError("a", 1)]
    work: Any = calls._Calls(_raise, given, (CpuplanError, KeyError), int)
    first, second = work.unpacked(work.packed())
    assert str(first.error) == str(given[0])
    assert second.error.args == ("a", 1)


def _raise(error: Exception) -> int:
    raise error

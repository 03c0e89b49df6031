"""Results come as they are made, and in their order."""

from concurrent.futures import Executor, ThreadPoolExecutor

import pytest

from cpuplan import workers
from cpuplan.workers import Workers
from tests.unit.workers.toy import Toy


def test_one_result_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []

    def square(_self: Toy, number: int) -> int:
        done.append(number)
        return number

    monkeypatch.setattr(Toy, "_square", square)
    results = workers.results(Toy((5, 6, 7)))
    assert next(results) == 5
    assert done == [5]
    assert list(results) == [6, 7]


def test_no_work() -> None:
    assert list(workers.results(Toy(()))) == []
    assert list(workers.results(Toy(()), Workers(4))) == []


def test_an_executor_does_it_all() -> None:
    class Counting(ThreadPoolExecutor):
        number = 0

        def submit(self, *arguments, **options):  # type: ignore[no-untyped-def]
            self.number += 1
            return super().submit(*arguments, **options)

    with Counting(2) as executor:
        assert isinstance(executor, Executor)
        results = list(workers.results(Toy(tuple(range(40))), Workers(2, executor)))
    assert results == [number * number for number in range(40)]
    assert executor.number == 8

"""Work on classes is a value: sent to another process, it gives the same."""

import os
import pickle
import random

import pytest

from cpuplan import pipeline
from cpuplan.base.codec import frame, unframe
from cpuplan.pipeline.batch import Batch, Result, Unit, UnpackError, unpack
from tests.projects import REPOSITORY


@pytest.fixture(scope="module")
def batch() -> Batch:
    project = pipeline.load(REPOSITORY)
    known = pipeline.starts(project)
    units = tuple(
        Unit((node_class,), (tuple(known.of(node_class)),)) for node_class in project.classes
    )
    return Batch(units, {}, frozenset(project.documents.by_name), checked=True)


def _content(received: list[Result]) -> list[object]:
    results = [result.made for result in received]
    plans = [plan for made in results for plan in made.plans]
    return [
        *((plan.node_class, plan.pools, plan.sets, list(plan.settings)) for plan in plans),
        *((made.problems, made.findings) for made in results),
    ]


def test_a_batch_can_be_sent(batch: Batch) -> None:
    sent: Batch = pickle.loads(pickle.dumps(batch))  # noqa: S301 - made here
    received = batch.unpacked(sent.packed())
    assert _content(received) == _content(batch.results())
    assert any(result.made.findings for result in received)


def test_parts_are_the_whole(batch: Batch) -> None:
    parts = [batch.part(slice(0, 2)), batch.part(slice(2, len(batch)))]
    together = [made for part in parts for made in part.results()]
    assert _content(together) == _content(batch.results())


def test_forged_bytes_run_nothing(batch: Batch) -> None:
    class Forged:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.system, ("exit 3",)

    first = batch.part(slice(0, 1))
    for data in (pickle.dumps(Forged()), b"", b"cos\nsystem\n(S'exit 3'\ntR.", pickle.dumps(1)):
        with pytest.raises(UnpackError):
            first.unpacked(frame([data]))
        with pytest.raises(UnpackError):
            batch.unpacked(data)


def test_damaged_bytes_are_refused_or_read(batch: Batch) -> None:
    (data,), dice = unframe(batch.part(slice(0, 1)).packed()), random.Random(1)  # noqa: S311
    for _ in range(200):
        damaged = bytearray(data)
        damaged[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        try:
            unpack(bytes(damaged), {})
        except UnpackError:
            continue

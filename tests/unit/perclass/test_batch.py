"""Work on classes is a value: sent to another process, it gives the same."""

import pickle

from cpuplan import pipeline
from cpuplan.perclass.batch import Batch
from cpuplan.perclass.unit import Unit
from cpuplan.setting import Setting
from tests.projects import REPOSITORY


def _settings(batch: Batch) -> list[list[Setting]]:
    return [list(plan.settings) for made in batch.made() for plan in made.plans]


def test_a_batch_can_be_sent() -> None:
    project = pipeline.load(REPOSITORY)
    known = pipeline.starts(project)
    units = tuple(Unit((each,), (tuple(known.of(each)),)) for each in project.classes)
    batch = Batch(units, {}, frozenset(project.documents.by_name), checked=True)
    sent: Batch = pickle.loads(pickle.dumps(batch))
    assert _settings(sent) == _settings(batch)
    here, there = batch.made(), sent.made()
    assert [made.found for made in here] == [made.found for made in there]
    assert [[plan.layout for plan in made.plans] for made in here] == [
        [plan.layout for plan in made.plans] for made in there
    ]

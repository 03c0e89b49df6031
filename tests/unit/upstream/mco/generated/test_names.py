"""Names of MachineConfigs."""

from typing import Any

from cpuplan.upstream.mco.controller_helpers import SUFFIX, Source, managed_name
from tests.unit.upstream.mco.objects import pool

POOL = pool("worker")
FIRST = "99-worker-generated-kubelet"
SPEC = {"machineConfigPoolSelector": {"matchLabels": {"pools.example.test/worker": ""}}}


def source(name: str, created: int, suffix: str | None = None, *finalizers: str) -> Source:
    annotations = {} if suffix is None else {SUFFIX: suffix}
    return Source(name, SPEC, annotations, created, list(finalizers))


def name(own: Source, *others: Source, written: Any = ()) -> str:
    return managed_name(POOL, own, [own, *others], written, "kubelet")


def test_the_only_object_has_no_number() -> None:
    assert name(source("a", 1)) == FIRST


def test_a_number_once_given_is_kept() -> None:
    assert name(source("a", 1, "7"), source("b", 2, "")) == f"{FIRST}-7"


def test_a_refused_object_counts() -> None:
    assert name(source("b", 2), source("a", 1)) == f"{FIRST}-1"


def test_an_older_object_without_annotation_goes_by_its_finalizers() -> None:
    own = source("a", 1, None, FIRST, f"{FIRST}-3", f"{FIRST}-4", "98-x")
    rival = source("b", 2, "5")
    assert name(own, rival, written=[FIRST, f"{FIRST}-3"]) == f"{FIRST}-3"
    assert name(own, rival) == f"{FIRST}-6"

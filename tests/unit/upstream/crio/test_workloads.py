"""CRI-O's workloads, as its tables and a pod's annotations give them."""

import pytest

from cpuplan.upstream.crio.high_performance_hooks import Spec
from cpuplan.upstream.crio.workloads import Resources, Workload, mutate_spec, workload_of
from cpuplan.upstream.kubernetes.errors import KubeletError, PanicError

TABLE = {
    "activation_annotation": "a/b",
    "annotation_prefix": "r",
    "resources": {"cpushares": 0, "cpuset": "0-1"},
}
WORKLOAD = workload_of(TABLE)


def changed(
    own: str | None, workload: Workload = WORKLOAD, activation: str = "a/b"
) -> tuple[object, ...]:
    """(CPUs, shares, quota, period) of a container whose pod brings `own`."""
    spec = Spec("c", "2-9", 1024, 30_000, 100_000)
    annotations = {activation: "any value"} | ({} if own is None else {"r/c": own})
    mutate_spec(spec, [workload], annotations)
    return spec.cpus, spec.shares, spec.quota, spec.period


ASKED = ("2-9", 1024, 30_000, 100_000)


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (None, ("0-1", 1024, 30_000, 100_000)),
        ('{"cpushares": 307}', ("0-1", 307, 30_000, 100_000)),
        ('{"cpushares": 2, "cpulimit": 500}', ("0-1", 2, 50_000, 100_000)),
        ('{"cpulimit": 1500}', ("0-1", 1024, 150_000, 100_000)),
        ('{"cpulimit": 1, "cpuperiod": 10000}', ("0-1", 1024, 1000, 10_000)),
        ('{"cpuset": "5", "unknown": 1}', ("5", 1024, 30_000, 100_000)),
        ("null", ASKED),
    ],
)
def test_what_a_pod_brings(own: str | None, expected: tuple[object, ...]) -> None:
    assert changed(own) == expected


def test_other_pods() -> None:
    assert changed(None, activation="a/c") == ASKED
    assert changed(None, Workload("a/b")) == ASKED


@pytest.mark.parametrize("own", ["{", '{"cpushares": -1}', '{"cpuset": 3}', "[]"])
def test_malformed(own: str) -> None:
    with pytest.raises(KubeletError):
        changed(own)


def test_bug_json_against_a_workload_without_resources() -> None:
    with pytest.raises(PanicError):
        changed('{"cpushares": 2}', Workload("a/b", "r"))


def test_a_limit_of_the_workload_alone_makes_no_quota() -> None:
    limited = WORKLOAD._replace(resources=Resources(cpulimit=500))
    assert changed(None, limited) == ASKED
    assert changed("{}", limited) == ("2-9", 1024, 50_000, 100_000)
    assert changed('{"cpuset": "1"}', limited._replace(resources=Resources(cpulimit=700))) == (
        "1",
        1024,
        70_000,
        100_000,
    )

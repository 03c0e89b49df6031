"""Amounts of CPUs in configurations, and annotations that are true or false."""

import pytest

from cpuplan.upstream.kubernetes.bits import parse_cpus, to_text
from cpuplan.upstream.nri.api import NriError
from cpuplan.upstream.nri.config import is_cpuset, listed_cpus, reserved_milli, whole_cpus
from cpuplan.upstream.nri.pods import HIDE_HYPERTHREADS, Container, Pod, Resources, container

ALL = parse_cpus("0-7")


@pytest.mark.parametrize(
    ("amount", "cpus"),
    [("cpuset:1-2", "1-2"), ("cpuset:8", "8"), ("exclude-cpuset:0,7-9", "1-6"), ("cpuset:", "")],
)
def test_lists_of_cpus(amount: str, cpus: str) -> None:
    assert is_cpuset(amount)
    assert to_text(listed_cpus(amount, "available", ALL)) == cpus


def test_a_list_that_cannot_be_read_is_named() -> None:
    with pytest.raises(NriError, match="failed to parse reserved CPU cpuset 'x': failed to parse"):
        listed_cpus("exclude-cpuset:x", "reserved", ALL)


def test_quantities_are_thousandths_and_need_whole_cpus() -> None:
    assert not is_cpuset("1500m")
    assert reserved_milli("1500m") == 1500
    assert [whole_cpus(milli) for milli in (0, 1, 1000, 1001, -1500)] == [0, 1, 1, 2, 0]


def _annotated(annotations: dict[str, str]) -> Container:
    return container(Pod("p", "default", "Burstable", {}, annotations), "c", Resources(2))


@pytest.mark.parametrize(("text", "flag"), [("true", True), ("0", False), ("perhaps", None)])
def test_flags(text: str, flag: bool | None) -> None:
    assert _annotated({HIDE_HYPERTHREADS: text}).flag(HIDE_HYPERTHREADS) is flag


def test_a_flag_that_is_not_there() -> None:
    assert _annotated({}).flag(HIDE_HYPERTHREADS) is None

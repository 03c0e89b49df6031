"""Names of zones; all recorded ones are judged by `python -m tests.conformance nrt`."""

import pytest

from cpuplan.upstream.nrt.api import NrtError, zone_id, zone_name


@pytest.mark.parametrize("number", [0, 1, 64, 1000])
def test_a_name_is_read_back(number: int) -> None:
    assert zone_id(zone_name(number)) == number


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("numa-node-0", 'invalid format for name "numa-node-0": bad prefix'),
        ("node-", 'invalid format for name "node-": strconv.Atoi: parsing "": invalid syntax'),
        ("node--1", 'invalid format for name "node--1": bad NUMA id: -1'),
    ],
)
def test_other_names(name: str, problem: str) -> None:
    with pytest.raises(NrtError) as error:
        zone_id(name)
    assert str(error.value) == problem

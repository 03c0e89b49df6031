"""Lists as systemd reads them; recorded ones are in the suite `crio`."""

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.upstream.linux.cpu_set_util import allowed_cpus


@pytest.mark.parametrize(
    ("lines", "cpus"),
    [
        (["0-1", "4"], "0-1,4"),
        (["0-1", "", "4"], "4"),
        (["0-1", "all"], "0-1"),
        (["0-1", "3-2"], ""),
        (["3-2,5"], "5"),
        (["010"], "8"),
        (["08"], ""),
        (["0b11"], "3"),
        (["0-1", "8192"], "0-1"),
    ],
)
def test_lines(lines: list[str], cpus: str) -> None:
    assert str(CpuSet.from_bits(allowed_cpus(lines))) == cpus

"""A cgroup keeps CPUs from the scheduler where no boot argument does."""

import pytest

from cpuplan.base.cpuset import CpuSet
from tests.boot import guests
from tests.boot.seen import CPU, Seen

pytestmark = pytest.mark.boot_systemd
NAME = "partitions"
CGROUP = "sys/fs/cgroup"


def test_the_partition_is_valid(partitions: Seen) -> None:
    threads = f"{CGROUP}/isolcpus.slice/isolcpus-threads.slice"
    assert partitions.text(f"{threads}/cpuset.cpus.partition") == "isolated"
    assert partitions.cpus(f"{CGROUP}/cpuset.cpus.isolated") == _isolcpus()


def test_no_boot_argument_isolates_them(partitions: Seen) -> None:
    assert "domain" not in partitions.text("proc/cmdline")
    assert not partitions.cpus(f"{CPU}/isolated") - _isolcpus()


def test_pods_are_kept_off_them(partitions: Seen) -> None:
    slices = partitions.cpus(f"{CGROUP}/kubepods.slice/cpuset.cpus.effective")
    assert slices
    assert not slices & _isolcpus()


def _isolcpus() -> CpuSet:
    return guests.plan(NAME).pool("isolcpus").cpus

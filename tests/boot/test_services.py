"""The system's services in slices that have the reserved CPUs, without a tickless kernel."""

import pytest

from cpuplan.base.cpuset import CpuSet
from tests.boot import guests
from tests.boot.seen import CPU, Seen

pytestmark = pytest.mark.boot_systemd
NAME = "services"


def test_slices_of_the_system_have_the_reserved_cpus(services: Seen) -> None:
    for unit in ("init.scope", "system.slice", "user.slice"):
        assert services.cpus(f"sys/fs/cgroup/{unit}/cpuset.cpus.effective") == _pool("reserved")


def test_processes_of_the_system_stay_off_isolated_cpus(services: Seen) -> None:
    isolated = _pool("isolated")
    assert [name for name, cpus in services.processes() if cpus & isolated] == []


def test_unbound_work_of_the_kernel_stays_off_isolated_cpus(services: Seen) -> None:
    assert services.text(f"{CPU}/nohz_full").strip() == "(null)"
    assert services.mask("sys/devices/virtual/workqueue/cpumask") == _pool("reserved")


def test_pages_are_half_on_each_numa_node(services: Seen) -> None:
    assert [services.pages(node, 2048) for node in (0, 1)] == [24, 24]


def _pool(name: str) -> CpuSet:
    return guests.plan(NAME).pool(name).cpus

"""Containers in the slices of their QoS classes run where the simulator says."""

import pytest

from cpuplan.base.cpuset import EMPTY, CpuSet
from tests.boot import containers, guests
from tests.boot.seen import Seen

pytestmark = pytest.mark.boot_systemd
NAME = "qos"


def test_every_container_runs_where_the_simulator_says(qos: Seen) -> None:
    simulated = containers.simulated(NAME)
    assert len({container.qos for container in simulated}) == 3
    seen = {container.pod: qos.cpus_of(container.unit) for container in simulated}
    assert seen == {container.pod: container.effective for container in simulated}


def test_best_effort_pods_stay_on_their_set(qos: Seen) -> None:
    best_effort = guests.plan(NAME).pool("bestEffort").cpus
    assert qos.cpus_of("container-batch.service") <= best_effort


def test_the_slices_have_what_was_compiled(qos: Seen) -> None:
    for name in ("kubepods-besteffort.slice", "kubepods-burstable.slice"):
        cgroup = f"sys/fs/cgroup/kubepods.slice/{name}/cpuset.cpus"
        assert qos.cpus(cgroup) == guests.plan(NAME).settings.values("slices")[name]


def test_no_container_runs_on_cpus_that_the_kernel_isolates(qos: Seen) -> None:
    hidden = guests.plan(NAME).pool("isolcpus").cpus
    used: CpuSet = EMPTY
    for container in containers.simulated(NAME):
        used = used | qos.cpus_of(container.unit)
    assert not used & hidden

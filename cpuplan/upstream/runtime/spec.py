"""What CRI-O is configured with, what it is asked for a container, and what becomes of it."""

from collections.abc import Iterable
from typing import NamedTuple

from cpuplan.upstream.runtime.cgroups import DEFAULT_PERIOD


class Settings(NamedTuple):
    """What CRI-O is configured with (crio.conf, [crio.runtime] and the handler)."""

    shared_cpuset: str = ""
    exec_cpu_affinity: str = ""


class Spec:
    """The CPU part of a container's OCI spec: as the kubelet asked, then as the hooks changed it.

    `quota` and `period` are microseconds (-1: no quota); None stands for a field that the spec
    lacks.
    """

    __slots__ = ("cpus", "env", "exec_cpu", "name", "period", "quota", "shares")

    def __init__(
        self,
        name: str,
        cpus: str,
        shares: int | None = None,
        quota: int | None = None,
        period: int | None = DEFAULT_PERIOD,
        env: Iterable[str] = (),
    ) -> None:
        self.name, self.cpus, self.shares = name, cpus, shares
        self.quota, self.period = quota, period
        self.env = list(env)
        self.exec_cpu: int | None = None


class Effects(NamedTuple):
    """What the hooks do for a container beside its cpuset, quota and environment.

    CPUs are sets; texts are written for each of the container's CPUs (empty: nothing is written).
    """

    without_load_balancing: int = 0
    without_interrupts: int = 0
    is_quota_off: bool = False
    resume_latency: str = ""  # power/pm_qos_resume_latency_us
    governor: str = ""  # cpufreq/scaling_governor
    exec_cpu: int | None = None  # where exec probes start

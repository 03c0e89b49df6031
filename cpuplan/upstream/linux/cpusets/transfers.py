"""CPUs that a parent gives to a partition and gets back."""

from cpuplan.upstream.linux.cpusets.state import ISOLATED, Cpuset, System


def exclusive_of(cpuset: Cpuset) -> int:
    """The CPUs that it may have exclusively (compute_effective_exclusive_cpumask)."""
    return cpuset.wanted & cpuset.above().effective_exclusive


def reset(cpuset: Cpuset) -> None:
    """Forget what only a valid partition has (reset_partition_data)."""
    parent = cpuset.above()
    cpuset.partitions = 0
    if not cpuset.exclusive:
        cpuset.effective_exclusive = 0
        cpuset.is_exclusive = False
    cpuset.effective = parent.effective & cpuset.allowed or parent.effective


def set_isolated(system: System, state: int, cpus: int) -> None:
    """CPUs of a partition in this state from now on (partition_xcpus_newstate)."""
    if state == ISOLATED:
        system.isolated |= cpus
    else:
        system.isolated &= ~cpus


def take(system: System, state: int, parent: Cpuset, cpus: int) -> None:
    """Take CPUs out of a parent for a partition (partition_xcpus_add)."""
    if parent is system.top:
        system.subpartitions |= cpus
    if state != parent.state:
        set_isolated(system, state, cpus)
    parent.effective &= ~cpus


def give_back(system: System, state: int, parent: Cpuset, cpus: int) -> int:
    """Give CPUs of a partition back; those of them that are online (partition_xcpus_del)."""
    if parent is system.top:
        system.subpartitions &= ~cpus
    if state != parent.state:
        set_isolated(system, parent.state, cpus)
    cpus &= system.active
    parent.effective |= cpus
    return cpus

"""The cores that this process may use."""

import os


def cores() -> int:
    """Their number: those of its affinity, as `taskset` and cpusets of containers leave them."""
    try:
        return len(os.sched_getaffinity(0)) or 1
    except (AttributeError, OSError):  # not on every system
        return os.cpu_count() or 1

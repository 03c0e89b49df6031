"""Where the agent itself runs: a checker that runs on isolated CPUs is what it looks for."""

import os
from collections.abc import Iterable
from contextlib import suppress


def leave(isolated: Iterable[int]) -> frozenset[int]:
    """Keep all threads of this process off these CPUs; the CPUs that it may use then.

    The kubelet gives a pod without exclusive CPUs all that nobody has exclusively, isolated ones
    included. No right is needed: a process may narrow itself (sched_setaffinity(2)), and its cgroup
    still limits it. If the cgroup has isolated CPUs only, the process stays where it is.
    """
    allowed = os.sched_getaffinity(0)
    wanted = allowed - set(isolated)
    if not wanted or wanted == allowed:
        return frozenset(allowed)
    for thread in os.listdir("/proc/self/task"):
        with suppress(OSError):  # it has ended, or its cgroup has changed since
            os.sched_setaffinity(int(thread), wanted)
    return frozenset(wanted)

"""What is checked of container runtimes, in the order of the answers."""

from cpuplan.check.runtimes import claims, containerd, crio, handlers, mixedcpus, running

STEPS = (
    running.runs,
    crio.configuration,
    crio.traps,
    containerd.configuration,
    containerd.traps,
    handlers.programs,
    mixedcpus.limit,
    claims.given_out,
    running.restarted,
)

"""What the container runtime makes of admitted pods: environment, quotas, hooks, problems."""

from collections.abc import Iterable, Iterator
from typing import Any

from cpuplan.simulate.admission import Outcome
from cpuplan.simulate.allocators.base import Placed
from cpuplan.simulate.names import full_name
from cpuplan.simulate.runtimes import Started
from cpuplan.upstream.crio.cgmgr import UNLIMITED
from cpuplan.upstream.crio.high_performance_hooks import Effects
from cpuplan.upstream.kubernetes.bits import to_text


def lines(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """A line for each container that the runtime treats in a special way."""
    for outcome in outcomes:
        for container in outcome.containers:
            parts = list(_parts(container))
            if parts:
                yield f"{full_name(outcome.pod)} {container.name}: {'; '.join(parts)}"


def _parts(container: Placed) -> Iterator[str]:
    started = container.started
    if started.problem:
        yield f"does not start: {started.problem}"
        return
    if started.cpus and started.cpus != container.cpus:
        yield f"cpuset {to_text(started.cpus)}"
    if started.env:
        yield f"environment {' '.join(started.env)}"
    if container.is_exclusive and started.quota != UNLIMITED:
        yield f"quota {started.quota} µs"
    if started.outer_quota != UNLIMITED:
        yield f"throttled by a quota of {started.outer_quota} µs around it"
    yield from _effects(started.effects)
    yield from started.outside


def _effects(effects: Effects) -> Iterator[str]:
    if effects.without_load_balancing:
        yield f"no load balancing on CPUs {to_text(effects.without_load_balancing)}"
    if effects.without_interrupts:
        yield f"no interrupts on CPUs {to_text(effects.without_interrupts)}"
    if effects.is_quota_off:
        yield "no quota (cpu-quota.crio.io)"
    if effects.resume_latency:
        yield f"pm_qos_resume_latency_us {effects.resume_latency}"
    if effects.governor:
        yield f"governor {effects.governor}"
    if effects.exec_cpu is not None:
        yield f"exec probes start on CPU {effects.exec_cpu}"


def to_data(started: Started) -> dict[str, Any]:
    """The same for programs; -1 stands for no quota."""
    return {
        "cpuset": to_text(started.cpus),
        "cpusetEffective": to_text(started.effective),
        "cpusetAfterUpdate": started.updated,
        "env": list(started.env),
        "quota": started.quota,
        "outerQuota": started.outer_quota,
        "effects": list(_effects(started.effects)),
        "problems": [text for text in (started.problem, *started.outside) if text],
        "pod": started.cgroup._asdict(),
    }

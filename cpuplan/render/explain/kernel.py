"""What the kernel makes of a node's boot arguments: files, threads, and remarks."""

from collections.abc import Iterator

from cpuplan.base.cpuset import CpuSet
from cpuplan.components import booted
from cpuplan.plan import ConfiguredPlan
from cpuplan.render.explain.rows import table
from cpuplan.upstream.linux.isolation import Booted


def explain_kernel(plan: ConfiguredPlan, node: str) -> str:
    """The prediction for a node, as its files and threads show it after a boot."""
    state = booted.booted(plan)
    lines = [f"What {booted.LINUX} makes of the boot arguments of {node}:", ""]
    lines += ["files", *table(list(_files(state))), "", "threads", *table(list(_threads(state)))]
    remarks = [f"{one.key} ({one.kind}): {one.text}" for one in booted.remarks_of(plan)]
    if remarks:
        lines += ["", "remarks", *(f"  {remark}" for remark in remarks)]
    return "\n".join(lines) + "\n"


def _files(state: Booted) -> Iterator[tuple[str, str]]:
    system = "/sys/devices/system/cpu"
    yield f"{system}/isolated", _list(state.isolated)
    yield f"{system}/nohz_full", "(null)" if state.nohz_full is None else _list(state.nohz_full)
    yield "/proc/irq/default_smp_affinity", _list(state.default_smp_affinity)
    yield "/sys/devices/virtual/workqueue/cpumask", _list(state.workqueue)
    yield "/proc/sys/kernel/watchdog_cpumask", _list(state.watchdog)
    yield "managed interrupts", _list(state.managed_irq)


def _threads(state: Booted) -> Iterator[tuple[str, str]]:
    threads = state.threads
    yield "init, until systemd sets its own", _list(threads.init)
    yield "kthreadd", _list(threads.kthreadd)
    yield "kswapd0", _list(threads.kswapd0)
    yield "rcu_preempt", _list(threads.rcu_preempt)
    yield "kworkers without a CPU", " or ".join(map(_list, threads.unbound_kworkers))
    if threads.rcuog:
        yield "rcuog", " or ".join(map(_list, threads.rcuog))
        yield "RCU callbacks are taken off", _list(state.callbacks or 0)


def _list(bits: int) -> str:
    return str(CpuSet.from_bits(bits)) or "none"

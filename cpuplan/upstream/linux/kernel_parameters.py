"""Boot arguments of others that undo a partitioning, each with what it does.

Which of them do depends on what was planned: `Needs`. The kernel's own words on each are in
Documentation/admin-guide/kernel-parameters.txt.

Upstream: torvalds/linux Documentation/admin-guide/kernel-parameters.txt
  @ adc218676eef25575469234709c2d87185ca223a
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.upstream.linux.cpu_set_util import allowed_cpus

_DECIMAL = re.compile(r"[0-9]{1,9}")
#: Mitigations that switch siblings off as well (Documentation/admin-guide/hw-vuln).
_MITIGATIONS = ("mitigations", "mds", "tsx_async_abort", "mmio_stale_data", "retbleed", "l1tf")


class Needs(NamedTuple):
    """What a plan needs of the kernel."""

    #: The number of CPUs that must be online at boot, and the highest of all numbers plus one.
    cpus: int
    size: int
    #: Whether several threads of a core are used.
    has_siblings: bool = False
    numa_nodes: int = 1
    #: The names of its own arguments, `-` written as `_`.
    arguments: frozenset[str] = frozenset()
    is_cgroup_v1: bool = False
    has_huge_pages: bool = False
    has_isolated: bool = True
    is_real_time_kernel: bool = False
    #: The CPUs of system services, where a file says so.
    system: CpuSet = EMPTY


class Undoing(NamedTuple):
    """An argument, and what it does to the plan."""

    name: str
    text: str
    effect: str


def undoing(pairs: Iterable[tuple[str, str | None]], needs: Needs) -> Iterator[Undoing]:
    """The arguments that undo a plan, of a command line without the plan's own; each once."""
    size_given = False
    seen = set()
    for name, value in pairs:
        key = name.replace("-", "_")
        text = name if value is None else f"{name}={value}"
        effect = _effect(key, value or "", needs)
        if key == "hugepages" and not size_given and key not in needs.arguments:
            effect = "the kernel sets aside pages of its default size that are not in the plan"
        size_given = key == "hugepagesz"
        if effect and key not in needs.arguments and text not in seen:
            seen.add(text)
            yield Undoing(key, text, effect)


def _effect(key: str, value: str, needs: Needs) -> str:
    if key in _LISTS:
        return _LISTS[key]
    if key in _MITIGATIONS:
        is_so = value.endswith("nosmt") or (key == "l1tf" and value.startswith("full"))
        return _no_siblings(is_so, needs)
    rule = _RULES.get(key)
    return rule(value, needs) if rule else ""


def _no_siblings(is_so: bool, needs: Needs) -> str:
    text = "only the first thread of each core runs, and the plan uses siblings"
    return text if is_so and needs.has_siblings else ""


def _number(value: str) -> int | None:
    return int(value) if _DECIMAL.fullmatch(value) else None


def _max_cpus(value: str, needs: Needs) -> str:
    number = _number(value)
    if number is None or max(number, 1) >= needs.cpus:
        return ""
    return f"no more than {max(number, 1)} CPUs run, and the plan uses {needs.cpus}"


def _possible(value: str, needs: Needs) -> str:
    number = _number(value)
    if number is None or max(number, 1) >= needs.size:
        return ""
    text = f"the kernel knows no CPU from {max(number, 1)} on"
    return f"{text}, and drops each list of isolcpus= and nohz_full= that names one"


def _idle(value: str, _needs: Needs) -> str:
    if value == "poll":
        return "idle CPUs poll: they take power, and cycles of their siblings"
    return "idle CPUs use one state alone, whatever pods or the plan ask for"


def _disabled_groups(value: str, needs: Needs) -> str:
    needed = ["cpuset", "cpu", "cpuacct", "memory", "pids"]
    if needs.has_huge_pages:
        needed.append("hugetlb")
    lost = [name for name in value.split(",") if name in needed]
    return f"the kubelet has no control groups for {', '.join(lost)}" if lost else ""


def _unified(value: str, needs: Needs) -> str:
    is_v1 = value.lower() in ("0", "no", "n", "off", "false", "f")
    if is_v1 == needs.is_cgroup_v1:
        return ""
    return f"control groups are of version {1 if is_v1 else 2}, and the plan is for the other"


def _no_v1(value: str, needs: Needs) -> str:
    lost = needs.is_cgroup_v1 and {"all", "cpuset", "cpu"} & set(value.split(","))
    return "the plan is for control groups of version 1" if lost else ""


def _services(value: str, needs: Needs) -> str:
    cpus = CpuSet.from_bits(allowed_cpus([value]))
    if not cpus or cpus == needs.system:
        return ""
    return "it overrides the files of systemd: services run on CPUs that the plan does not name"


def _numa(value: str, needs: Needs) -> str:
    if value == "off" and needs.numa_nodes > 1:
        return f"all memory is one NUMA node, and the plan is for {needs.numa_nodes}"
    if value.startswith("fake="):
        return "NUMA nodes are made up, and are not those of the plan"
    return ""


def _acpi(value: str, _needs: Needs) -> str:
    lost = value in ("off", "ht")
    return "without ACPI the kernel finds neither NUMA nodes nor all CPUs" if lost else ""


def _pci(value: str, _needs: Needs) -> str:
    lost = "nomsi" in value.split(",")
    return "devices have one interrupt each, not one for each queue" if lost else ""


def _thread_irqs(_value: str, needs: Needs) -> str:
    if needs.is_real_time_kernel:
        return ""
    return "handlers of interrupts are threads of real-time priority, which run before workloads"


def _nohz(value: str, needs: Needs) -> str:
    lost = value in ("off", "0", "n") and needs.has_isolated
    return "the timer tick never stops, not even on idle CPUs" if lost else ""


def _tsc(value: str, _needs: Needs) -> str:
    lost = value == "unstable"
    return "the kernel does not trust its clock, so that no tick stops" if lost else ""


def _clock(value: str, _needs: Needs) -> str:
    if value.startswith(("tsc", "kvm", "hyperv", "xen", "arch_sys")):
        return ""
    return "reading the time is slow, and a clock other than the TSC lets no tick stop"


def _only(value: str) -> Callable[[str, Needs], str]:
    return lambda _value, _needs: value


def _frequency(value: str, needs: Needs) -> str:
    planned = {"intel_pstate", "amd_pstate"} & needs.arguments
    return "no driver sets frequencies" if value in ("1", "y", "Y") and planned else ""


def _memory(value: str, _needs: Needs) -> str:
    is_size = value[:1].isdigit()
    return "the kernel uses no memory beyond it, whatever the machine has" if is_size else ""


def _huge_pages(value: str, needs: Needs) -> str:
    lost = value in ("off", "0", "n") and needs.has_huge_pages
    return "the kernel sets no huge pages aside" if lost else ""


_LISTS = {
    "isolcpus": "the scheduler or managed interrupts keep off CPUs that the plan does not name",
    "nohz_full": "CPUs lose their tick, and the kernel's own work, that the plan does not name",
    "rcu_nocbs": "RCU callbacks leave CPUs that the plan does not name",
    "irqaffinity": "interrupts go to CPUs that the plan does not name",
    "tuned.non_isolcpus": "TuneD moves work to CPUs that the plan does not name",
    "kthread_cpus": "a kernel that knows it moves its threads to CPUs that the plan does not name",
}
_RULES: dict[str, Callable[[str, Needs], str]] = {
    "maxcpus": _max_cpus,
    "nr_cpus": _possible,
    "possible_cpus": _possible,
    "nosmp": lambda _value, needs: _max_cpus("1", needs),
    "nosmt": lambda _value, needs: _no_siblings(True, needs),
    "nolapic": lambda _value, needs: _max_cpus("1", needs),
    "disableapic": lambda _value, needs: _max_cpus("1", needs),
    "noapic": _only("interrupts use the oldest controller, which knows one CPU"),
    "acpi": _acpi,
    "pci": _pci,
    "idle": _idle,
    "cgroup_disable": _disabled_groups,
    "cgroup_no_v1": _no_v1,
    "systemd.unified_cgroup_hierarchy": _unified,
    "systemd.cpu_affinity": _services,
    "numa": _numa,
    "threadirqs": _thread_irqs,
    "nohz": _nohz,
    "highres": _nohz,
    "tsc": _tsc,
    "notsc": lambda _value, needs: _tsc("unstable", needs),
    "clocksource": _clock,
    "cpufreq.off": _frequency,
    "mem": _memory,
    "hugetlb": _huge_pages,
}
#: The names of all arguments that are judged here.
ARGUMENTS = (*_LISTS, *_RULES, *_MITIGATIONS)

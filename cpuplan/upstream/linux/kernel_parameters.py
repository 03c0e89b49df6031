"""What single boot arguments make of the machine, whoever gave them, and what undoes a plan.

An argument has the place that it came from; which ones undo a plan depends on what was planned:
`Needs`. The kernel's own words on each are in Documentation/admin-guide/kernel-parameters.txt.

Upstream: torvalds/linux Documentation/admin-guide/kernel-parameters.txt arch/x86/kernel/cpu/bugs.c
  arch/x86/kernel/cpu/common.c kernel/smp.c kernel/cgroup/cgroup.c
  @ adc218676eef25575469234709c2d87185ca223a
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from functools import partial
from typing import NamedTuple

from cpuplan.base.cpuset import EMPTY, CpuSet, cpus_text
from cpuplan.upstream.linux import hugetlb
from cpuplan.upstream.linux.cmdline import Argument, get_option, memparse
from cpuplan.upstream.linux.cpu_set_util import allowed_cpus


class Cpu(NamedTuple):
    """The CPU that boots: its vendor as in /proc/cpuinfo, "" where nobody says it."""

    architecture: str = "x86_64"
    vendor: str = ""
    model: int | None = None


class Harm(Enum):
    """How bad an argument is for a plan."""

    #: The plan does not hold: CPUs, NUMA nodes, memory or control groups are not there.
    BREAKS = "breaks"
    #: Whether the plan holds depends on the CPU.
    MAY_BREAK = "may break"
    #: The plan holds, and workloads get less of what it is for.
    COSTS = "costs"


class Needs(NamedTuple):
    """What a plan needs of the kernel."""

    #: The CPUs that the plan uses, all of the machine, and the first thread of each core.
    cpus: CpuSet
    present: CpuSet
    first_threads: CpuSet
    numa_nodes: int = 1
    #: The names of its own arguments, `-` written as `_`.
    arguments: frozenset[str] = frozenset()
    is_cgroup_v1: bool = False
    has_huge_pages: bool = False
    has_isolated: bool = True
    is_real_time_kernel: bool = False
    #: The CPUs of system services, where a file says so.
    system: CpuSet = EMPTY
    #: Bytes of the machine; None where nobody knows them.
    memory: int | None = None
    cpu: Cpu = Cpu()


class Undoing(NamedTuple):
    """An argument, what it does to the plan, how bad that is, and the CPUs that it takes."""

    argument: Argument
    effect: str
    harm: Harm
    cpus: CpuSet = EMPTY

    @property
    def name(self) -> str:
        """The name of the argument."""
        return self.argument.name

    @property
    def text(self) -> str:
        """The argument as it was written."""
        return self.argument.text


#: Of these, the kernel or systemd takes the last one; the others add up or hold from the first on.
_LAST_HOLDS = frozenset(
    {
        "mitigations",
        "l1tf",
        "maxcpus",
        "possible_cpus",
        "idle",
        "nohz",
        "highres",
        "clocksource",
        "smt",
        "smt_enabled",
        "systemd.unified_cgroup_hierarchy",
    }
)


def undoing(arguments: Sequence[Argument], needs: Needs) -> Iterator[Undoing]:
    """The arguments that undo a plan, of those that are not its own; each once.

    Arguments come in the order of the command line: of some, only the last one holds.
    """
    holding = _holding(arguments)
    without_size = _counts_without_size(arguments, needs.arguments)
    seen = set()
    for argument in arguments:
        if argument.name in needs.arguments or (argument.text, argument.place) in seen:
            continue
        if not holding(argument):
            continue
        seen.add((argument.text, argument.place))
        if argument.text in without_size:
            effect = "the kernel sets aside pages of its default size that are not in the plan"
            yield Undoing(argument, effect, Harm.COSTS)
        elif undone := judge(argument, needs):
            yield undone


def _holding(arguments: Sequence[Argument]) -> Callable[[Argument], bool]:
    """Whether no later argument takes the place of one."""
    last = {argument.name: argument for argument in arguments if argument.name in _LAST_HOLDS}
    return lambda argument: last.get(argument.name, argument) is argument


def _counts_without_size(arguments: Sequence[Argument], planned: frozenset[str]) -> frozenset[str]:
    """The counts of huge pages that no size stands before, or the planned default size."""
    before = (None, *arguments)
    sizes = {hugetlb.SIZE} | ({hugetlb.DEFAULT_SIZE} - planned)
    return frozenset(
        argument.text
        for previous, argument in zip(before, arguments, strict=False)
        if argument.name == hugetlb.COUNT and not (previous and previous.name in sizes)
    )


def judge(argument: Argument, needs: Needs) -> Undoing | None:
    """What one argument does to a plan, whichever others there are; None for nothing."""
    key, value = argument.name, argument.value or ""
    limit = cpu_limit(argument, needs.cpu)
    if limit:
        return _of_limit(argument, limit, needs)
    if key in _LISTS:
        return Undoing(argument, _LISTS[key], Harm.BREAKS)
    rule = _RULES.get(key)
    effect = rule(value, needs) if rule else ""
    harm = Harm.BREAKS if key in _BREAKING else Harm.COSTS
    return Undoing(argument, effect, harm) if effect else None


class CpuLimit(NamedTuple):
    """What an argument leaves of the machine's CPUs."""

    #: How many come up, in the order of their numbers; None for no limit.
    most: int | None = None
    #: The CPUs below it are known.
    size: int | None = None
    #: Whether only the first thread of each core runs.
    is_one_thread: bool = False
    #: Whether that is sure, whatever the CPU.
    is_certain: bool = True

    def lost(self, present: CpuSet, first_threads: CpuSet) -> CpuSet:
        """The CPUs of `present` that do not come up."""
        if self.is_one_thread:
            return present - first_threads
        if self.most is not None:
            return CpuSet(sorted(present)[self.most :])
        return CpuSet(cpu for cpu in present if self.size is not None and cpu >= self.size)


#: One CPU runs, and none of the others.
_ONE_CPU = frozenset({"nosmp", "nolapic", "disableapic"})
#: Of these, the value says how many threads of a core run.
_THREADS = {"smt": 1, "smt_enabled": 1}
#: Intel's models from Ice Lake on that none of the mitigations switches siblings off on, and those
#: that MMIO stale data is one of (cpu_vuln_blacklist in arch/x86/kernel/cpu/common.c; numbers from
#: arch/x86/include/asm/intel-family.h).
_MMIO_ONLY = frozenset((106, 108, 125, 126, 138, 167))
_UNAFFECTED = frozenset(
    (
        *(140, 141, 143, 151, 154, 170, 172, 173, 174, 175, 181, 182, 183, 186, 189, 190, 191, 197),
        *(198, 204, 207, 221),
    )
)
_AMD = ("AuthenticAMD", "HygonGenuine")
#: Vendors whose CPUs have none of the bugs that an argument mitigates.
_NOT_AFFECTED: dict[str, tuple[str, ...]] = {
    "l1tf": _AMD,
    "mds": _AMD,
    "tsx_async_abort": _AMD,
    "mmio_stale_data": _AMD,
    "mitigations": (),
    "retbleed": (),
}


_ANY = Cpu()
#: One that has none of the bugs that arguments mitigate.
WITHOUT_BUGS = Cpu(vendor="other")


def limiting(arguments: Sequence[Argument], cpu: Cpu = _ANY) -> Iterator[tuple[Argument, CpuLimit]]:
    """The arguments that leave not all CPUs, and what each leaves: the least of all holds."""
    holding = _holding(arguments)
    for argument in arguments:
        limit = cpu_limit(argument, cpu) if holding(argument) else None
        if limit:
            yield argument, limit


def cpu_limit(argument: Argument, cpu: Cpu = _ANY) -> CpuLimit | None:
    """What an argument leaves of the CPUs; None where it leaves all."""
    name, value = argument.name, argument.value or ""
    if name == "nosmt":
        return CpuLimit(is_one_thread=True)
    if name in _THREADS:
        is_off = value == "off" or get_option(value) == _THREADS[name]
        return CpuLimit(is_one_thread=True) if is_off else None
    if name in _NOT_AFFECTED:
        return _of_mitigation(name, value, cpu)
    if name in _ONE_CPU:
        return CpuLimit(most=1) if cpu.architecture == "x86_64" or name == "nosmp" else None
    number = get_option(value)
    if number is None or number < 0:
        return None
    if name == "maxcpus":
        return CpuLimit(most=max(number, 1))
    if name == "possible_cpus" or (name == "nr_cpus" and number):
        return CpuLimit(size=max(number, 1))
    return None


def _of_mitigation(name: str, value: str, cpu: Cpu) -> CpuLimit | None:
    """Mitigations that switch siblings off, on CPUs that have the bug; x86 only."""
    if cpu.architecture != "x86_64" or not _asks_for_one_thread(name, value):
        return None
    if cpu.vendor in _NOT_AFFECTED[name] or cpu.vendor not in ("", "GenuineIntel", *_AMD):
        return None
    if cpu.vendor in _AMD:
        # The oldest ones with siblings have retbleed, and no STIBP.
        return CpuLimit(is_one_thread=True, is_certain=False)
    is_mmio = name in ("mitigations", "mmio_stale_data")
    is_intel = cpu.vendor == "GenuineIntel"
    if is_intel and (cpu.model in _UNAFFECTED or (cpu.model in _MMIO_ONLY and not is_mmio)):
        return None
    return CpuLimit(is_one_thread=True)


def _asks_for_one_thread(name: str, value: str) -> bool:
    """Whether the value of a mitigation may switch siblings off."""
    if name == "mitigations":
        return value.partition(";")[0] == "auto,nosmt"
    if name == "l1tf":
        return value in ("full", "full,force", "flush,nosmt")
    if name == "retbleed":
        return "nosmt" in value.split(",")
    return value == "full,nosmt"


def _of_limit(argument: Argument, limit: CpuLimit, needs: Needs) -> Undoing | None:
    lost = limit.lost(needs.present, needs.first_threads) & needs.cpus
    if not lost:
        return None
    if limit.is_one_thread:
        effect = "only the first thread of each core runs, and the plan uses siblings"
    elif limit.most is not None:
        effect = f"no more than {limit.most} CPUs run, and the plan uses {len(needs.cpus)}"
    else:
        effect = (
            f"the kernel knows no CPU from {limit.size} on, and drops each list of isolcpus= and "
            "nohz_full= that names one"
        )
    if limit.is_certain:
        return Undoing(argument, effect, Harm.BREAKS, lost)
    effect = f"if the CPU has the bug that it mitigates, {cpus_text(lost)} do not come up"
    return Undoing(argument, effect, Harm.MAY_BREAK, lost)


_FALSE, _TRUE = ("0", "no", "n", "off", "false", "f"), ("1", "yes", "y", "on", "true", "t", "")
_UNIFIED = "systemd.unified_cgroup_hierarchy"


def cgroup_version(arguments: Iterable[Argument]) -> int | None:
    """The version of control groups that systemd sets up (1, 2); None where no argument says it.

    systemd src/basic/cgroup-util.c, cg_is_unified_wanted: cgroup_no_v1=all asks for version 2.
    """
    version = None
    for argument in arguments:
        if argument.name == _UNIFIED:
            version = 1 if (argument.value or "").lower() in _FALSE else 2
    if version is None and any(
        argument.name == "cgroup_no_v1" and argument.value == "all" for argument in arguments
    ):
        return 2
    return version


def memory_limit(arguments: Iterable[Argument]) -> int | None:
    """The bytes that `mem=` and a bare `memmap=` leave; None for all."""
    return min(filter(None, map(_limit_of_memory, arguments)), default=None)


def _limit_of_memory(argument: Argument) -> int | None:
    value = argument.value or ""
    is_area = argument.name == "memmap" and any(sign in value for sign in "@#$!%,")
    if argument.name not in ("mem", "memmap") or is_area:
        return None
    return memparse(value) or None


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
    is_v1 = value.lower() in _FALSE
    if is_v1 == needs.is_cgroup_v1 or (not is_v1 and value.lower() not in _TRUE):
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
    words = value.split(",")
    if {"off", "noacpi"} & set(words) and needs.numa_nodes > 1:
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


def _memory(name: str, value: str, needs: Needs) -> str:
    limit = _limit_of_memory(Argument(name, value, ""))
    if limit is None or (needs.memory is not None and limit >= needs.memory):
        return ""
    return "the kernel uses no memory beyond it, whatever the machine has"


def _areas(value: str, needs: Needs) -> str:
    if value.startswith("exactmap"):
        return "the kernel uses the memory that further arguments list, whatever the machine has"
    return _memory("memmap", value, needs)


def _cma(_value: str, needs: Needs) -> str:
    lost = "the kernel sets no pages of 1G aside at boot"
    return lost if needs.has_huge_pages else ""


def _huge_pages(value: str, needs: Needs) -> str:
    lost = value in ("off", "0", "n") and needs.has_huge_pages
    return "the kernel sets no huge pages aside" if lost else ""


_LISTS = {
    "isolcpus": "the scheduler or managed interrupts keep off CPUs that the plan does not name",
    "nohz_full": "CPUs lose their tick, and the kernel's own work, that the plan does not name",
    "rcu_nocbs": "RCU callbacks leave CPUs that the plan does not name",
    "irqaffinity": "interrupts go to CPUs that the plan does not name",
    "tuned.non_isolcpus": "TuneD moves work to CPUs that the plan does not name",
}
_RULES: dict[str, Callable[[str, Needs], str]] = {
    "kthread_cpus": _only(
        "a kernel that knows it moves its threads to CPUs that the plan does not name"
    ),
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
    "mem": partial(_memory, "mem"),
    "memmap": _areas,
    "hugetlb_cma": _cma,
    "hugetlb": _huge_pages,
}
#: Those without which the machine is not the planned one; the others cost latency or power.
_BREAKING = frozenset(
    {
        "noapic",
        "acpi",
        "cgroup_disable",
        "cgroup_no_v1",
        _UNIFIED,
        "numa",
        "hugetlb",
        "hugetlb_cma",
    }
)
#: What an intent asks for by naming it: power or priorities, and nothing else of the plan.
CHOICES = frozenset({"idle", "threadirqs"})
#: The names of all arguments that are judged here.
ARGUMENTS = (
    *_LISTS,
    *_RULES,
    *_NOT_AFFECTED,
    *_THREADS,
    *sorted(_ONE_CPU),
    "nosmt",
    "maxcpus",
    "nr_cpus",
    "possible_cpus",
)

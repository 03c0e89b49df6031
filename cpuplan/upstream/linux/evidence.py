"""Files of /proc and /sys that show what the kernel made of a boot argument.

Where the kernel turns a list of CPUs into several masks, `boot` says which; this table has the
rest. What is not in it shows nowhere but in /proc/cmdline: `skew_tick=`, `nohz=`.

Upstream: torvalds/linux kernel/sched/isolation.c kernel/rcu/tree_nocb.h init/main.c mm/hugetlb.c
  drivers/base/cpu.c @ adc218676eef25575469234709c2d87185ca223a
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from cpuplan.base import nodetext
from cpuplan.base.cpuset import CpuSet
from cpuplan.base.patterns import expression
from cpuplan.upstream.linux.isolation import Booted

_CPU = "sys/devices/system/cpu"
_CLOCK = "sys/devices/system/clocksource/clocksource0/current_clocksource"
_INTERRUPTS = "proc/irq/default_smp_affinity"
#: Clocks that a guest prefers to its TSC, and that follow the TSC of its host.
_GUEST_CLOCKS = ("kvm-clock", "hyperv_clocksource_tsc_page", "hyperv_clocksource_msr", "xen")
_NUMBER = expression(r"-?[0-9]{1,20}|0[xX][0-9a-fA-F]{1,16}")
_PARAMETER = expression(r"([a-z][a-z0-9_]*)\.([a-z][a-z0-9_]*)")
_TRUE, _FALSE = ("1", "y", "Y", "on"), ("0", "n", "N", "off")
#: Prefixes of arguments that systemd and other programs read: no module has these names.
_PROGRAMS = frozenset(("systemd", "rd", "tuned", "udev", "luks", "vconsole", "locale", "ignition"))


class Shown(NamedTuple):
    """A file and what it says: a set of CPUs, or any one of several texts.

    `form` is `cpus` or `mask` for a set, `number`, `word` (the one in brackets, or the only one) or
    `text`. The text "" is that of a file that must not exist.
    """

    path: str
    form: str
    value: CpuSet | tuple[str, ...]
    #: The release of Linux that brought the file.
    since: str = ""


class _Rule(NamedTuple):
    """The texts that a file has for each value; None stands for any value, the text `*` for it."""

    path: str
    form: str
    texts: dict[str | None, tuple[str, ...]]
    since: str = ""


_SAME: dict[str | None, tuple[str, ...]] = {None: ("*",)}
_RULES: dict[str, _Rule] = {
    "nmi_watchdog": _Rule(
        "proc/sys/kernel/nmi_watchdog", "number", {"0": ("0",), "nopanic,0": ("0",)}
    ),
    "nosoftlockup": _Rule("proc/sys/kernel/soft_watchdog", "number", {"": ("0",)}),
    "nowatchdog": _Rule("proc/sys/kernel/watchdog", "number", {"": ("0",)}),
    "watchdog_thresh": _Rule("proc/sys/kernel/watchdog_thresh", "number", _SAME),
    "panic": _Rule("proc/sys/kernel/panic", "number", _SAME),
    "softlockup_panic": _Rule("proc/sys/kernel/softlockup_panic", "number", _SAME),
    "hung_task_panic": _Rule("proc/sys/kernel/hung_task_panic", "number", _SAME),
    "numa_balancing": _Rule(
        "proc/sys/kernel/numa_balancing", "number", {"enable": ("1",), "disable": ("0",)}
    ),
    "hugetlb_free_vmemmap": _Rule(
        "proc/sys/vm/hugetlb_optimize_vmemmap",
        "number",
        {"on": ("1",), "1": ("1",), "off": ("0",), "0": ("0",)},
        "5.19",
    ),
    "transparent_hugepage": _Rule("sys/kernel/mm/transparent_hugepage/enabled", "word", _SAME),
    "intel_pstate": _Rule(
        f"{_CPU}/intel_pstate/status",
        "word",
        {"active": ("active",), "passive": ("passive",), "disable": ("", "off")},
    ),
    "amd_pstate": _Rule(
        f"{_CPU}/amd_pstate/status",
        "word",
        {
            "active": ("active",),
            "passive": ("passive",),
            "guided": ("guided",),
            "disable": ("", "disable"),
        },
        "6.3",
    ),
    "idle": _Rule(f"{_CPU}/cpuidle/current_driver", "word", {"poll": ("none", "haltpoll")}),
    "nosmt": _Rule(
        f"{_CPU}/smt/control",
        "word",
        {
            "": ("off", "notsupported", "notimplemented"),
            "force": ("forceoff", "notsupported", "notimplemented"),
        },
        "4.19",
    ),
    "mce": _Rule(
        "sys/devices/system/machinecheck/machinecheck0/check_interval", "number", {"off": ("",)}
    ),
    "tsc": _Rule(_CLOCK, "word", {"reliable": ("tsc", *_GUEST_CLOCKS)}),
    "clocksource": _Rule(_CLOCK, "word", _SAME),
    "cpufreq.default_governor": _Rule(f"{_CPU}/cpufreq/policy0/scaling_governor", "word", _SAME),
    "selinux": _Rule("sys/fs/selinux/enforce", "number", {"0": ("",)}),
    "enforcing": _Rule("sys/fs/selinux/enforce", "number", _SAME),
}
#: Parameters of modules that came after they were first given to nodes.
_SINCE = {"rcutree.nohz_full_patience_delay": "6.11"}


def of_lists(key: str, booted: Booted) -> tuple[Shown, ...]:
    """What shows an argument whose value is a list of CPUs, after the boot that `booted` predicts.

    The kernel adds and drops CPUs: an argument that it drops as a whole shows as no CPU. The mask
    of unbound work follows from several arguments at once (`Booted.workqueue`).
    """
    if key == "isolcpus" and booted.isolated:
        return (Shown(f"{_CPU}/isolated", "cpus", CpuSet.from_bits(booted.isolated)),)
    if key == "nohz_full":
        return (Shown(f"{_CPU}/nohz_full", "cpus", CpuSet.from_bits(booted.nohz_full or 0)),)
    if key == "irqaffinity":
        default = CpuSet.from_bits(booted.default_smp_affinity)
        return (Shown(_INTERRUPTS, "mask", default),)
    return ()


def of_argument(key: str, value: str) -> tuple[Shown, ...]:
    """What shows another argument; its value is "" where it has none.

    `-` in names is `_`. Arguments that name a parameter of a module show in the module's folder.
    """
    rule = _RULES.get(key)
    if rule is not None:
        texts = rule.texts.get(value, rule.texts.get(None, ()))
        shown = tuple(value if text == "*" else text for text in texts)
        return (Shown(rule.path, rule.form, shown, rule.since),) if shown else ()
    if key.startswith("sysctl."):
        path = key.removeprefix("sysctl.").replace(".", "/")
        return (Shown(f"proc/sys/{path}", "text", (value,), "5.8"),)
    match = _PARAMETER.fullmatch(key)
    if match is None or match[1] in _PROGRAMS or not value:
        return ()
    path = f"sys/module/{match[1]}/parameters/{match[2]}"
    return (Shown(path, "text", _texts(value), _SINCE.get(key, "")),)


def _texts(value: str) -> tuple[str, ...]:
    """How a parameter may print its value: a flag as Y or 1, a number in decimal digits."""
    if value in _TRUE:
        return (value, "Y", "1") if value != "1" else ("1", "Y")
    if value in _FALSE:
        return (value, "N", "0") if value != "0" else ("0", "N")
    if _NUMBER.fullmatch(value):
        return tuple(dict.fromkeys((value, str(int(value, 0 if "x" in value.lower() else 10)))))
    return (value,)


#: `[    0.000000] `, `<6>[    0.000000] `, `kern  :info  : [Mon Nov 23 ...] `, or none at all.
_STAMP = expression(r"^(?:<\d+>|\w+ *:\w+ *: )?\[ *[^\]]{1,40}\] (?:\[ *[TC]\d+\] )?")
_FIRST = expression(r"Linux version \d|Booting Linux on physical CPU")
_LINE = expression(r"(?:Kernel c|C)ommand line: (.*)")
_UNKNOWN = expression(r'Unknown kernel command line parameters "?(.*?)"?, will be passed')
_CALLBACKS = expression(r"Offload RCU callbacks from CPUs: ([0-9,\-]+|\(none\)|all)\.?$")
_DROPPED = expression(
    r"incorrect CPU range|must match isolcpus=|must match nohz_full=|Invalid flag"
    r"|Skipped unknown flag|contains nonexistent CPUs"
    r"|bad CPU range|has no effect|Housekeeping: nohz unsupported"
)
_PAGES = expression(r"HugeTLB: allocating \d+ of page size \S+ \S+ failed|HugeTLB: unsupported")
_CPUS = expression(
    r"CPU ?\d+ (?:is now offline|failed to (?:come|boot)|.*not responding)|do_boot_cpu failed"
    r"|NR_CPUS/possible_cpus limit|CPU\d+: failed"
)
_ICPUS = ("isolcpus", "nohz_full", "Housekeeping")
_MAX_LINE = 4096


class Log(NamedTuple):
    """The lines of a boot, without their times, that say something of a plan."""

    #: False where the buffer lost its first lines: what is not there may have been said.
    is_whole: bool
    #: The command line as the kernel printed it; it may be cut off.
    command_line: str
    #: Arguments that nothing took, as `name` or `name=value`.
    unknown: tuple[str, ...]
    #: The CPUs whose RCU callbacks others run, as printed; None where nothing was said.
    callbacks: str | None
    #: Complaints about lists of CPUs.
    dropped: tuple[str, ...]
    #: Complaints about huge pages.
    pages: tuple[str, ...]
    #: CPUs that went off or did not come.
    cpus: tuple[str, ...]


def parse_log(text: str) -> Log:
    """The log in the form of dmesg or /dev/kmsg's messages, one to a line."""
    lines = [_STAMP.sub("", line[:_MAX_LINE]).strip() for line in nodetext.lines(text)]
    unknown = _first(_UNKNOWN, lines)
    return Log(
        any(_FIRST.match(line) for line in lines[:50]),
        _first(_LINE, lines) or "",
        tuple((unknown or "").split()),
        _first(_CALLBACKS, lines),
        tuple(line for line in lines if _DROPPED.search(line) and _is_about_cpus(line)),
        tuple(line for line in lines if _PAGES.search(line)),
        tuple(line for line in lines if _CPUS.search(line)),
    )


def _is_about_cpus(line: str) -> bool:
    return any(word in line for word in (*_ICPUS, "rcu"))


def _first(pattern: re.Pattern[str], lines: Iterable[str]) -> str | None:
    matches = (match[1] for line in lines if (match := pattern.search(line)))
    return next(matches, None)

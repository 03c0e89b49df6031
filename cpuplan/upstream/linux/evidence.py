"""Files of /proc and /sys that show what the kernel made of a boot argument.

Where the kernel turns a list of CPUs into several masks, `boot` says which; this table has the
rest. What is not in it shows nowhere but in /proc/cmdline: `skew_tick=`, `nohz=`.
"""

import re
from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet
from cpuplan.upstream.linux.boot import Booted

_CPU = "sys/devices/system/cpu"
_CLOCK = "sys/devices/system/clocksource/clocksource0/current_clocksource"
_INTERRUPTS = "proc/irq/default_smp_affinity"
#: Clocks that a guest prefers to its TSC, and that follow the TSC of its host.
_GUEST_CLOCKS = ("kvm-clock", "hyperv_clocksource_tsc_page", "hyperv_clocksource_msr", "xen")
_NUMBER = re.compile(r"-?[0-9]{1,20}|0[xX][0-9a-fA-F]{1,16}")
_PARAMETER = re.compile(r"([a-z][a-z0-9_]*)\.([a-z][a-z0-9_]*)")
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
